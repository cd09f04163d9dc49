//! What can go wrong.

use crate::code::{Code, codes};
use crate::diagnostic::{Diagnostic, Severity};
use crate::position::Position;

/// Why a file could not be read, or a field is not what it has to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not UTF-8.
    #[error("line {line}: the file is not UTF-8")]
    NotUtf8 {
        /// The line of the first byte that is not.
        line: usize,
    },
    /// There is a NUL anywhere, or another control character in the frontmatter.
    #[error("{position}: the control character U+{:04X} has no place here", u32::from(*.character))]
    ControlCharacter {
        /// The character.
        character: char,
        /// Its place.
        position: Position,
    },
    /// A bound was reached; see [`Limits`](crate::Limits).
    #[error("{position}: {what} limited to {max}")]
    Limit {
        /// What is bounded, with its verb: `the nodes are`.
        what: &'static str,
        /// The bound.
        max: usize,
        /// Where it was reached.
        position: Position,
    },
    /// The frontmatter begins and does not end.
    #[error(
        "line {opened}: the frontmatter that begins here is not closed by a line `---`{}",
        seen(*.lookalike)
    )]
    Unclosed {
        /// The line of the opening fence.
        opened: usize,
        /// A line that looks like a fence and is none, as `----`.
        lookalike: Option<usize>,
    },
    /// The frontmatter is not YAML.
    #[error("{position}: the frontmatter is not YAML: {message}")]
    Yaml {
        /// What the parser said.
        message: String,
        /// Where.
        position: Position,
    },
    /// The frontmatter is YAML, but no mapping of keys to values.
    #[error("{position}: the frontmatter has to be lines of `key: value`, but is {found}")]
    NotMapping {
        /// What it is instead: `a list`.
        found: &'static str,
        /// Whether a colon in it lacks the blank that makes a key of what is before: `name:demo`.
        tight_colon: bool,
        /// Where it begins.
        position: Position,
    },
    /// A key is a list or a mapping, as in `{{ name }}`.
    #[error("{position}: a key has to be text, but is {found}")]
    KeyNotText {
        /// What it is instead.
        found: &'static str,
        /// The field of the file that it is in. `None` if it stands for such a field itself.
        field: Option<String>,
        /// Where it begins.
        position: Position,
    },
    /// A key is there twice in one mapping.
    #[error("{second}: the key `{key}` is there already, at {first}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it is first.
        first: Position,
        /// Where it is again.
        second: Position,
    },
    /// An alias stands in the value that it names.
    #[error("{position}: this alias stands within the value that it repeats")]
    RecursiveAlias {
        /// The alias.
        position: Position,
    },
    /// A key that is needed is not there, or has no value.
    #[error("{position}: there is no `{key}`")]
    Missing {
        /// The key.
        key: String,
        /// The mapping that lacks it.
        position: Position,
    },
    /// A value is not what the reader of its key takes.
    #[error("{position}: `{key}` has to be {wanted}, but is {found}")]
    WrongKind {
        /// The key.
        key: String,
        /// What it has to be.
        wanted: &'static str,
        /// What it is; the value itself if that is short.
        found: String,
        /// Where the value begins.
        position: Position,
    },
}

impl Error {
    /// The line that it is about, counted from 1.
    pub fn line(&self) -> usize {
        self.position().line
    }

    /// The place that it is about; column 1 where only a line is known.
    pub fn position(&self) -> Position {
        match self {
            Self::NotUtf8 { line } | Self::Unclosed { opened: line, .. } => Position {
                line: *line,
                column: 1,
            },
            Self::ControlCharacter { position, .. }
            | Self::Limit { position, .. }
            | Self::Yaml { position, .. }
            | Self::NotMapping { position, .. }
            | Self::KeyNotText { position, .. }
            | Self::DuplicateKey {
                second: position, ..
            }
            | Self::RecursiveAlias { position }
            | Self::Missing { position, .. }
            | Self::WrongKind { position, .. } => *position,
        }
    }

    /// What kind of finding it is.
    pub fn code(&self) -> Code {
        match self {
            Self::NotUtf8 { .. } => codes::UTF8,
            Self::ControlCharacter {
                character: '\0', ..
            } => codes::NUL,
            Self::ControlCharacter { .. } => codes::CONTROL,
            Self::Limit { .. } => codes::BUDGET,
            Self::Unclosed { .. } => codes::UNCLOSED,
            Self::Yaml { .. } => codes::YAML,
            Self::NotMapping { .. } => codes::NOT_MAPPING,
            Self::KeyNotText { .. } => codes::KEY_TYPE,
            Self::DuplicateKey { .. } => codes::DUP_KEY,
            Self::RecursiveAlias { .. } => codes::ALIAS,
            Self::Missing { .. } => codes::MISSING,
            Self::WrongKind { .. } => codes::FIELD_TYPE,
        }
    }

    /// What to do about it, where that can be told.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotUtf8 { .. } => "save the file as UTF-8",
            Self::Unclosed {
                lookalike: Some(line),
                ..
            } => return Some(format!("write exactly three dashes in line {line}")),
            Self::Unclosed { .. } => "put a line `---` below the last field",
            Self::NotMapping {
                tight_colon: true, ..
            } => "a blank is missing behind the colon",
            Self::KeyNotText {
                found: "a mapping", ..
            } => "a template that was not filled in; text that begins with a brace needs quotes",
            Self::DuplicateKey { .. } => "keep one of the two",
            Self::Yaml { message, .. } => return yaml_hint(message).map(str::to_owned),
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// The same as an error to show.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut shown =
            Diagnostic::new(self.code(), Severity::Error, self.message()).at(self.position());
        shown.hint = self.hint();
        shown.key = match self {
            Self::KeyNotText { field, .. } => field.clone(),
            Self::DuplicateKey { key, .. }
            | Self::Missing { key, .. }
            | Self::WrongKind { key, .. } => Some(key.clone()),
            _ => None,
        };
        shown
    }

    /// What is wrong, without the place: for those who show the place in their own way.
    pub fn message(&self) -> String {
        let text = self.to_string();
        match text.split_once(": ") {
            Some((_, message)) => message.to_owned(),
            None => text,
        }
    }
}

fn seen(lookalike: Option<usize>) -> String {
    lookalike.map_or_else(String::new, |line| {
        format!("; line {line} looks like one, but has more dashes")
    })
}

/// What helps against an error of the parser, by its words.
fn yaml_hint(message: &str) -> Option<&'static str> {
    const HINTS: [(&str, &str); 9] = [
        ("tabs disallowed", "indent with spaces, not with tabs"),
        (
            "mapping values are not allowed",
            "quote the value: a `: ` in it, or a `:` at its end, begins another mapping",
        ),
        (
            "unknown escape character",
            "write `\\\\` for a backslash, or use single quotes",
        ),
        ("end of stream", "close the quote"),
        (
            "block sequence entries are not allowed",
            "begin the list in the line below its key, or quote the value",
        ),
        (
            "did not find expected node content",
            "quote the value: it begins with a character that means something in YAML",
        ),
        (
            "simple key expect",
            "each line has to be `key: value`, with a blank behind the colon; indent what goes on",
        ),
        (
            "unexpected character",
            "quote the value: it begins with a character that YAML keeps for itself",
        ),
        ("unknown anchor", "quote the value: it begins with `*`"),
    ];
    let found = HINTS.iter().find(|(words, _)| message.contains(words));
    found.map(|&(_, hint)| hint)
}
