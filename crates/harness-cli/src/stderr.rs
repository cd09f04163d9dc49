//! What goes to standard error: notes, warnings and errors, a line each.
//!
//! A standard error that cannot be written (its reader has gone, the disk is full) ends nothing: the
//! exit status and standard output still tell how it went.

use std::io::Write as _;

use crate::failure::Failure;
use crate::terminal::one_line;
use crate::tty;

/// Something that a person should know.
pub(crate) fn note(text: &str) {
    line(&format!("note: {}", one_line(text)));
}

/// Something that is not as a person meant it, in all likelihood.
pub(crate) fn warning(text: &str) {
    line(&format!("warning: {}", one_line(text)));
}

/// What went wrong.
pub(crate) fn error(failure: &Failure) {
    line(&failure.text());
}

fn line(text: &str) {
    // In one write, so that lines of several processes do not mix.
    let line = format!("{text}\n");
    let mut screen = tty::screen();
    if screen.is_asking {
        screen.waiting.push_str(&line);
        return;
    }
    let _ = std::io::stderr().write_all(line.as_bytes());
}
