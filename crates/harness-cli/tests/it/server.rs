//! A service of models on this machine, which answers by a list and looks at what it is sent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::program::wait_until;
use crate::wire::{Reply, Wire};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let known = self.headers.iter().find(|(known, _)| known == name);
        known.map(|(_, value)| value.as_str())
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A stream of events, in good order to its end.
    Stream(String),
    /// The beginning of a stream; then the connection is closed.
    Cut(String),
    /// The beginning of a stream; then silence until the client goes away.
    Hang(String),
    /// The beginning of a stream, then one piece of it again and again.
    Endless(String, String),
    /// A status with headers (each ended by a line break) and a body.
    Status(u16, String, String),
    /// A document of a content type, with status 200.
    Document(&'static str, String),
    /// Nothing: the connection is closed.
    Close,
}

impl Answer {
    pub(crate) fn reply(wire: Wire, reply: &Reply) -> Self {
        Self::Stream(wire.stream(reply))
    }

    /// A final answer over Chat Completions.
    pub(crate) fn says(text: &str) -> Self {
        Self::reply(Wire::Chat, &Reply::says(text))
    }

    /// A refusal that does not want to be waited for.
    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self::Status(status, "retry-after: 0\r\n".to_owned(), body.to_owned())
    }
}

/// The service. When it is dropped it checks that no request was wrong.
pub(crate) struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    answers: std::vec::IntoIter<Answer>,
    /// The answer to what comes after the list.
    rest: Option<Answer>,
    requests: Vec<Request>,
    problems: Vec<String>,
}

impl Server {
    /// Answers by the list; a request beyond it is a problem.
    pub(crate) fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(answers.into_iter().collect(), None)
    }

    /// Gives one answer for ever.
    pub(crate) fn repeating(answer: Answer) -> Self {
        Self::with(Vec::new(), Some(answer))
    }

    /// These replies of one protocol.
    pub(crate) fn replies(wire: Wire, replies: &[Reply]) -> Self {
        Self::start(replies.iter().map(|reply| Answer::reply(wire, reply)))
    }

    fn with(answers: Vec<Answer>, rest: Option<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            answers: answers.into_iter(),
            rest,
            requests: Vec::new(),
            problems: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The only request.
    #[track_caller]
    pub(crate) fn request(&self) -> Request {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:#?}");
        requests[0].clone()
    }

    /// Waits until so many requests came.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) {
        wait_until("requests", || self.requests().len() >= count);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !thread::panicking() {
            let problems = &self.state.lock().unwrap().problems;
            assert!(problems.is_empty(), "{problems:#?}");
        }
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    stream.set_nodelay(true).unwrap();
    while let Some(request) = read_request(&mut stream) {
        let answer = {
            let mut state = state.lock().unwrap();
            if let Err(problem) = check(&request) {
                let number = state.requests.len();
                let problem = format!("request {number}: {problem}: {:#}", request.body);
                state.problems.push(problem);
            }
            state.requests.push(request);
            state.answers.next().or_else(|| state.rest.clone())
        };
        let Some(answer) = answer else {
            let problem = "more requests came than there are answers".to_owned();
            state.lock().unwrap().problems.push(problem);
            return;
        };
        if !write_answer(&mut stream, &answer) {
            return;
        }
    }
}

/// What is wrong with a request, whatever the test is about.
fn check(request: &Request) -> Result<(), String> {
    let wire = Wire::ALL
        .into_iter()
        .find(|wire| request.path == wire.path())
        .ok_or_else(|| format!("nothing is at {}", request.path))?;
    if request.method != "POST" {
        return Err(format!("{} instead of POST", request.method));
    }
    wire.check(&request.body)
}

/// Writes an answer. True if the connection can be used again.
fn write_answer(stream: &mut TcpStream, answer: &Answer) -> bool {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let begin = |text: &str| match text {
        "" => head.to_owned(),
        text => format!("{head}{}", chunk(text)),
    };
    let mut write = |text: String| stream.write_all(text.as_bytes()).is_ok();
    match answer {
        Answer::Stream(events) => {
            // Each event in a write of its own, as services send them.
            let mut written = write(head.to_owned());
            for event in events.split_inclusive("\n\n") {
                written = written && write(chunk(event));
            }
            written && write("0\r\n\r\n".to_owned())
        }
        Answer::Cut(events) => {
            write(begin(events));
            false
        }
        Answer::Hang(events) => {
            write(begin(events));
            let _ = stream.read(&mut [0; 1]);
            false
        }
        Answer::Endless(events, piece) => {
            let mut goes_on = write(begin(events));
            let piece = chunk(piece);
            while goes_on {
                goes_on = write(piece.clone());
            }
            false
        }
        Answer::Status(status, headers, body) => write(format!(
            "HTTP/1.1 {status} Some Reason\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )),
        Answer::Document(kind, body) => write(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )),
        Answer::Close => false,
    }
}

/// Reads one request; `None` when the client is gone.
pub(crate) fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    let mut more = |bytes: &mut Vec<u8>| match stream.read(&mut buffer) {
        Ok(0) | Err(_) => None,
        Ok(count) => {
            bytes.extend_from_slice(&buffer[..count]);
            Some(())
        }
    };
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        more(&mut bytes)?;
    };
    let at = Instant::now();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut line = lines.next()?.split(' ').map(str::to_owned);
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < end + length {
        more(&mut bytes)?;
    }
    Some(Request {
        method: line.next()?,
        path: line.next()?,
        headers,
        body: serde_json::from_slice(&bytes[end..end + length]).unwrap_or(Value::Null),
        at,
    })
}
