//! Reads traces.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeSeed;

use super::chrome_span::attach;
use super::error::TraceFileError;
use super::object::Object;
use super::sink::Sink;
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
    let mut documents = serde_json::Deserializer::from_slice(text).into_iter::<Sink>();
    while let Some(document) = documents.next() {
        match document {
            Ok(document) => sink.add(document)?,
            Err(error) => {
                let rest = text.get(documents.byte_offset()..).unwrap_or_default();
                torn |= take_rest(rest, error, &mut sink)?;
                break;
            }
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

/// Takes what there is of a document that cannot be read to its end, and tells whether the text was cut off there. An
/// error if it was not, or if there is nothing before.
fn take_rest(
    rest: &[u8],
    error: serde_json::Error,
    sink: &mut Sink,
) -> Result<bool, TraceFileError> {
    let rest = rest.trim_ascii_start();
    let mut part = Sink::default();
    // It fails as it did before; but what it has read by then is kept.
    let _ = Object(&mut part).deserialize(&mut serde_json::Deserializer::from_slice(rest));
    let is_first = !sink.known && sink.spans.is_empty();
    let (full, known, depth) = (part.full, part.known, part.depth);
    if full {
        return Err(Sink::too_many());
    }
    if !error.is_eof() {
        // Half a line that somebody went on writing behind is no cut.
        let is_last_line = !rest.contains(&b'\n');
        return if error.is_syntax() && is_last_line && !is_first {
            sink.add(part)?;
            Ok(true)
        } else {
            Err(error.into())
        };
    }
    // An array of events need not be closed.
    let is_open = rest.starts_with(b"[") && depth == 1;
    if is_first && part.spans.is_empty() && !(known && is_open) {
        return Err(if known || rest == b"[" {
            TraceFileError::CutOff
        } else {
            error.into()
        });
    }
    sink.add(part)?;
    Ok(!is_open)
}
