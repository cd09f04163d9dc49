//! What a person would see of a command's output: colours gone, redrawn lines drawn.

use crate::text_file::{Encoding, decode_piece};

/// How much of an unfinished line can still be redrawn, in bytes. A longer line is passed on: no
/// terminal is as wide, and each erasing may go over all of it.
const LINE_BYTES: usize = 8 * 1024;

/// How many digits and signs of a control sequence are looked at.
const PARAMETER_BYTES: usize = 32;

/// One line of a terminal, on which the streams of a command write together.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// The unfinished line, while only written at its end.
    line: String,
    /// The unfinished line, once something moved the cursor into it.
    cells: Option<Vec<char>>,
    /// Where in the cells the next character goes.
    cursor: usize,
    /// A carriage return came, and nothing after it yet. Before a line break it means nothing.
    returned: bool,
}

impl Screen {
    /// The unfinished line.
    pub(crate) fn line(&self) -> String {
        match &self.cells {
            Some(cells) => cells.iter().collect(),
            None => self.line.clone(),
        }
    }

    /// Takes the unfinished line.
    pub(crate) fn take_line(&mut self, out: &mut String) {
        match self.cells.take() {
            Some(cells) => out.extend(cells),
            None => out.push_str(&self.line),
        }
        self.line.clear();
        self.cursor = 0;
        self.returned = false;
    }

    /// Text without control characters other than line breaks and tabs.
    fn plain(&mut self, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        let (lines, rest) = match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(last) => text.split_at(last + 1),
            None => ("", text),
        };
        let mut lines = lines;
        if (self.returned || self.cells.is_some())
            && let Some(end) = lines.find('\n')
        {
            // Only the first line meets what was drawn.
            lines
                .get(..end)
                .unwrap_or_default()
                .chars()
                .for_each(|c| self.draw(c));
            self.take_line(out);
            lines = lines.get(end..).unwrap_or_default();
        }
        if !lines.is_empty() {
            self.take_line(out);
            out.push_str(lines);
        }
        if self.returned || self.cells.is_some() {
            rest.chars().for_each(|c| self.draw(c));
        } else {
            self.line.push_str(rest);
        }
        let drawn = self.cells.as_ref().map_or(0, Vec::len);
        if self.line.len() + drawn > LINE_BYTES {
            self.take_line(out);
        }
    }

    fn draw(&mut self, c: char) {
        let cursor = self.cursor_in_cells();
        let Some(cells) = &mut self.cells else { return };
        match cells.get_mut(cursor) {
            Some(cell) => *cell = c,
            None => cells.push(c),
        }
        self.cursor = cursor + 1;
    }

    /// Goes over to cells, and does the carriage return that was put off.
    fn cursor_in_cells(&mut self) -> usize {
        if self.cells.is_none() {
            let cells: Vec<char> = self.line.drain(..).collect();
            self.cursor = cells.len();
            self.cells = Some(cells);
        }
        if self.returned {
            self.returned = false;
            self.cursor = 0;
        }
        self.cursor
    }

    fn control(&mut self, c: char) {
        match c {
            '\r' => self.returned = true,
            '\u{8}' => self.cursor = self.cursor_in_cells().saturating_sub(1),
            _ => {}
        }
    }

    /// A control sequence; those that move in the line or erase it are done.
    fn sequence(&mut self, parameters: &str, last: char) {
        if parameters.starts_with(['?', '>', '<', '=']) {
            return;
        }
        let number = parameters
            .split(';')
            .next()
            .and_then(|text| text.parse::<usize>().ok());
        let steps = number.unwrap_or(1).max(1);
        if !matches!(last, 'C' | 'D' | 'G' | 'J' | 'K') {
            return;
        }
        let cursor = self.cursor_in_cells();
        let Some(cells) = &mut self.cells else { return };
        match (last, number.unwrap_or(0)) {
            ('C', _) => self.cursor = cursor.saturating_add(steps).min(cells.len()),
            ('D', _) => self.cursor = cursor.saturating_sub(steps),
            ('G', _) => self.cursor = (steps - 1).min(cells.len()),
            ('K' | 'J', 0) => cells.truncate(cursor),
            ('K', 1) => {
                let end = cells.len().min(cursor + 1);
                cells.get_mut(..end).unwrap_or_default().fill(' ');
            }
            ('K', 2) => {
                // The cursor stays; what is before it is blank. Trailing blanks are no text, so the
                // line begins anew.
                cells.clear();
                self.cursor = 0;
            }
            _ => {}
        }
    }
}

/// One stream of a command: its own decoder and its own half-read control sequence.
#[derive(Debug)]
pub(crate) struct Stream {
    decoder: encoding_rs::Decoder,
    decoded: String,
    state: State,
    parameters: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// After ESC and a character that announces one more.
    EscapeMore,
    /// After ESC `[`.
    Sequence,
    /// In a text for the terminal: a title, a link.
    String,
    /// The same, after an ESC in it.
    StringEscape,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            decoder: Encoding::Utf8.stream_decoder(),
            decoded: String::new(),
            state: State::Text,
            parameters: String::new(),
        }
    }
}

impl Stream {
    /// Takes the next bytes; whole lines go to `out`, the unfinished one stays on the screen.
    pub(crate) fn push(&mut self, bytes: &[u8], last: bool, screen: &mut Screen, out: &mut String) {
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        decode_piece(&mut self.decoder, bytes, last, &mut decoded);
        let mut rest = decoded.as_str();
        while !rest.is_empty() {
            if self.state == State::Text {
                let end = rest.bytes().position(is_special).unwrap_or(rest.len());
                let (plain, after) = rest.split_at(end);
                screen.plain(plain, out);
                rest = after;
            }
            let mut chars = rest.chars();
            if let Some(c) = chars.next() {
                rest = chars.as_str();
                self.next(c, screen, out);
            }
        }
        self.decoded = decoded;
    }

