//! Where templates and commands come from.

use std::fmt;

/// A source of templates and commands. A higher layer shadows a lower one by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// What the program brings along.
    BuiltIn,
    /// What its user has written.
    User,
    /// What the project brings along, that is being worked on.
    Project,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
        })
    }
}
