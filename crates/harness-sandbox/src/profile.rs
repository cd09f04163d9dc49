//! How much a command may change.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// How much a command may change. Written as `read-only`, `workspace-write` and `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Nothing, but for the scratch paths of the policy and devices such as `/dev/null`.
    ReadOnly,
    /// The writable paths of the policy: the workspace, a folder for temporary files, caches.
    WorkspaceWrite,
    /// Everything: no sandbox.
    Off,
}

impl Profile {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::Off];

    /// The name that a person writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == text);
        found.ok_or_else(|| Error::UnknownProfile(text.to_owned()))
    }
}
