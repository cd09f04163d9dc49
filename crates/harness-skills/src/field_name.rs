//! Names of fields, and how else they are spelled.

/// The fields of the standard (agentskills.io).
const STANDARD: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// The fields that clients read beyond it, and those of the richer model.
pub(crate) const BEYOND: [&str; 8] = [
    "disable-model-invocation",
    "user-invocable",
    "argument-hint",
    "version",
    "author",
    "tags",
    "references",
    "examples",
];

/// The field of that very name.
pub(crate) fn usual(key: &str) -> Option<&'static str> {
    let mut fields = STANDARD.iter().chain(&BEYOND);
    fields.find(|field| **field == key).copied()
}

/// A key in lower case with hyphens, however it was written: `allowed_tools`, `allowedTools`.
pub(crate) fn kebab(key: &str) -> String {
    let mut kebab = String::with_capacity(key.len() + 2);
    let mut was_lower = false;
    for c in key.trim().chars() {
        if c.is_ascii_uppercase() && was_lower {
            kebab.push('-');
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        match c {
            '_' | ' ' => kebab.push('-'),
            c => kebab.push(c.to_ascii_lowercase()),
        }
    }
    kebab
}
