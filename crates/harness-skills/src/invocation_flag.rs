//! `disable-model-invocation`: whether a skill is kept from models.
//!
//! A skill that is kept from them by mistake is missed, and somebody asks why. One that is not may do harm
//! before anybody sees it. So in doubt it is kept from them.

use harness_frontmatter::{Entry, Mapping, Node, Position, Repair, RepairKind};

use crate::field_name::{kebab, usual};
use crate::finding::Finding;
use crate::name::{is_invisible, shown};
use crate::rule::{self, Rule};

const KEY: &str = "disable-model-invocation";
/// What all of its spellings share.
const LETTERS: &str = "disablemodelinvocation";

/// Where the flag may stand.
pub(crate) struct InvocationFlag<'f> {
    pub(crate) mapping: &'f Mapping,
    /// The file down to the end of its frontmatter.
    pub(crate) head: &'f [u8],
    pub(crate) repairs: &'f [Repair],
}

/// `true`, `yes`, `on`, `1` and their opposites, as people write them.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

impl InvocationFlag<'_> {
    /// Whether the skill is kept from models; with a warning if that is not what the field says.
    pub(crate) fn read(&self) -> (bool, Option<Finding>) {
        let field = self.field();
        if field.and_then(|entry| value(&entry.value)) == Some(true) {
            return (true, None);
        }
        let doubt = self
            .doubt_of_entries(field)
            .or_else(|| self.doubt_of_lines());
        (doubt.is_some(), doubt)
    }

    /// The entry that is read as the field.
    fn field(&self) -> Option<&Entry> {
        let mut entries = self.mapping.entries.iter();
        let exact = entries.find(|entry| entry.key.text == KEY);
        exact.or_else(|| {
            let mut entries = self.mapping.entries.iter();
            entries.find(|entry| usual(&kebab(&entry.key.text)) == Some(KEY))
        })
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.mapping.entries.iter();
        entries.filter(|entry| is_key(&entry.key.text))
    }

    /// What has been read, and is not plainly false.
    fn doubt_of_entries(&self, field: Option<&Entry>) -> Option<Finding> {
        let entry = self
            .entries()
            .find(|entry| value(&entry.value) != Some(false))?;
        let is_field = field.is_some_and(|field| std::ptr::eq(field, entry));
        Some(if is_field {
            let what = format!("`{KEY}` has to be true or false");
            doubt(&rule::FIELD_TYPE, &what, entry.value.position())
        } else {
            let what = format!("`{}` is read as `{KEY}`, too", shown(&entry.key.text));
            doubt(&rule::KEY_SPELLING, &what, entry.key.position)
        })
    }

    /// What stands there and was not read: left out in a repair, or part of another value.
    fn doubt_of_lines(&self) -> Option<Finding> {
        let repairs = || self.repairs.iter().filter(|repair| is_key(&repair.key));
        let left_out = || format!("not all of what is there for `{KEY}` was read");
        if let Some(dropped) = repairs().find(|repair| repair.kind == RepairKind::Dropped) {
            return Some(doubt(&rule::FIELD_TYPE, &left_out(), dropped.position));
        }
        let twice = repairs().find(|repair| repair.kind == RepairKind::LastWins);
        // Of two, one alone has been read.
        let was_read = |line: usize| {
            let mut entries = self.entries();
            let is_in = |entry: &Entry| {
                entry.key.position.line == line && entry.value.position().line == line
            };
            twice.is_none() && entries.any(is_in)
        };
        let head = String::from_utf8_lossy(self.head);
        let mut found = 0;
        for (index, line) in lines(&head).enumerate() {
            let Some((column, text)) = line_of_key(line) else {
                continue;
            };
            found += 1;
            if truth(text) != Some(false) && !was_read(index + 1) {
                let position = Position {
                    line: index + 1,
                    column,
                };
                return Some(doubt(&rule::FIELD_TYPE, &left_out(), position));
            }
        }
        let twice = twice.filter(|_| found < 2)?;
        Some(doubt(&rule::FIELD_TYPE, &left_out(), twice.position))
    }
}

