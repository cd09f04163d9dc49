//! What a command writes is shown as a person would see it.
//!
//! The first byte says how the output is cut, and whether its pieces come from two streams by turns;
//! the second, whether it is repeated until it is long. The rest is the output.

use super::input::{Input, pieces};
use crate::terminal::{Screen, Stream};

/// How much a long output has.
const LONG_BYTES: usize = 20 * 1024;

/// How much of it comes at a time, at least.
const PIECE_BYTES: usize = 2 * 1024;

/// How much of an unfinished line is held, in characters, before the piece that is added.
const HELD_CHARS: usize = 8 * 1024;

/// - No control character is left but line breaks and tabs.
/// - Where one stream is cut does not show.
/// - What is clean stays as it is.
/// - Memory is bounded: an unfinished line is passed on when it is long, and nothing grows but by what
///   came.
pub fn check_terminal(data: &[u8]) {
    let mut input = Input::new(data);
    let seed = input.byte();
    let long = input.byte();
    let bytes = input.rest();

    let at_once = seen(&[bytes]);
    assert_clean(&at_once, bytes.len());
    assert_eq!(
        seen(&pieces(bytes, seed)),
        at_once,
        "where it was cut shows"
    );
    assert_eq!(seen(&[at_once.as_bytes()]), at_once, "a clean text changed");

    let mut by_turns = Terminal::default();
    for (at, piece) in pieces(bytes, seed | 1).into_iter().enumerate() {
        by_turns.push(at % 2, piece);
    }
    assert_clean(&by_turns.finish(), bytes.len());

    if long % 16 == 15 && !bytes.is_empty() {
        let piece = bytes.repeat(PIECE_BYTES.div_ceil(bytes.len()));
        let mut terminal = Terminal::default();
        let count = LONG_BYTES.div_ceil(piece.len());
        for at in 0..count {
            terminal.push(at % 2, &piece);
            let held = terminal.screen.line().chars().count();
            assert!(held <= HELD_CHARS + piece.len(), "{held} characters held");
        }
        assert_clean(&terminal.finish(), count * piece.len());
    }
}

#[derive(Default)]
struct Terminal {
    screen: Screen,
    streams: [Stream; 2],
    out: String,
}

impl Terminal {
    fn push(&mut self, stream: usize, bytes: &[u8]) {
        self.streams[stream].push(bytes, false, &mut self.screen, &mut self.out);
    }

    fn finish(mut self) -> String {
        for stream in &mut self.streams {
            stream.push(b"", true, &mut self.screen, &mut self.out);
        }
        self.screen.take_line(&mut self.out);
        self.out
    }
}

fn seen(pieces: &[&[u8]]) -> String {
    let mut terminal = Terminal::default();
    for piece in pieces {
        terminal.push(0, piece);
    }
    terminal.finish()
}

fn assert_clean(text: &str, bytes: usize) {
    let control = text
        .chars()
        .find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(control, None, "a control character in {text:?}");
    // An invalid byte becomes U+FFFD, which has three.
    assert!(text.len() <= bytes * 3, "longer than what came");
}
