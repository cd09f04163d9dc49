//! What is wrong with a rule.

use thiserror::Error;

/// A rule that cannot be read.
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
