//! The first line of a session.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::{EntryId, SessionId, Timestamp};

/// The version of the format that this crate writes.
pub const VERSION: u32 = 1;

/// What a session begins with. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The session's id.
    pub id: SessionId,
    /// When it began.
    pub time: Timestamp,
    /// The folder that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The session that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// Where a session came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The session that was forked, or whose agent began this one.
    pub session: SessionId,
    /// The last entry that was taken over; none if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// The subagent whose session this is, by its id in the session that started it (`explore-3f9a1c02`); none for
    /// a fork. Such a session is a part of the other one: it is never the [latest](crate::Store::latest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Header {
    /// The header of a new session.
    pub fn new(cwd: Option<PathBuf>) -> Self {
        let id = SessionId::new();
        Self {
            version: VERSION,
            id,
            time: id.time(),
            cwd,
            parent: None,
        }
    }

    /// The subagent whose session it is, if it is one's.
    pub fn agent(&self) -> Option<&str> {
        self.parent.as_ref()?.agent.as_deref()
    }

    /// The same, with where it came from. Its id is larger than that of the session it came from, which is how the
    /// newer of two is told where both were written to at once.
    pub fn from_parent(mut self, parent: Parent) -> Self {
        self.id = self.id.after(parent.session);
        self.parent = Some(parent);
        self
    }
}
