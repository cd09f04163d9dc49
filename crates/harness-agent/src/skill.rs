//! What a model is told of a skill.

use std::path::PathBuf;

/// What a model is told of a skill before it needs it: enough to know when to read the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// What it does, and when to use it.
    pub description: String,
    /// The absolute path of its `SKILL.md`.
    pub file: PathBuf,
}
