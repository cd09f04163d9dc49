//! Where rules come from.

use std::fmt;

/// One source of rules. The higher one is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// What holds where nobody says anything.
    BuiltIn,
    /// The user's configuration.
    User,
    /// The project's own configuration, where the project is trusted. What it allows lifts no `ask` of a lower layer.
    Project,
    /// What the user has said for this project.
    Granted,
    /// What was said for this run.
    Run,
    /// What an administrator has laid down.
    Managed,
}

impl Layer {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Granted => "granted",
            Self::Run => "run",
            Self::Managed => "managed",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
