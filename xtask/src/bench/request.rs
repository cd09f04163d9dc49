//! Where one HTTP request ends in the bytes of a connection, and what its body says.
//!
//! Enough of HTTP/1.1 for a client that is measured: bodies with a length or in chunks, in any
//! pieces. What it cannot read it refuses.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::time::Instant;

const MAX_HEAD: usize = 64 * 1024;
const MAX_REQUEST: usize = 64 * 1024 * 1024;

/// One request, and the instants at which its first and its last byte were here.
#[derive(Debug)]
pub(crate) struct Request {
    /// As it went over the wire, head and framing included.
    pub(crate) bytes: Vec<u8>,
    body: Vec<Range<usize>>,
    pub(crate) first: Instant,
    pub(crate) last: Instant,
}

impl Request {
    /// The path of the request line.
    pub(crate) fn path(&self) -> &str {
        let line = self.bytes.split(|&byte| byte == b'\r').next();
        let line = str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
        line.split(' ').nth(1).unwrap_or_default()
    }

    /// The body without its framing.
    pub(crate) fn body(&self) -> Vec<u8> {
        let parts = self.body.iter();
        parts
            .flat_map(|part| &self.bytes[part.clone()])
            .copied()
            .collect()
    }
}

/// Reads requests off a connection, one after another.
#[derive(Debug)]
pub(crate) struct Requests<S> {
    source: S,
    piece: Vec<u8>,
    /// What was read beyond the last request.
    rest: Vec<u8>,
}

impl<S: Read> Requests<S> {
    pub(crate) fn new(source: S) -> Requests<S> {
        Requests {
            source,
            piece: vec![0; 256 * 1024],
            rest: Vec::new(),
        }
    }

    /// The next request, whole; `None` when the client has gone between two requests.
    pub(crate) fn read_next(&mut self) -> io::Result<Option<Request>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut first = (!bytes.is_empty()).then(Instant::now);
        loop {
            if let Some(frame) = find_end(&bytes).map_err(io::Error::other)? {
                let last = Instant::now();
                self.rest = bytes.split_off(frame.end);
                return Ok(Some(Request {
                    bytes,
                    body: frame.body,
                    first: first.unwrap_or(last),
                    last,
                }));
            }
            let read = self.source.read(&mut self.piece)?;
            first.get_or_insert_with(Instant::now);
            if read == 0 {
                return if bytes.is_empty() {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
            bytes.extend_from_slice(&self.piece[..read]);
        }
    }
}

/// A whole request at the front of some bytes.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    /// The body's parts: one, or one a chunk.
    body: Vec<Range<usize>>,
    end: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an HTTP request that this server reads: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Where the request ends that `bytes` begin with, or `None` when that is still to come.
fn find_end(bytes: &[u8]) -> Result<Option<Frame>, Malformed> {
    if bytes.len() > MAX_REQUEST {
        return Err(Malformed("too long"));
    }
    let searched = &bytes[..bytes.len().min(MAX_HEAD)];
    let Some(head) = searched.windows(4).position(|it| it == b"\r\n\r\n") else {
        return if searched.len() < MAX_HEAD {
            Ok(None)
        } else {
            Err(Malformed("a head without end"))
        };
    };
    let body = head + 4;
    let head = str::from_utf8(&bytes[..head]).map_err(|_| Malformed("a head that is not text"))?;
    if let Some(coding) = field(head, "transfer-encoding") {
        return if coding.eq_ignore_ascii_case("chunked") {
            find_last_chunk(bytes, body)
        } else {
            Err(Malformed("an unknown transfer coding"))
        };
    }
    let length = match field(head, "content-length") {
        Some(length) => length
            .parse::<usize>()
            .ok()
            .filter(|length| *length <= MAX_REQUEST)
            .ok_or(Malformed("a wrong length"))?,
        None => 0,
    };
    let end = body + length;
    Ok((bytes.len() >= end).then(|| Frame {
        body: std::iter::once(body..end).collect(),
        end,
    }))
}

/// The value of a header field.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn find_last_chunk(bytes: &[u8], mut at: usize) -> Result<Option<Frame>, Malformed> {
    let mut body = Vec::new();
    loop {
        let Some(line) = line_at(bytes, at) else {
            return Ok(None);
        };
        // After `;` stands an extension, which means nothing here.
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16)
            .ok()
            .filter(|size| *size <= MAX_REQUEST)
            .ok_or(Malformed("a wrong chunk size"))?;
        at += line.len() + 2;
        if size == 0 {
            break;
        }
        body.push(at..at + size);
        at += size + 2;
        if bytes.len() < at {
            return Ok(None);
        }
        if !bytes[..at].ends_with(b"\r\n") {
            return Err(Malformed("a chunk longer than its size"));
        }
    }
    // Trailers, up to an empty line.
    loop {
        let Some(line) = line_at(bytes, at) else {
            return Ok(None);
        };
        at += line.len() + 2;
        if line.is_empty() {
            return Ok(Some(Frame { body, end: at }));
        }
    }
}

