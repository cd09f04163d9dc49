//! What is wrong with a rule, or with the store of trust.

use std::path::PathBuf;

use thiserror::Error;

/// A rule that cannot be read, or a store that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Not the grammar of a rule.
    #[error("`{rule}`, at character {at}: {what}")]
    Rule {
        /// The rule, as it was written.
        rule: String,
        /// Where, in characters from 1.
        at: usize,
        /// What is wrong there, and what would be right.
        what: String,
    },
    /// The store of trust cannot be used.
    #[error("{}: {problem}", .path.display())]
    Store {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A folder cannot be looked up.
    #[error("the folder {}: {problem}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    pub(crate) fn new(rule: &str, byte: usize, what: impl Into<String>) -> Self {
        let before = rule.get(..byte).unwrap_or(rule);
        Self::Rule {
            rule: rule.to_owned(),
            at: before.chars().count() + 1,
            what: what.into(),
        }
    }
}
