//! What is known of a file before it is repaired, and what was done to it.

use crate::code::{Code, codes};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::Document;
use crate::error::Error;
use crate::position::Position;

/// What is known of the keys of a document. Only keys of the document itself are meant, none of
/// mappings within.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldKinds<'k> {
    /// Their value is one text: it may be taken as it stands where it is no YAML.
    pub texts: &'k [&'k str],
    /// Their value is a list or a mapping: it is never taken as text.
    pub structures: &'k [&'k str],
    /// That they are there twice stays an error.
    pub unique: &'k [&'k str],
}

impl FieldKinds<'_> {
    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.texts.contains(&key)
    }

    pub(crate) fn is_structure(&self, key: &str) -> bool {
        self.structures.contains(&key)
    }

    pub(crate) fn is_unique(&self, key: &str) -> bool {
        self.unique.contains(&key)
    }
}

/// A document that may have been repaired; see [`Document::recover`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recovered<'t> {
    /// The document.
    pub document: Document<'t>,
    /// What [`Document::parse_with`] says of it. `None` if nothing had to be repaired.
    pub error: Option<Error>,
    /// What was done, in the order of the file.
    pub repairs: Vec<Repair>,
}

/// Something that was done to read a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// What.
    pub kind: RepairKind,
    /// The key of the document that it is about; empty if it is about none.
    pub key: String,
    /// Where, in the file as it is.
    pub position: Position,
}

/// The kinds of [`Repair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// Quotes were put around the value.
    Quoted,
    /// The value was taken as it stands, with the lines of prose below it up to a blank line or a `#`;
    /// what follows there was left out.
    Raw,
    /// The field was left out.
    Dropped,
    /// The key, or one in its value, is there again; the last one counts.
    LastWins,
    /// Control characters were taken out of the frontmatter. The place is that of the first.
    ControlRemoved,
}

impl RepairKind {
    /// The code that it is told under, as a warning.
    pub fn code(self) -> Code {
        match self {
            Self::Quoted => codes::REPAIRED,
            Self::Raw => codes::FIELD_RAW,
            Self::Dropped => codes::FIELD_DROPPED,
            Self::LastWins => codes::DUP_KEY,
            Self::ControlRemoved => codes::CONTROL,
        }
    }
}

impl Repair {
    /// The same as a warning to show.
    pub fn diagnostic(&self) -> Diagnostic {
        let message = match (self.kind, self.key.as_str()) {
            (RepairKind::Quoted, key) => format!("`{key}` was read as if it were quoted"),
            (RepairKind::Raw, key) => format!(
                "`{key}` is no YAML, and was taken as it stands, up to a blank line or a `#`"
            ),
            (RepairKind::Dropped, "") => "a line without a key was left out".to_owned(),
            (RepairKind::Dropped, key) => format!("`{key}` is no YAML, and was left out"),
            (RepairKind::LastWins, key) => {
                format!("`{key}` has a key twice, or is there twice; the last one counts")
            }
            (RepairKind::ControlRemoved, _) => "control characters were taken out".to_owned(),
        };
        let shown = Diagnostic::new(self.kind.code(), Severity::Warning, message).at(self.position);
        if self.key.is_empty() {
            shown
        } else {
            shown.for_key(self.key.clone())
        }
    }
}
