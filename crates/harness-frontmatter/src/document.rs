//! A Markdown document with its fields.

use crate::code::{Code, codes};
use crate::error::Error;
use crate::fences::{self, Parts};
use crate::limits::Limits;
use crate::mapping::Mapping;
use crate::position::{Position, line_breaks};
use crate::tree::{self, Source, Spent, Twice};

const BOM: char = '\u{feff}';

/// A Markdown document: the fields of its frontmatter, and its body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document<'t> {
    /// The fields, in their order. Empty if there is no frontmatter, or nothing in it.
    pub fields: Mapping,
    /// All that follows the line of the closing fence, as it is in the text that was given; always a
    /// suffix of it. Without frontmatter, the whole text but for a byte order mark.
    pub body: &'t str,
    /// The line that the body begins in, counted from 1.
    pub body_line: usize,
    /// Whether there are fences. A text without any is no error.
    pub has_frontmatter: bool,
    /// What was read, and is not as a strict reader wants it.
    pub oddities: Vec<Oddity>,
}

/// Something that was read, and is not as a strict reader wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Oddity {
    /// What.
    pub kind: OddityKind,
    /// The line, counted from 1.
    pub line: usize,
}

/// The kinds of [`Oddity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OddityKind {
    /// The text begins with a byte order mark.
    ByteOrderMark,
    /// There are blank lines before the opening fence.
    BlankLinesBefore,
    /// A fence has blanks behind its dashes.
    BlanksAfterFence,
    /// A value is the repetition of another one.
    Alias,
}

impl OddityKind {
    /// The code that it is told under, as a warning.
    pub fn code(self) -> Code {
        match self {
            Self::ByteOrderMark => codes::BOM,
            Self::BlankLinesBefore => codes::LEADING_BLANK,
            Self::BlanksAfterFence => codes::DELIM_SPACE,
            Self::Alias => codes::ALIAS,
        }
    }
}

impl<'t> Document<'t> {
    /// Reads `text` within the default [`Limits`].
    ///
    /// Frontmatter begins with a line `---`, before which only blank lines may stand, and ends with
    /// the next such line. A text that begins otherwise has none, and is all body. It is an error if
    /// the frontmatter is not closed, is not YAML, is no mapping, or has a key twice.
    pub fn parse(text: &'t str) -> Result<Self, Error> {
        Self::parse_with(text, &Limits::default())
    }

    /// As [`Document::parse`], within other limits.
    pub fn parse_with(text: &'t str, limits: &Limits) -> Result<Self, Error> {
        let frame = Frame::of(text, limits)?;
        let read = match &frame.parts {
            Some(parts) => Some(read(parts, limits)?),
            None => None,
        };
        Ok(frame.document(read))
    }

    /// As [`Document::parse_with`], from bytes that may not be UTF-8.
    pub fn from_bytes(bytes: &'t [u8], limits: &Limits) -> Result<Self, Error> {
        Self::parse_with(utf8(bytes, limits)?, limits)
    }
}

/// A text, taken apart and not yet read.
pub(crate) struct Frame<'t> {
    text: &'t str,
    /// `None` if there is no frontmatter.
    pub(crate) parts: Option<Parts<'t>>,
    oddities: Vec<Oddity>,
}

impl<'t> Frame<'t> {
    pub(crate) fn of(text: &'t str, limits: &Limits) -> Result<Self, Error> {
        within(text.len(), limits)?;
        // The whole file is looked through, so this is what takes many bytes at a time.
        if text.as_bytes().contains(&0) {
            let at = text.find('\0').unwrap_or_default();
            return Err(Error::ControlCharacter {
                character: '\0',
                position: Position::of(text, at),
            });
        }
        let mut oddities = Vec::new();
        let mut odd = |kind, line| oddities.push(Oddity { kind, line });
        let text = match text.strip_prefix(BOM) {
            Some(rest) => {
                odd(OddityKind::ByteOrderMark, 1);
                rest
            }
            None => text,
        };
        let parts = fences::split(text)?;
        if let Some(parts) = &parts {
            if parts.opened > 1 {
                odd(OddityKind::BlankLinesBefore, 1);
            }
            if let Some(line) = parts.loose {
                odd(OddityKind::BlanksAfterFence, line);
            }
        }
        Ok(Self {
            text,
            parts,
            oddities,
        })
    }

    /// The document with what was read of its frontmatter.
    pub(crate) fn document(mut self, read: Option<tree::Read>) -> Document<'t> {
        let alias = read.as_ref().and_then(|read| read.first_alias);
        self.oddities.extend(alias.map(|line| Oddity {
            kind: OddityKind::Alias,
            line,
        }));
        let start = Position { line: 1, column: 1 };
        let (body, body_line) = match &self.parts {
            Some(parts) => (parts.body, parts.body_line),
            None => (0, 1),
        };
        Document {
            fields: read.map_or_else(|| Mapping::empty(start), |read| read.fields),
            body: self.text.get(body..).unwrap_or_default(),
            body_line,
            has_frontmatter: self.parts.is_some(),
            oddities: self.oddities,
        }
    }
}

/// `bytes` as text, if they are no more than may be read and UTF-8.
pub(crate) fn utf8<'t>(bytes: &'t [u8], limits: &Limits) -> Result<&'t str, Error> {
    within(bytes.len(), limits)?;
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(valid).unwrap_or_default();
        Error::NotUtf8 {
            line: 1 + line_breaks(valid),
        }
    })
}

/// Whether a file of `length` bytes may be read.
fn within(length: usize, limits: &Limits) -> Result<(), Error> {
    if length <= limits.document_bytes {
        return Ok(());
    }
    Err(Error::Limit {
        what: "the bytes of the file are",
        max: limits.document_bytes,
        position: Position { line: 1, column: 1 },
    })
}

fn read(parts: &Parts<'_>, limits: &Limits) -> Result<tree::Read, Error> {
    let source = Source {
        block: &parts.block,
        // The block begins in the line below its fence.
        below: parts.opened,
        removed: &[],
    };
    if source.block.len() > limits.frontmatter_bytes {
        return Err(Error::Limit {
            what: "the bytes of the frontmatter are",
            max: limits.frontmatter_bytes,
            position: source.place(1, 0),
        });
    }
    if let Some((at, character)) = controls(source.block).next() {
        let Position { line, column } = Position::of(source.block, at);
        return Err(Error::ControlCharacter {
            character,
            position: source.place(line, column - 1),
        });
    }
    // What is split off elsewhere and what is read here must be the same, but for the blanks around
    // it; they are the indentation of the first line, without which YAML would read something else.
    if fences::matter(&parts.fenced()).as_deref() != Some(source.block.trim()) {
        return Err(Error::Yaml {
            message: "where it ends cannot be told".to_owned(),
            position: source.place(1, 0),
        });
    }
    let mut spent = Spent {
        bytes: source.block.len(),
        ..Spent::default()
    };
    tree::read(source, limits, &mut spent, Twice::Refused)
}

/// The control characters that have no place in a block, with where they are in bytes.
pub(crate) fn controls(block: &str) -> impl Iterator<Item = (usize, char)> {
    // Those above ASCII begin with the byte 0xC2: most blocks have none, and are done here.
    let may_be =
        |byte: u8| (byte < b' ' && !matches!(byte, b'\t' | b'\n')) || byte == 0x7f || byte == 0xc2;
    let first = block.bytes().position(may_be).unwrap_or(block.len());
    let rest = block.get(first..).unwrap_or_default().char_indices();
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    rest.filter(move |&(_, c)| is_control(c))
        .map(move |(at, c)| (first + at, c))
}
