//! A service that answers with exactly the bytes that a test gives it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// A request, as it was read from the socket.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `POST /v1/chat/completions HTTP/1.1`
    pub(crate) line: String,
    /// Lines of headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The number of the connection that it came on, from 0.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// These writes, one after the other, then the end of the connection.
    Raw(Vec<Vec<u8>>),
    /// These writes, then silence until the client goes away.
    Stall(Vec<Vec<u8>>),
    /// One write; the connection stays for the next request.
    Keep(Vec<u8>),
}

impl Answer {
    /// A stream of events, in good order to its end.
    pub(crate) fn events(events: &str) -> Self {
        Self::Raw(vec![head("text/event-stream"), events.as_bytes().to_vec()])
    }

    /// A stream of events, written in pieces of `size` bytes.
    pub(crate) fn pieces(events: &str, size: usize) -> Self {
        let mut writes = vec![head("text/event-stream")];
        writes.extend(events.as_bytes().chunks(size).map(<[u8]>::to_vec));
        Self::Raw(writes)
    }

    pub(crate) fn document(content_type: &str, body: &str) -> Self {
        Self::Raw(vec![head(content_type), body.as_bytes().to_vec()])
    }

    pub(crate) fn status(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status} Some Reason\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        Self::Raw(vec![text.into_bytes()])
    }

    /// Events in one HTTP chunk, framed so that the connection can be used again.
    pub(crate) fn kept(events: &str) -> Self {
        let length = events.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: \
             chunked\r\n\r\n{length:x}\r\n{events}\r\n0\r\n\r\n"
        );
        Self::Keep(text.into_bytes())
    }
}

fn head(content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

/// A service on this machine. Its answers are given out in order, whatever the connection.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(answers.into_iter()));
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (answers, log) = (Arc::clone(&answers), Arc::clone(&log));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    while let Some(seen) = read_request(&mut stream, connection) {
                        log.lock().unwrap().push(seen);
                        let answer = answers.lock().unwrap().next();
                        match answer {
                            Some(Answer::Raw(writes)) => {
                                write_all(&mut stream, &writes);
                                return;
                            }
                            Some(Answer::Stall(writes)) => {
                                write_all(&mut stream, &writes);
                                let _ = stream.read(&mut [0; 1]);
                                return;
                            }
                            Some(Answer::Keep(bytes)) => {
                                let _ = stream.write_all(&bytes);
                            }
                            None => return,
                        }
                    }
                });
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn write_all(stream: &mut TcpStream, writes: &[Vec<u8>]) {
    for bytes in writes {
        if stream.write_all(bytes).is_err() {
            return;
        }
    }
}

/// Reads one request; `None` when the client is gone.
pub(crate) fn read_request(stream: &mut impl Read, connection: usize) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < head_end + length {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let body = String::from_utf8(bytes[head_end..].to_vec()).unwrap();
    Some(Seen {
        line,
        headers,
        body,
        connection,
    })
}
