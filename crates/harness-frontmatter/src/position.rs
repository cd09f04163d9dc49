//! A place in a file.

use std::fmt;

/// A place in a file, as an editor shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Position {
    /// Where the byte `at` of `text` is. Lines end with `\n`, `\r\n` or `\r`.
    pub(crate) fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        Self {
            line: 1 + line_breaks(before),
            column: 1 + before[start..].chars().count(),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// How many lines end in `text`.
pub(crate) fn line_breaks(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_break = |(index, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(index + 1) != Some(&b'\n'),
        _ => false,
    };
    bytes
        .iter()
        .enumerate()
        .filter(|&byte| is_break(byte))
        .count()
}
