//! What was wrong with a file.

use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// What was wrong with a file that is not used, or not as it was meant; for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file or folder.
    pub path: PathBuf,
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
    /// What was wrong.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn new(
        path: impl Into<PathBuf>,
        line: Option<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            line,
            message: message.into(),
        }
    }

    /// What `error` says of the file at `path`, without its name and line where they are only repeated.
    pub(crate) fn of_error(path: impl Into<PathBuf>, error: &Error) -> Self {
        let message = match error {
            Error::Frontmatter { message, .. } => message.clone(),
            other => other.to_string(),
        };
        Self::new(path, error.line(), message)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}
