//! The rule that is about one effect and nothing else.

use std::path::Path;

use crate::atom::Atom;
use crate::rule::{Rule, Verdict};
use crate::shell::Word;
use crate::surroundings::Surroundings;

impl Atom {
    /// The rule that would allow just this. None for what cannot be known, and for what a rule cannot say.
    pub fn narrowest_rule(&self, surroundings: &Surroundings) -> Option<Rule> {
        let text = match self {
            Self::Read(path) if path.is_dir() => {
                format!(
                    "read({})",
                    path_text(&path.join("**"), surroundings, Some("**"))?
                )
            }
            Self::Read(path) => format!("read({})", path_text(path, surroundings, None)?),
            // In a rule, `**` would go down into folders.
            Self::ReadMatching { names, .. } if names.contains("**") => return None,
            // It is about several folders, of which a rule is about each.
            Self::ReadMatching { names, .. } if names.contains('/') => return None,
            Self::ReadMatching { folder, names, .. } => {
                let path = folder.join(names);
                format!("read({})", path_text(&path, surroundings, Some(names))?)
            }
            Self::Write(path) => format!("write({})", path_text(path, surroundings, None)?),
            Self::Run { command, .. } => {
                let words: Option<Vec<String>> = command.words.iter().map(word_text).collect();
                format!("run({})", words?.join(" "))
            }
            // In a rule, it would stand for other hosts.
            Self::Net(host) if host.contains('*') => return None,
            Self::Net(host) => format!("net({host})"),
            Self::Tool(name) => format!("tool({})", quoted(name)?),
            Self::Opaque(_) | Self::Conversation => return None,
        };
        let rule = Rule::parse(Verdict::Allow, &text).ok()?;
        // What cannot be said exactly is not said.
        rule.subject
            .is_about(self, Verdict::Allow, surroundings)
            .then_some(rule)
    }
}

/// A path as a rule writes it; what `pattern` says at its end stays a pattern.
fn path_text(path: &Path, surroundings: &Surroundings, pattern: Option<&str>) -> Option<String> {
    let in_root = path.strip_prefix(surroundings.root()).ok();
    let text = in_root.unwrap_or(path).to_str()?;
    let (literal, pattern) = match pattern {
        Some(pattern) => (text.strip_suffix(pattern)?, pattern),
        None => (text, ""),
    };
    let mut escaped = String::with_capacity(literal.len() + pattern.len());
    // Neither the home nor the temporary folder is meant.
    if in_root.is_some() && literal.starts_with(['~', '<']) {
        escaped.push_str("./");
    }
    for c in literal.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' | ',') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped.push_str(pattern);
    if escaped.is_empty() {
        escaped.push('.');
    }
    Some(escaped)
}

fn word_text(word: &Word) -> Option<String> {
    word.literal().and_then(quoted)
}

/// A word as a rule writes it.
fn quoted(word: &str) -> Option<String> {
    if word.contains(char::is_control) {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', r"'\''")))
}
