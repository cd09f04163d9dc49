//! A window of whole lines out of a stream of text.

use std::ops::Range;

/// Takes text in pieces and keeps the lines asked for, as many as fit; counts all of them.
///
/// Memory is bounded by the byte limit, however long the stream and its lines are.
#[derive(Debug)]
pub(crate) struct LineWindow {
    first: u64,
    max_lines: u64,
    max_bytes: usize,
    /// The line that the next byte belongs to, from 1.
    line: u64,
    /// Bytes of that line so far.
    line_bytes: u64,
    kept: Vec<u8>,
    /// Where in `kept` the current line begins.
    line_start: usize,
    /// How many whole lines are kept.
    kept_lines: u64,
    full: Option<Full>,
    /// The length of the first line, if it alone is too long.
    cut_line_bytes: Option<u64>,
}

/// What filled the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// As many lines as were asked for.
    Lines,
    /// As many bytes as are allowed; ends with a whole line.
    Bytes,
    /// As many bytes as are allowed, and the first line is longer than that.
    InLine,
}

impl LineWindow {
    /// Lines from `first` (from 1).
    pub(crate) fn new(first: u64, max_lines: u64, max_bytes: usize) -> Self {
        Self {
            first,
            max_lines,
            max_bytes,
            line: 1,
            line_bytes: 0,
            kept: Vec::new(),
            line_start: 0,
            kept_lines: 0,
            full: None,
            cut_line_bytes: None,
        }
    }

    /// Whether nothing more will be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// Takes the next piece of the text, in UTF-8.
    pub(crate) fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.full.is_some() {
                return self.count(piece);
            }
            let end = memchr::memchr(b'\n', piece).map(|at| at + 1);
            let (part, rest) = piece.split_at(end.unwrap_or(piece.len()));
            piece = rest;
            if self.line >= self.first {
                self.keep(part);
            }
            self.line_bytes += part.len() as u64;
            if end.is_some() {
                self.end_line();
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = self.max_bytes - self.kept.len().min(self.max_bytes);
        if part.len() <= room {
            self.kept.extend_from_slice(part);
        } else if self.kept_lines == 0 {
            self.kept
                .extend_from_slice(part.get(..room).unwrap_or_default());
            self.full = Some(Full::InLine);
        } else {
            self.kept.truncate(self.line_start);
            self.full = Some(Full::Bytes);
        }
    }

    fn end_line(&mut self) {
        if self.line >= self.first {
            match self.full {
                Some(Full::InLine) if self.cut_line_bytes.is_none() => {
                    self.cut_line_bytes = Some(self.line_bytes);
                }
                Some(_) => {}
                None => {
                    self.kept_lines += 1;
                    self.line_start = self.kept.len();
                    if self.kept_lines >= self.max_lines {
                        self.full = Some(Full::Lines);
                    }
                }
            }
        }
        self.line += 1;
        self.line_bytes = 0;
    }

    fn count(&mut self, piece: &[u8]) {
        let mut rest = piece;
        if self.full == Some(Full::InLine) && self.cut_line_bytes.is_none() {
            let Some(at) = memchr::memchr(b'\n', piece) else {
                self.line_bytes += piece.len() as u64;
                return;
            };
            self.line_bytes += at as u64 + 1;
            self.end_line();
            rest = piece.get(at + 1..).unwrap_or_default();
        }
        self.line += memchr::memchr_iter(b'\n', rest).count() as u64;
        if let Some(last) = memchr::memrchr(b'\n', rest) {
            self.line_bytes = (rest.len() - last - 1) as u64;
        } else {
            self.line_bytes += rest.len() as u64;
        }
    }