    fn next(&mut self, c: char, screen: &mut Screen, out: &mut String) {
        // A line break ends whatever was begun: a cut-off sequence must not swallow what follows.
        if c == '\n' {
            self.state = State::Text;
            return screen.plain("\n", out);
        }
        self.state = match (self.state, c) {
            (State::String, '\u{7}' | '\u{9c}') | (State::StringEscape, '\\') => State::Text,
            (State::String, '\u{1b}') => State::StringEscape,
            (_, '\u{1b}') => State::Escape,
            (State::Text, '\u{9b}') | (State::Escape, '[') => {
                self.parameters.clear();
                State::Sequence
            }
            (State::String, _)
            | (State::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (State::Escape | State::StringEscape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Text, c) if c.is_control() => {
                screen.control(c);
                State::Text
            }
            (State::Text, c) => {
                screen.plain(c.encode_utf8(&mut [0; 4]), out);
                State::Text
            }
            (State::Escape | State::EscapeMore, ' '..='/') => State::EscapeMore,
            (State::Escape | State::EscapeMore | State::StringEscape, _) => State::Text,
            (State::Sequence, '0'..='?') => {
                if self.parameters.len() < PARAMETER_BYTES {
                    self.parameters.push(c);
                }
                State::Sequence
            }
            (State::Sequence, ' '..='/') => State::Sequence,
            (State::Sequence, '@'..='~') => {
                screen.sequence(&self.parameters, c);
                State::Text
            }
            (State::Sequence, c) => {
                if c.is_control() {
                    screen.control(c);
                    State::Sequence
                } else {
                    State::Text
                }
            }
        };
    }
}

/// Whether a byte needs a closer look: a control character other than a tab or a line break, or
/// the first byte of the controls above ASCII.
fn is_special(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(pieces: &[&[u8]]) -> String {
        let (mut screen, mut stream, mut out) =
            (Screen::default(), Stream::default(), String::new());
        for piece in pieces {
            stream.push(piece, false, &mut screen, &mut out);
        }
        stream.push(b"", true, &mut screen, &mut out);
        screen.take_line(&mut out);
        out
    }

    #[test]
    fn bash_20_what_a_person_would_see() {
        for (raw, expected) in [
            ("Lo\rLoading\n", "Loading\n"),
            ("Loading\rLo\n", "Loading\n"),
            ("\u{1b}[?25lhi\u{1b}[?25h\n", "hi\n"),
            (
                "\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ end\n",
                "link end\n",
            ),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\r\r\nb", "a\nb"),
            ("\u{1b}[1;31mred\u{1b}[0m\n", "red\n"),
            ("100%\r5%\u{1b}[K\n", "5%\n"),
            ("abc\u{1b}[2Kx\n", "x\n"),
            ("\r 1%\r 2%\r 3%\n", " 3%\n"),
            ("50%\r", "50%"),
            ("ab\u{8}c\n", "ac\n"),
            ("abc\u{1b}[2Dx\n", "axc\n"),
            ("ab\r\u{1b}[18446744073709551615Cc\n", "abc\n"),
            ("ab\u{1b}[18446744073709551615Dc\n", "cb\n"),
            ("a\0b\u{7}c\u{7f}\n", "abc\n"),
            ("\u{1b}(Bx\u{1b}=y\n", "xy\n"),
            ("\u{1b}]0;never ended\nnext\n", "\nnext\n"),
            ("\u{1b}[12\nnext\n", "\nnext\n"),
            ("\u{1b}Pq#0\u{1b}\\x\n", "x\n"),
            ("\u{9b}31mx\u{a0}£\n", "x\u{a0}£\n"),
            ("a\tb\n", "a\tb\n"),
            ("done\rabc\ndef\rx\nghi", "abce\nxef\nghi"),
        ] {
            assert_eq!(seen(&[raw.as_bytes()]), expected, "{raw:?}");
        }
    }

    #[test]
    fn bash_19_redraws_collapse_to_the_last_frame() {
        let frames: Vec<String> = (0..1000)
            .map(|n| format!("\r\u{1b}[32m{n:4}%\u{1b}[0m"))
            .collect();
        assert_eq!(seen(&[frames.concat().as_bytes()]), " 999%");
    }

    #[test]
    fn bash_13_a_character_survives_a_line_of_the_other_stream() {
        let (mut screen, mut out) = (Screen::default(), String::new());
        let (mut one, mut two) = (Stream::default(), Stream::default());
        let emoji = "\u{1f600}".as_bytes();
        one.push(&emoji[..1], false, &mut screen, &mut out);
        two.push(b"err\n", false, &mut screen, &mut out);
        one.push(&emoji[1..], false, &mut screen, &mut out);
        screen.take_line(&mut out);
        assert_eq!(out, "err\n\u{1f600}");
    }

    proptest! {
        /// It does not matter where the bytes are cut.
        #[test]
        fn bash_12_cuts_do_not_show(
            text in "(a|\u{20ac}|\u{1f600}|\r|\n|\u{8}|\u{1b}\\[[0-9]?[KGmD]|\u{1b}\\]0;t\u{7}|\t){0,20}",
            cut in 1_usize..5,
        ) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(cut).collect();
            prop_assert_eq!(seen(&pieces), seen(&[text.as_bytes()]));
        }

        #[test]
        fn no_control_character_is_left(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let out = seen(&[&bytes]);
            prop_assert!(!out.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", out);
        }
    }
}
