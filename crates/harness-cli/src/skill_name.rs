//! A name for a new skill.

use std::ffi::OsStr;

use harness_skills::{FilePlace, Limits, Severity, examine};
use serde_json::json;

/// What a name may be, in a line.
pub(crate) const RULE: &str = "a name has 1 to 64 lower-case letters, digits and hyphens, and no hyphen at its ends or beside another one";

/// What is wrong with a name, to the letter of the standard.
pub(crate) fn problem(name: &str) -> Option<String> {
    // JSON's strings are YAML's, too.
    let text = format!("---\nname: {}\ndescription: D.\n---\nI.\n", json!(name));
    problem_of(&text, name)
}

/// What is wrong with the text of a skill that has that name.
pub(crate) fn problem_of(text: &str, name: &str) -> Option<String> {
    let place = FilePlace {
        folder: Some(OsStr::new(name)),
        file: None,
    };
    let found = examine(text.as_bytes(), &place, &Limits::default()).strict();
    let error = found
        .into_iter()
        .find(|found| found.severity == Severity::Error);
    error.map(|error| error.message)
}
