//! What tests of these tools, and of other implementations of their traits, can use.

mod memory_files;

pub use memory_files::MemoryFiles;
