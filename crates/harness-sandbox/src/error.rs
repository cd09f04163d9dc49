//! Why a command cannot be confined.

use std::io;
use std::path::PathBuf;

/// Why a command cannot be confined. After each of these nothing was started, and nothing may be started as
/// if it were confined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no profile of that name.
    #[error("there is no sandbox profile `{0}`; there are read-only, workspace-write and off")]
    UnknownProfile(String),
    /// The machine lacks what the policy needs.
    #[error("the sandbox cannot be used here: {0}")]
    Unavailable(String),
    /// A path of the policy cannot be resolved.
    #[error("the sandbox cannot look at `{}`: {source}", .path.display())]
    Path {
        /// The path, as the policy names it.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folders that hidden paths lie in hold too much to grant it entry by entry.
    #[error(
        "the sandbox would have to grant more than {limit} files and folders one by one, because of \
         what is hidden in `{}`; hide all of that folder, or nothing in it",
        .folder.display()
    )]
    TooManyEntries {
        /// The bound.
        limit: usize,
        /// The folder at which it was reached.
        folder: PathBuf,
    },
    /// The kernel refused a rule on files.
    #[error("the sandbox's rules on files were refused")]
    Rules(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The filter of system calls could not be made.
    #[error("the sandbox's filter of system calls could not be made")]
    Filter(#[source] Box<dyn std::error::Error + Send + Sync>),
}