/// The line that begins at `at`, if it is all here.
fn line_at(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let length = rest.windows(2).position(|it| it == b"\r\n")?;
    // What is no text is no size either, and is refused as such.
    Some(str::from_utf8(&rest[..length]).unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::ops::Range;

    use super::{Malformed, Requests, find_end};

    /// A connection that gives at most `step` bytes a read.
    struct Slow<'a> {
        bytes: &'a [u8],
        step: usize,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.step.min(buffer.len());
            (&mut self.bytes).take(length as u64).read(buffer)
        }
    }

    const TWO: &[u8] = b"POST /v1/a HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\nhello\
        POST /v1/b HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n\
        3\r\nabc\r\n00B;ext=1\r\n0123456789\n\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn any_pieces_give_the_same_requests() {
        for step in 1..=TWO.len() {
            let mut requests = Requests::new(Slow { bytes: TWO, step });
            let mut read = Vec::new();
            let mut wire = Vec::new();
            while let Some(request) = requests.read_next().unwrap() {
                assert!(request.first <= request.last);
                let body = String::from_utf8(request.body()).unwrap();
                read.push(format!("{} {body:?}", request.path()));
                wire.extend(request.bytes);
            }
            assert_eq!(
                read,
                ["/v1/a \"hello\"", "/v1/b \"abc0123456789\\n\""],
                "{step} bytes a read"
            );
            assert_eq!(wire, TWO);
        }
    }

    #[test]
    fn a_client_may_leave_between_two_requests_and_nowhere_else() {
        let second = b"POST /v1/b";
        let between = TWO.windows(second.len()).position(|it| it == second);
        let between = between.unwrap();
        for length in 0..=TWO.len() {
            let mut requests = Requests::new(&TWO[..length]);
            let mut read = requests.read_next();
            while let Ok(Some(_)) = read {
                read = requests.read_next();
            }
            let is_fine = [0, between, TWO.len()].contains(&length);
            assert_eq!(read.is_ok(), is_fine, "{length} bytes");
        }
    }

    #[test]
    fn a_request_without_body_ends_with_its_head() {
        let request = find_end(b"GET /v1/models HTTP/1.1\r\n\r\n")
            .unwrap()
            .unwrap();
        assert_eq!(request.end, 27);
        assert!(request.body.iter().all(Range::is_empty));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let refused = |bytes: &[u8]| find_end(bytes).unwrap_err();
        let with = |rest: &str| refused(format!("POST / HTTP/1.1\r\n{rest}").as_bytes());
        assert_eq!(
            with("Content-Length: -1\r\n\r\n"),
            Malformed("a wrong length")
        );
        assert_eq!(
            with("Content-Length: 99999999999\r\n\r\n"),
            Malformed("a wrong length")
        );
        assert_eq!(
            with("Transfer-Encoding: gzip\r\n\r\n"),
            Malformed("an unknown transfer coding")
        );
        let chunked = "Transfer-Encoding: chunked\r\n\r\n";
        assert_eq!(
            with(&format!("{chunked}xyz\r\n")),
            Malformed("a wrong chunk size")
        );
        assert_eq!(
            with(&format!("{chunked}1\r\nabcd")),
            Malformed("a chunk longer than its size")
        );
        assert_eq!(
            refused(&vec![b'x'; super::MAX_HEAD]),
            Malformed("a head without end")
        );
    }
}
