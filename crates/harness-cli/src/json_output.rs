//! `--output json`: one event a line.

use std::io::{self, Write};

use harness_core::Event;

use crate::signals::Signals;

/// With so many bytes at hand, they are written although more events are there.
const MANY_BYTES: usize = 64 * 1024;

/// Writes events as lines of JSON.
#[derive(Default)]
pub(crate) struct JsonOutput {
    lines: Vec<u8>,
}

impl JsonOutput {
    /// Takes an event. The reader has it after the next [`flush`](Self::flush).
    pub(crate) fn push(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.lines, event)?;
        self.lines.push(b'\n');
        Ok(())
    }

    /// Whether it is time to write, whatever else is there.
    pub(crate) fn is_full(&self) -> bool {
        self.lines.len() >= MANY_BYTES
    }

    /// Lets the reader have what was taken. `None` if a signal came and nobody reads.
    pub(crate) async fn flush(&mut self, signals: &Signals) -> Option<io::Result<()>> {
        if self.lines.is_empty() {
            return Some(Ok(()));
        }
        let mut lines = std::mem::take(&mut self.lines);
        let written = signals.write(move || {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&lines)?;
            stdout.flush()?;
            lines.clear();
            Ok(lines)
        });
        Some(written.await?.map(|lines| self.lines = lines))
    }
}
