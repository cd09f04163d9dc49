//! What can go wrong.

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
        hint(*.lookalike)
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
        /// Where it begins.
        position: Position,
    },
    /// A key is a list or a mapping, as in `{{ name }}`.
    #[error("{position}: a key has to be text, but is {found}")]
    KeyNotText {
        /// What it is instead.
        found: &'static str,
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
        match self {
            Self::NotUtf8 { line } | Self::Unclosed { opened: line, .. } => *line,
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
            | Self::WrongKind { position, .. } => position.line,
        }
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

fn hint(lookalike: Option<usize>) -> String {
    lookalike.map_or_else(String::new, |line| {
        format!("; line {line} looks like one, but has more dashes")
    })
}
