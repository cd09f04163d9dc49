//! What goes to standard output: answers, and nothing else.

use std::io::{self, IsTerminal, Write};

use crate::failure::Failure;
use crate::terminal::harmless;

/// Prints text, and a line break if it has none. On a terminal, what would act on it is shown
/// escaped; a file or a pipe gets the text as it is.
///
/// A reader that has gone away is no error: it read all that it wanted.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        print_drawn(&harmless(text))
    } else {
        print_drawn(text)
    }
}

/// Prints text of which every piece that came from elsewhere was made harmless: what else a terminal acts on in it is
/// meant, such as colours.
pub(crate) fn print_drawn(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let line_break = if text.ends_with('\n') { "" } else { "\n" };
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(line_break.as_bytes()))
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failure(&error)),
        _ => Ok(()),
    }
}

/// Standard output that cannot be written: a full disk, mostly.
pub(crate) fn failure(error: &io::Error) -> Failure {
    Failure::failed(format!("standard output cannot be written: {error}"))
}
