//! What goes to standard error: notes and errors, a line each.

#![expect(
    clippy::print_stderr,
    reason = "this is the module that prints to standard error"
)]

use crate::failure::Failure;
use crate::terminal::one_line;

/// Something that a person should know.
pub(crate) fn note(text: &str) {
    eprintln!("note: {}", one_line(text));
}

/// What went wrong.
pub(crate) fn error(failure: &Failure) {
    eprintln!("{}", failure.text());
}
