//! Reads traces.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::{DeserializeSeed, IgnoredAny};

use super::chrome_span::attach;
use super::error::TraceFileError;
use super::object::Object;
use super::sink::{MAX_SPANS, Sink};
use crate::trace::Trace;

/// The most bytes that are read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

impl Trace {
    /// Reads a trace from a file: of at most 64 MiB and 200,000 spans. See [`parse`](Self::parse).
    ///
    /// It blocks.
    pub fn read(path: &Path) -> Result<Self, TraceFileError> {
        let mut bytes = Vec::new();
        let count = File::open(path)?
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)?;
        if count as u64 > MAX_BYTES {
            return Err(TraceFileError::TooLarge { limit: MAX_BYTES });
        }
        parse(&bytes)
    }

    /// Reads a trace from its text, whichever of the formats it has:
    ///
    /// - OTLP as JSON: one document, or one a line, also with the key `batches` of Tempo. Ids may be in base64, numbers
    ///   may be texts, kinds and statuses may be words.
    /// - Trace events in an array, closed or not, or in an object with `traceEvents`. Those that this crate wrote become
    ///   what they were. Of others, complete events (`"ph":"X"`) become spans that are nobody's children.
    ///
    /// A text that is cut off gives the spans that are there as a whole, and says so in [`torn`](Self::torn). Of a
    /// span at most 1,000 attributes and 1,000 events are kept, and 1,000 items of a list.
    pub fn parse(text: &str) -> Result<Self, TraceFileError> {
        parse(text.as_bytes())
    }
}

fn parse(bytes: &[u8]) -> Result<Trace, TraceFileError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // A file system that lost power may leave zeros for what was not written yet.
    let mut text = bytes.trim_ascii_end();
    let mut torn = false;
    while let Some(rest) = text.strip_suffix(b"\0") {
        text = rest.trim_ascii_end();
        torn = true;
    }
    if text.is_empty() {
        return Err(TraceFileError::Empty);
    }
    let mut sink = Sink::default();
    let mut documents = 0_usize;
    let mut reader = serde_json::Deserializer::from_slice(text);
    loop {
        sink.depth = 0;
        match Object(&mut sink).deserialize(&mut reader) {
            Ok(()) => documents += 1,
            Err(_) if sink.full => return Err(TraceFileError::TooManySpans { limit: MAX_SPANS }),
            Err(error) => {
                torn |= ends_here(error, text, &sink, documents)?;
                break;
            }
        }
        if reader.end().is_ok() {
            break;
        }
    }
    if !sink.known && text != b"[]" && text != b"[\n]" {
        return Err(TraceFileError::NotATrace);
    }
    attach(&mut sink.spans, sink.instants);
    Ok(Trace {
        torn,
        spans: sink.spans,
    })
}

/// Whether the text was cut off where it cannot be read any further. An error if it was not, or if there is nothing
/// before.
fn ends_here(
    error: serde_json::Error,
    text: &[u8],
    sink: &Sink,
    documents: usize,
) -> Result<bool, TraceFileError> {
    if !error.is_eof() {
        // Half a line that somebody went on writing behind is no cut: more comes after it.
        let mut lines = text.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        let is_last = error.line() == lines.count() + 1;
        let is_whole = serde_json::from_slice::<IgnoredAny>(last).is_ok();
        return if error.is_syntax() && documents > 0 && is_last && !is_whole {
            Ok(true)
        } else {
            Err(error.into())
        };
    }
    let is_array = text.starts_with(b"[");
    if documents == 0 && sink.spans.is_empty() {
        return match sink.known {
            // A run that was killed before a span of it ended.
            true if is_array && sink.depth == 1 => Ok(false),
            true => Err(TraceFileError::CutOff),
            false if is_array && text.len() == 1 => Err(TraceFileError::CutOff),
            false => Err(error.into()),
        };
    }
    // An array of events need not be closed.
    Ok(!(is_array && sink.depth == 1))
}
