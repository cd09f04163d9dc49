//! Why a tool could not do what it was asked for, in words that a model can act on.

use std::io;
use std::path::PathBuf;

use harness_core::ToolError;

/// Why a tool failed. The texts are written for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path is empty, or cannot be a path.
    #[error("`path` {0}.")]
    Path(String),
    /// The policy of the workspace does not allow it.
    #[error("`{path}` leads outside the workspace; {act} is allowed only inside it.")]
    Outside {
        /// The path, as it was given.
        path: String,
        /// `reading` or `writing`.
        act: &'static str,
    },
    /// It is not what the call was let through for: a link was put in its place meanwhile.
    #[error(
        "`{path}` leads elsewhere than when the call was allowed; {act} is not. Make the call again."
    )]
    NotPermitted {
        /// The path, as it was given.
        path: String,
        /// `reading` or `writing`.
        act: &'static str,
    },
    /// Nothing is there.
    #[error("`{path}` does not exist.{}", did_you_mean(.similar))]
    NotFound {
        /// The path, as it was given.
        path: String,
        /// Names in the same folder that look like it.
        similar: Vec<String>,
    },
    /// Something is there, but not what the tool works on.
    #[error("`{path}` is {what}.{hint}")]
    WrongKind {
        /// The path, as it was given.
        path: String,
        /// What is there: `a folder`, `a named pipe`, …
        what: &'static str,
        /// What to do instead; empty, or a sentence that begins with a space.
        hint: &'static str,
    },
    /// The file is larger than the tool takes into memory.
    #[error("`{path}` has {bytes} bytes; the limit is {limit}. {hint}")]
    TooLarge {
        /// The path, as it was given.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
        /// What to do instead.
        hint: &'static str,
    },
    /// The content is not what the tool can work on: not text, not a sound picture.
    #[error("`{path}`: {reason}")]
    Content {
        /// The path, as it was given.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file changed since it was read.
    #[error("`{path}` was not written: it {what}. Read it again, then repeat the change.")]
    Changed {
        /// The path, as it was given.
        path: String,
        /// What happened to it.
        what: &'static str,
    },
    /// The edits cannot be applied; nothing was changed.
    #[error("`{path}` was not changed. {reason}")]
    Edit {
        /// The path, as it was given.
        path: String,
        /// Which edit, and why.
        reason: String,
    },
    /// A pattern, glob or offset makes no sense.
    #[error("{0}")]
    Argument(String),
    /// A command could not be started.
    #[error("{0}")]
    Command(String),
    /// The folder that a command should run in is not there, or is none.
    #[error("The working folder `{}` {reason}.", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system refused.
    #[error("Cannot {act} `{path}`: {}", plain(.source))]
    Io {
        /// What was tried, as a verb.
        act: &'static str,
        /// The path, as it was given.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The call was cancelled before it had an effect.
    #[error("The call was cancelled.")]
    Stopped,
}

impl Error {
    pub(crate) fn io(act: &'static str, path: &str, source: impl Into<io::Error>) -> Self {
        Self::Io {
            act,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// Whether the same call may succeed when it is made again, with nothing else done before.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::Interrupted
                    | io::ErrorKind::WouldBlock
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::ResourceBusy
            ),
            Self::Path(_)
            | Self::Outside { .. }
            | Self::NotPermitted { .. }
            | Self::NotFound { .. }
            | Self::WrongKind { .. }
            | Self::TooLarge { .. }
            | Self::Content { .. }
            | Self::Changed { .. }
            | Self::Edit { .. }
            | Self::Argument(_)
            | Self::Command(_)
            | Self::Folder { .. }
            | Self::Stopped => false,
        }
    }

    /// The same, as a tool tells it: a policy's refusal is a denial, a cancel is a cancel.
    pub fn into_tool_error(self) -> ToolError {
        match self {
            Self::Outside { .. } => ToolError::Denied {
                by: "workspace".to_owned(),
                reason: self.to_string(),
            },
            Self::Stopped => ToolError::Cancelled,
            _ => ToolError::failed(self.to_string()),
        }
    }
}

/// The system's words, without Rust's `(os error 2)`.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

fn did_you_mean(similar: &[String]) -> String {
    if similar.is_empty() {
        return String::new();
    }
    let names: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
    format!(" Did you mean {}?", names.join(" or "))
}
