//! `--output json`: one event a line.

use std::io::{self, BufWriter, Stdout, Write};

use harness_core::Event;

/// Writes events as lines of JSON.
pub(crate) struct JsonOutput {
    out: BufWriter<Stdout>,
}

impl JsonOutput {
    pub(crate) fn new() -> Self {
        Self {
            out: BufWriter::with_capacity(64 * 1024, io::stdout()),
        }
    }

    /// Writes an event. The reader has it after the next [`flush`](Self::flush).
    pub(crate) fn write(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, event)?;
        self.out.write_all(b"\n")
    }

    /// Lets the reader have what was written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
