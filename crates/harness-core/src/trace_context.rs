//! Where a request or a process belongs in a distributed trace.

use std::sync::Arc;

/// The place in a trace that others go on from, as W3C's
/// [Trace Context](https://www.w3.org/TR/trace-context/) defines it: two texts that travel as HTTP headers
/// `traceparent` and `tracestate`, or as environment variables `TRACEPARENT` and `TRACESTATE`.
///
/// A middleware that traces puts one into [`ModelRequest::trace`](crate::ModelRequest::trace), and into the
/// [context](crate::RunContext::with_value) of a call; clients and tools pass it on. By default, there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    parent: Arc<str>,
    state: Option<Arc<str>>,
}

/// The longest `tracestate` that everybody has to pass on.
const MAX_STATE: usize = 512;

impl TraceContext {
    /// From the two texts. `None` if `traceparent` is not what the standard wants. A `tracestate` that cannot
    /// be a header, or is longer than 512 bytes, is left out, as the standard allows.
    pub fn new(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        if !is_traceparent(traceparent.as_bytes()) {
            return None;
        }
        let state = tracestate.filter(|state| {
            let printable = |byte: u8| (0x20..0x7f).contains(&byte);
            !state.trim().is_empty() && state.len() <= MAX_STATE && state.bytes().all(printable)
        });
        Some(Self {
            parent: traceparent.into(),
            state: state.map(Into::into),
        })
    }

    /// The text of `traceparent`: version, id of the trace, id of the span, flags.
    pub fn traceparent(&self) -> &str {
        &self.parent
    }

    /// The text of `tracestate`.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// Version, 16 bytes that are not all zero, 8 bytes that are not all zero, flags; in lower-case hex. A later
/// version may have more behind it.
fn is_traceparent(text: &[u8]) -> bool {
    const LENGTH: usize = 55;
    if text.len() < LENGTH || [2, 35, 52].iter().any(|dash| text[*dash] != b'-') {
        return false;
    }
    let hex = |part: &[u8]| {
        part.iter()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
    };
    let zero = |part: &[u8]| part.iter().all(|b| *b == b'0');
    let (version, trace, span, flags) = (&text[..2], &text[3..35], &text[36..52], &text[53..55]);
    let more = &text[LENGTH..];
    let length = match version {
        b"00" => more.is_empty(),
        _ => more.is_empty() || (more[0] == b'-' && more.iter().all(u8::is_ascii_graphic)),
    };
    let parts = [version, trace, span, flags];
    parts.into_iter().all(hex) && version != b"ff" && !zero(trace) && !zero(span) && length
}
