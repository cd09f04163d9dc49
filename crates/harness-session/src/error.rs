//! What can go wrong with a session.

use std::io;
use std::path::PathBuf;

use crate::header::VERSION;
use crate::id::{EntryId, SessionId};

/// Why a session could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store has no such session.
    #[error("there is no session {0}")]
    NotFound(String),
    /// It is too short to tell ids apart by it.
    #[error("`{0}` is too short for an id: give at least 4 characters of its beginning or its end")]
    TooShort(String),
    /// Several sessions begin or end like this.
    #[error("several sessions begin or end with `{prefix}`: {}", crate::typed_id::few(.ids))]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// The sessions.
        ids: Vec<SessionId>,
    },
    /// Another writer has it.
    #[error("the session {session} is in use{}", .process.map_or_else(String::new, |process| format!(" by process {process}")))]
    Locked {
        /// The session.
        session: SessionId,
        /// The process that writes to it, where the system tells.
        process: Option<u32>,
    },
    /// Somebody else wrote to it, replaced or deleted it, while this writer had it.
    #[error("the session {session} was changed by another program while it was in use: {what}")]
    Changed {
        /// The session.
        session: SessionId,
        /// What was found.
        what: String,
    },
    /// It was written by a newer version. It is left as it is.
    #[error(
        "{place} has version {version} of the format; this program knows versions up to {VERSION}"
    )]
    Newer {
        /// The session's file, or its id.
        place: String,
        /// Its version.
        version: u32,
    },
    /// It is no session at all, or its beginning is destroyed.
    #[error("{place} is not a session: {problem}")]
    Invalid {
        /// The session's file, or its id.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// The session has no such entry.
    #[error("the session has no entry {0}")]
    NoEntry(EntryId),
    /// An entry cannot be read.
    #[error("entry {number} of the session cannot be read: {problem}")]
    Unreadable {
        /// Its place, from 0.
        number: u64,
        /// What is wrong.
        problem: String,
    },
    /// The session was opened for reading only.
    #[error("the session was opened for reading only")]
    ReadOnly,
    /// What was asked cannot be done with this entry.
    #[error("{0}")]
    Misuse(String),
    /// The system could not do it.
    #[error("{what} {}: {error}", .path.display())]
    Io {
        /// What was tried: `cannot write`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The database could not do it.
    #[error("the database of sessions: {0}")]
    Database(String),
}

impl Error {
    /// The error of a system call on a path.
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io { what, path, error }
    }

    /// Whether the same may succeed later, unchanged.
    pub fn is_retryable(&self) -> bool {
        match self {
            // A full disk may have room again, a writer may be gone.
            Self::Locked { .. } | Self::Io { .. } | Self::Database(_) => true,
            Self::NotFound(_)
            | Self::TooShort(_)
            | Self::Ambiguous { .. }
            | Self::Changed { .. }
            | Self::Newer { .. }
            | Self::Invalid { .. }
            | Self::NoEntry(_)
            | Self::Unreadable { .. }
            | Self::ReadOnly
            | Self::Misuse(_) => false,
        }
    }
}