    /// What was kept. `whole` says that the stream was read to its end.
    pub(crate) fn finish(mut self, whole: bool) -> Window {
        let open_line = self.line_bytes > 0;
        if open_line && self.full.is_none() && self.line >= self.first {
            self.kept_lines += 1;
        }
        let lines_so_far = self.line - 1 + u64::from(open_line);
        let mut full = self.full;
        if full == Some(Full::Lines) && whole && self.first + self.kept_lines > lines_so_far {
            full = None;
        }
        let cut_line_bytes = match full {
            Some(Full::InLine) => Some(self.cut_line_bytes.unwrap_or(self.line_bytes)),
            _ => None,
        };
        if full == Some(Full::InLine) {
            let cut = cut_character(&self.kept);
            self.kept.truncate(self.kept.len() - cut);
        }
        let mut is_utf8 = true;
        let text = String::from_utf8(self.kept).unwrap_or_else(|error| {
            is_utf8 = false;
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        let shown = self.first..self.first + self.kept_lines.max(u64::from(full.is_some()));
        Window {
            text,
            shown,
            total: whole.then_some(lines_so_far),
            full,
            cut_line_bytes,
            is_utf8,
        }
    }
}

/// How many bytes at the end are the beginning of a character that was cut.
fn cut_character(bytes: &[u8]) -> usize {
    let begins = |byte: &u8| byte & 0b1100_0000 != 0b1000_0000;
    let Some(start) = bytes.iter().rposition(begins) else {
        return 0;
    };
    let last = bytes.get(start..).unwrap_or_default();
    match std::str::from_utf8(last) {
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => last.len(),
        _ => 0,
    }
}

/// Some lines of a text.
#[derive(Debug)]
pub(crate) struct Window {
    /// The lines, with their endings.
    pub(crate) text: String,
    /// Their numbers, from 1.
    pub(crate) shown: Range<u64>,
    /// How many lines the text has, if it was read to its end.
    pub(crate) total: Option<u64>,
    /// What ended the window before the text ended.
    pub(crate) full: Option<Full>,
    /// If the first line alone is too long and was cut: how many bytes it has, as far as was read.
    pub(crate) cut_line_bytes: Option<u64>,
    /// The lines were UTF-8. If not, U+FFFD made the text longer than the limit allows.
    pub(crate) is_utf8: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(text: &str, first: u64, lines: u64, bytes: usize, piece: usize) -> Window {
        let mut window = LineWindow::new(first, lines, bytes);
        for piece in text.as_bytes().chunks(piece.max(1)) {
            window.push(piece);
        }
        window.finish(true)
    }

    proptest! {
        /// However the text is cut into pieces, the window is the same, and pages joined are the text.
        #[test]
        fn read_13_pages_are_the_text(
            text in "[ab\u{20ac}\n]{0,60}", lines in 1_u64..5, piece in 1_usize..7, bytes in 20_usize..40,
        ) {
            let longest = text.split_inclusive('\n').map(str::len).max().unwrap_or(0);
            prop_assume!(longest <= bytes);
            let total = text.split_inclusive('\n').count() as u64;
            let mut joined = String::new();
            let mut first = 1;
            loop {
                let page = window(&text, first, lines, bytes, piece);
                prop_assert_eq!(page.total, Some(total));
                prop_assert!(page.text.len() <= bytes);
                joined.push_str(&page.text);
                if page.full.is_none() {
                    break;
                }
                first = page.shown.end;
            }
            prop_assert_eq!(joined, text);
        }
    }

    #[test]
    fn a_line_longer_than_the_limit_is_cut_at_a_character() {
        let page = window("\u{20ac}\u{20ac}\u{20ac}\nx\n", 1, 10, 7, 2);
        assert_eq!(page.text, "\u{20ac}\u{20ac}");
        assert_eq!(
            (page.full, page.cut_line_bytes),
            (Some(Full::InLine), Some(10))
        );
        assert_eq!((page.shown, page.total), (1..2, Some(2)));
    }

    /// U+FFFD in the file is no sign of a cut.
    #[test]
    fn a_line_of_replacement_characters_is_shown() {
        let page = window(&"\u{fffd}".repeat(9), 1, 10, 8, 3);
        assert_eq!(page.text, "\u{fffd}\u{fffd}");
    }
}
