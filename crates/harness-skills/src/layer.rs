//! Where a skill comes from, in a word.

use std::fmt;
use std::sync::Arc;

/// One source of skills, by the word that people address it with: `name@project`.
///
/// The order of the variants is the default precedence, highest first. What counts is the order of the
/// roots, though; a layer is a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// Named on the command line or by the program: `explicit`.
    Explicit,
    /// What the owner of the machine has put there: `managed`.
    Managed,
    /// One user's own, in a service that many share: `isolated-user`.
    IsolatedUser,
    /// The folder that is worked in, and those above it: `project`.
    Project,
    /// The user's: `user`.
    User,
    /// Fetched from elsewhere: `repository`.
    Repository,
    /// Part of the program: `built-in`.
    BuiltIn,
    /// A layer of the caller's own.
    Other(Arc<str>),
}

impl Layer {
    /// The word.
    pub fn name(&self) -> &str {
        match self {
            Self::Explicit => "explicit",
            Self::Managed => "managed",
            Self::IsolatedUser => "isolated-user",
            Self::Project => "project",
            Self::User => "user",
            Self::Repository => "repository",
            Self::BuiltIn => "built-in",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