fn doubt(rule: &Rule, what: &str, position: Position) -> Finding {
    Finding::new(rule, format!("{what}: the skill is kept from models"))
        .at(position)
        .for_key(KEY)
        .with_hint(format!(
            "write `{KEY}: true`, or `false`, once and in a line of its own"
        ))
}

fn value(node: &Node) -> Option<bool> {
    match node {
        Node::Scalar(scalar) => truth(&scalar.text),
        _ => None,
    }
}

/// Lines as places in a file count them: a `\r` alone ends one, too.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split('\n');
    lines.flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

fn is_key(key: &str) -> bool {
    behind_letters(key.trim()).is_some_and(|rest| rest.chars().all(is_around))
}

/// If a line begins with the key, the column of it and the value behind it, without quotes and comment.
fn line_of_key(line: &str) -> Option<(usize, &str)> {
    let start = line.trim_start_matches(|c| is_around(c) || matches!(c, '?' | '{'));
    let before = line.strip_suffix(start)?;
    let rest = behind_letters(start)?;
    let value = rest.trim_start_matches(is_around);
    let value = match value.strip_prefix([':', '=', '\u{ff1a}']) {
        Some(value) => value,
        // Below another field, a line of prose may begin with it; at the beginning of a line, none does.
        None if line.starts_with(char::is_whitespace) => return None,
        // Another key, which is longer.
        None if value.len() == rest.len() && !value.is_empty() => return None,
        None => value,
    };
    let comment = value
        .match_indices('#')
        .find(|(at, _)| !value[..*at].ends_with(|c: char| !c.is_whitespace()));
    let value = comment.map_or(value, |(at, _)| &value[..at]);
    Some((before.chars().count() + 1, value.trim_matches(is_around)))
}

/// What follows the letters of the key, with whatever joins its words.
fn behind_letters(text: &str) -> Option<&str> {
    let mut letters = LETTERS.chars().peekable();
    for (at, c) in text.char_indices() {
        let Some(letter) = letters.peek() else {
            return text.get(at..);
        };
        if c.eq_ignore_ascii_case(letter) {
            letters.next();
        } else if !is_joint(c) {
            return None;
        }
    }
    letters.peek().is_none().then_some("")
}

/// What may stand between the words of the key: any kind of hyphen, as texts on the web have them.
fn is_joint(c: char) -> bool {
    c.is_whitespace()
        || is_invisible(c)
        || matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// What may stand around the key, and around its value.
fn is_around(c: char) -> bool {
    c.is_whitespace() || is_invisible(c) || matches!(c, '"' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_with_the_key() {
        for (line, expected) in [
            ("disable-model-invocation: true", Some((1, "true"))),
            ("  disable_model_invocation:true", Some((3, "true"))),
            ("\"disableModelInvocation\" : 'no' # why", Some((2, "no"))),
            ("DISABLE-MODEL-INVOCATION = x#y", Some((1, "x#y"))),
            ("disable\u{2011}model\u{2011}invocation: y", Some((1, "y"))),
            ("disable-model-invocation true", Some((1, "true"))),
            ("disable-model-invocation", Some((1, ""))),
            ("disable-model-invocation: # true", Some((1, ""))),
            ("  disable-model-invocation hides it", None),
            ("# disable-model-invocation: true", None),
            ("disable-model-invocation-why: x", None),
            ("disable-model-invocations: x", None),
            ("disable-model: x", None),
            ("", None),
        ] {
            assert_eq!(line_of_key(line), expected, "{line}");
        }
        let split: Vec<&str> = lines("a\r\nb\rc\nd\r\r\n").collect();
        assert_eq!(split, ["a", "b", "c", "d", "", ""]);
    }
}
