//! Writes a trace while it grows.

use std::io;
use std::path::Path;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;

use super::chrome_lines::ChromeLines;
use super::format::TraceFormat;
use super::otlp_lines::OtlpLines;

/// Writes spans to a file as they end.
///
/// After each [`write`](Self::write) the file can be read, also if the process is killed; after
/// [`finish`](Self::finish) viewers open it. All of it blocks.
#[derive(Debug)]
pub struct TraceFileWriter {
    lines: Lines,
    finished: bool,
}

#[derive(Debug)]
enum Lines {
    Otlp(OtlpLines),
    Chrome(ChromeLines),
}

impl TraceFileWriter {
    /// Begins a file, in the place of one that is there (of a link: in the place of the link). On Unix, only its
    /// owner can read it.
    ///
    /// Fails if its folder is missing or cannot be written to, and if there is a folder or a device of that name.
    pub fn create(path: &Path, format: TraceFormat) -> io::Result<Self> {
        Ok(Self {
            lines: match format {
                TraceFormat::Otlp => Lines::Otlp(OtlpLines::create(path)?),
                TraceFormat::Chrome => Lines::Chrome(ChromeLines::create(path)?),
            },
            finished: false,
        })
    }

    /// Adds spans that have ended. If it fails, none of them is added; later ones may be.
    pub fn write(&mut self, resource: &Resource, spans: &[SpanData]) -> io::Result<()> {
        if self.finished {
            return Err(io::Error::other("the trace is finished"));
        }
        if spans.is_empty() {
            return Ok(());
        }
        match &mut self.lines {
            Lines::Otlp(lines) => lines.write(resource, spans),
            Lines::Chrome(lines) => lines.write(resource, spans),
        }
    }

    /// Makes it a file that viewers open: written anew beside, and moved in its place. If that fails, it stays as it
    /// was. A second time it does nothing.
    ///
    /// Needs memory for the longest line, and for the Chrome format about 100 bytes a span.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.finished {
            return Ok(());
        }
        match &mut self.lines {
            Lines::Otlp(lines) => lines.finish()?,
            Lines::Chrome(lines) => lines.finish()?,
        }
        self.finished = true;
        Ok(())
    }
}
