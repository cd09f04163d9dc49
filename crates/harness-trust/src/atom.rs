//! The smallest things that a rule decides on.

use std::fmt;
use std::path::PathBuf;

use crate::known::Purity;
use crate::shell::{Opaque, SimpleCommand, visible};

/// One effect, as far as a rule can speak of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Atom {
    /// It reads this file, or what is in this folder. A real path.
    Read(PathBuf),
    /// It reads what a glob of the shell finds in this folder.
    ReadMatching {
        /// A real path.
        folder: PathBuf,
        /// A glob for one name, or for names in folders: `*.rs`, `*/src/*.rs`.
        names: String,
        /// What it finds there now: real paths.
        found: Vec<PathBuf>,
    },
    /// It writes this file, or makes it. A real path.
    Write(PathBuf),
    /// It runs this.
    Run {
        /// The command.
        command: Box<SimpleCommand>,
        /// What it does beside what other atoms say.
        purity: Purity,
        /// The paths that its words name, of a command of which more is not known: real ones. Rules about paths
        /// that ask or deny look at them. Of a glob, what it finds.
        names: Vec<PathBuf>,
        /// Globs of which it cannot be said what they find, each with the real folder that it begins in.
        globs: Vec<(PathBuf, String)>,
    },
    /// It reaches this host: `example.com` or `example.com:443`.
    Net(String),
    /// Something that nobody can vouch for.
    Opaque(Opaque),
    /// A tool of this name, of which no effect is known.
    Tool(String),
    /// Something that changes only the conversation.
    Conversation,
}

impl fmt::Display for Atom {
    /// In words, on one line, without anything that cannot be seen.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &PathBuf| visible(&path.to_string_lossy());
        match self {
            Self::Read(path) => write!(f, "reads {}", shown(path)),
            Self::ReadMatching { folder, names, .. } => {
                write!(f, "reads {} in {}", visible(names), shown(folder))
            }
            Self::Write(path) => write!(f, "writes {}", shown(path)),
            Self::Run { command, .. } => write!(f, "runs {command}"),
            Self::Net(host) => write!(f, "connects to {}", visible(host)),
            Self::Opaque(opaque) => write!(f, "does what cannot be known, because of {opaque}"),
            Self::Tool(name) => write!(f, "uses the tool {}", visible(name)),
            Self::Conversation => f.write_str("changes the conversation"),
        }
    }
}
