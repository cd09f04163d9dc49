//! Server-sent events: bytes in any chunking to events. No I/O, no clock.
//!
//! Follows the parsing rules of the HTML standard (*9.2.6 Interpreting an event stream*), with
//! three differences that a client of language models needs:
//!
//! - what is not UTF-8 is an error, not a replacement character: it would end up in a conversation;
//! - lines and events have a size bound;
//! - [`Decoder::finish`] gives out a last event that no blank line ended. Some servers end so; the
//!   receiver has to decide whether that event is whole.
//!
//! `id` and `retry` serve reconnecting, which would repeat a request that costs money; they are read
//! and dropped.

use std::mem;

use memchr::{memchr, memchr2};

/// The most bytes of one line, and of the data of one event, unless told otherwise.
pub const MAX_LINE_BYTES: usize = 10_000_000;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The event's type; empty when the stream named none.
    pub name: &'a str,
    /// The data; several `data` lines are joined by line feeds.
    pub data: &'a str,
}

/// Why a stream could not be decoded. The decoder is of no use afterwards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line, or the data of one event, is longer than the bound.
    #[error("a line of the event stream is longer than {max_bytes} bytes")]
    TooLong {
        /// The bound.
        max_bytes: usize,
    },
    /// A line is not UTF-8.
    #[error("the event stream is not valid UTF-8")]
    NotUtf8,
}

/// Splits a byte stream into events, whatever the sizes of the chunks.
///
/// An event that lies in one chunk as one `data` line, as nearly all do, is handed out without being
/// copied.
///
/// ```
/// use harness_providers::sse::{DecodeError, Decoder};
///
/// let mut seen = Vec::new();
/// let mut decoder = Decoder::new();
/// for chunk in ["data: on", "e\n\ndata:two\r\n", "\r\n"] {
///     decoder.feed(chunk.as_bytes(), |event| {
///         seen.push(event.data.to_owned());
///         Ok::<_, DecodeError>(())
///     })?;
/// }
/// assert_eq!(seen, ["one", "two"]);
/// # Ok::<_, DecodeError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    max_bytes: usize,
    /// The start of a line whose end has not come.
    partial: Vec<u8>,
    /// The data of the event that is being read, as far as it had to be copied.
    data: Vec<u8>,
    has_data: bool,
    name: String,
    at_start: bool,
    /// The last chunk ended in CR: a LF at the start of the next one belongs to it.
    after_cr: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder at the start of a stream, with the bound [`MAX_LINE_BYTES`].
    pub fn new() -> Self {
        Self {
            max_bytes: MAX_LINE_BYTES,
            partial: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: String::new(),
            at_start: true,
            after_cr: false,
        }
    }

    /// Sets the most bytes of one line and of one event's data.
    pub fn max_line_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Takes in the next bytes and hands each event that they complete to `sink`.
    ///
    /// An error of the sink ends the call and is passed on.
    pub fn feed<E: From<DecodeError>>(
        &mut self,
        chunk: &[u8],
        mut sink: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // An empty chunk says nothing, not even what follows a CR.
        if chunk.is_empty() {
            return Ok(());
        }
        let mut rest = chunk;
        if mem::take(&mut self.after_cr)
            && let Some((b'\n', after)) = rest.split_first()
        {
            rest = after;
        }
        // The single data line of the event that is being read, while it still lies in `chunk`.
        let mut borrowed: Option<&[u8]> = None;
        while let Some(at) = line_end(rest, &mut self.after_cr) {
            let (line, after) = (&rest[..at.end], &rest[at.next..]);
            rest = after;
            if self.partial.is_empty() {
                self.check(line.len())?;
                self.line(line, &mut borrowed, &mut sink)?;
            } else {
                self.check(self.partial.len() + line.len())?;
                let mut whole = mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                // This line does not live in the chunk, so its data is copied at once.
                let mut own = None;
                self.spill(&mut borrowed)?;
                self.line(&whole, &mut own, &mut sink)?;
                self.spill(&mut own)?;
                whole.clear();
                self.partial = whole;
            }
        }
        self.spill(&mut borrowed)?;
        self.check(self.partial.len() + rest.len())?;
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the stream: a last line without its end is read, a last event without its blank line is
    /// handed out.
    pub fn finish<E: From<DecodeError>>(
        &mut self,
        mut sink: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = mem::take(&mut self.partial);
        let mut own = None;
        if !line.is_empty() {
            self.line(&line, &mut own, &mut sink)?;
        }
        self.spill(&mut own)?;
        self.line(b"", &mut None, &mut sink)
    }

    fn check(&self, bytes: usize) -> Result<(), DecodeError> {
        if bytes > self.max_bytes {
            return Err(DecodeError::TooLong {
                max_bytes: self.max_bytes,
            });
        }
        Ok(())
    }

    fn line<'c, E: From<DecodeError>>(
        &mut self,
        line: &'c [u8],
        borrowed: &mut Option<&'c [u8]>,
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if mem::take(&mut self.at_start) {
            line.strip_prefix(BOM).unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            return self.dispatch(borrowed, sink);
        }
        if line[0] == b':' {
            return Ok(());
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                if !self.has_data && borrowed.is_none() {
                    *borrowed = Some(value);
                } else {
                    self.spill(borrowed)?;
                    self.append(value)?;
                }
            }
            b"event" => {
                let name = str::from_utf8(value).map_err(|_| DecodeError::NotUtf8)?;
                self.name.clear();
                self.name.push_str(name);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E: From<DecodeError>>(
        &mut self,
        borrowed: &mut Option<&[u8]>,
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let result = if let Some(data) = borrowed.take() {
            text(data).map_err(E::from).and_then(|data| {
                sink(Event {
                    name: &self.name,
                    data,
                })
            })
        } else if mem::take(&mut self.has_data) {
            text(&self.data).map_err(E::from).and_then(|data| {
                sink(Event {
                    name: &self.name,
                    data,
                })
            })
        } else {
            Ok(())
        };
        self.data.clear();
        self.name.clear();
        result
    }

    /// Copies a data line that would outlive its chunk.
    fn spill(&mut self, borrowed: &mut Option<&[u8]>) -> Result<(), DecodeError> {
        match borrowed.take() {
            Some(value) => self.append(value),
            None => Ok(()),
        }
    }

    fn append(&mut self, value: &[u8]) -> Result<(), DecodeError> {
        if self.has_data {
            self.check(self.data.len() + 1 + value.len())?;
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }
}

struct LineEnd {
    end: usize,
    next: usize,
}

fn line_end(bytes: &[u8], after_cr: &mut bool) -> Option<LineEnd> {
    let end = memchr2(b'\n', b'\r', bytes)?;
    let mut next = end + 1;
    if bytes[end] == b'\r' {
        match bytes.get(next) {
            Some(b'\n') => next += 1,
            Some(_) => {}
            None => *after_cr = true,
        }
    }
    Some(LineEnd { end, next })
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8)
}
