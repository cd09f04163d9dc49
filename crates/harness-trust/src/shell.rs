//! A command line as bash would read it: what it runs, reads and writes, and what cannot be known.

mod awk;
mod command_line;
mod explanation;
mod folder;
mod inner;
mod interpreter;
mod invisible;
mod opaque;
mod program;
mod redirect;
mod scan;
mod walk;
mod word;
mod wrapper;

pub(crate) use awk::awk_program;
pub use command_line::{CommandLine, Place, SimpleCommand};
pub use invisible::visible;
pub use opaque::{Opaque, OpaqueKind};
pub use redirect::{Access, Redirect, Target};
pub use word::Word;
pub(crate) use wrapper::asks_what;
