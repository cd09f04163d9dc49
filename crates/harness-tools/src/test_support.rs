//! Files in memory, for tests; and what the tools promise, each promise a function of any bytes. It
//! panics when the promise is broken.
//!
//! The fuzz targets in `fuzz/` are shells around these functions; the ordinary tests replay the
//! targets' corpora through them. How the bytes become a case is said at the top of each file.

mod decode;
mod edit;
mod glob;
mod input;
mod memory_files;
mod paging;
mod patch;
mod path;
mod recipe;
mod terminal;
mod tree;

pub use decode::check_decode;
pub use edit::check_edit;
pub use glob::check_glob;
pub use memory_files::MemoryFiles;
pub use paging::check_paging;
pub use path::check_path;
pub use terminal::check_terminal;
