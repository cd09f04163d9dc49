//! What goes to standard output: answers, and nothing else.

use std::io::Write;

/// Prints text, and a line break if it has none. A reader that has gone away is no error: it read all
/// that it wanted.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stdout.write_all(b"\n");
    }
    let _ = stdout.flush();
}
