//! A collector on this machine, which speaks OTLP over HTTP in JSON, well or badly, and keeps what it is sent.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::program::Start;
use crate::server::{Request, read_request};

/// What it does with a request that it has read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Behaviour {
    /// Takes it.
    Accept,
    /// Does not even read it.
    Ignore,
    /// Never answers.
    Hang,
    /// Answers a byte a second.
    Drip,
    /// Answers with this status, and with all that it was sent as the text.
    Status(u16),
    /// Answers well, and does not stop.
    Endless,
}

/// A collector.
pub(crate) struct Collector {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Held where nobody accepts.
    _unheard: Option<TcpListener>,
}

impl Collector {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::default();
        let shared = Arc::clone(&requests);
        let mut unheard = None;
        if behaviour == Behaviour::Ignore {
            unheard = Some(listener);
        } else {
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let requests = Arc::clone(&shared);
                    thread::spawn(move || {
                        // The client may go away at any time.
                        let _ = talk(stream, behaviour, &requests);
                    });
                }
            });
        }
        Self {
            port,
            requests,
            _unheard: unheard,
        }
    }

    /// One that takes what comes.
    pub(crate) fn accepting() -> Self {
        Self::start(Behaviour::Accept)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What came so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The spans that came so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.requests();
        requests
            .iter()
            .flat_map(|request| spans(&request.body))
            .collect()
    }
}

/// A port that nobody listens at: it was this machine's a moment ago.
pub(crate) fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A program that sends what it records to this address, in JSON.
pub(crate) fn recorded(start: Start, url: &str) -> Start {
    start
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
}

fn talk(
    mut stream: TcpStream,
    behaviour: Behaviour,
    requests: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    while let Some(request) = read_request(&mut stream) {
        let text = request.body.to_string();
        requests.lock().unwrap().push(request);
        match behaviour {
            Behaviour::Ignore | Behaviour::Hang => loop {
                thread::park();
            },
            Behaviour::Drip => loop {
                stream.write_all(b"H")?;
                thread::sleep(Duration::from_secs(1));
            },
            Behaviour::Endless => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    stream.write_all(&[b'x'; 1024])?;
                }
            }
            Behaviour::Accept => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
                write!(stream, "{head}\r\ncontent-length: 2\r\n\r\n{{}}")?;
            }
            Behaviour::Status(status) => {
                let length = text.len();
                write!(
                    stream,
                    "HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{text}"
                )?;
            }
        }
    }
    Ok(())
}

/// A span, as it is sent and written.
#[derive(Clone, Debug)]
pub(crate) struct Span(pub(crate) Value);

impl Span {
    pub(crate) fn name(&self) -> &str {
        self.text("name")
    }

    pub(crate) fn id(&self) -> &str {
        self.text("spanId")
    }

    /// Empty if there is none.
    pub(crate) fn parent(&self) -> &str {
        self.text("parentSpanId")
    }

    pub(crate) fn trace(&self) -> &str {
        self.text("traceId")
    }

    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    fn start(&self) -> u128 {
        self.text("startTimeUnixNano").parse().unwrap()
    }

    /// The text of an attribute.
    pub(crate) fn attribute(&self, key: &str) -> Option<&str> {
        attribute(&self.0["attributes"], key)
    }
}

/// The text of an attribute of a list.
pub(crate) fn attribute<'v>(attributes: &'v Value, key: &str) -> Option<&'v str> {
    let mut all = attributes.as_array()?.iter();
    let found = all.find(|attribute| attribute["key"] == key)?;
    found["value"]["stringValue"].as_str()
}

/// The spans of a document.
pub(crate) fn spans(document: &Value) -> Vec<Span> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&document["resourceSpans"])
        .iter()
        .flat_map(|resource| list(&resource["scopeSpans"]))
        .flat_map(|scope| list(&scope["spans"]))
        .map(Span)
        .collect()
}

/// The only span of a name.
#[track_caller]
pub(crate) fn only<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let named = || spans.iter().filter(|span| span.name() == name);
    assert_eq!(named().count(), 1, "{name} in {:#?}", tree(spans));
    named().next().unwrap()
}

/// The names of spans, each below its parent's, in the order in which they began.
pub(crate) fn tree(spans: &[Span]) -> String {
    fn draw(all: &[&Span], parent: &str, depth: usize, drawn: &mut String) {
        for span in all.iter().filter(|span| span.parent() == parent) {
            drawn.push_str(&"  ".repeat(depth));
            drawn.push_str(span.name());
            if let Some(entry) = span.attribute("harness.session.entry") {
                drawn.extend([" (", entry, ")"]);
            }
            drawn.push('\n');
            draw(all, span.id(), depth + 1, drawn);
        }
    }
    let mut all: Vec<&Span> = spans.iter().collect();
    all.sort_by_key(|span| span.start());
    let mut drawn = String::new();
    draw(&all, "", 0, &mut drawn);
    assert_eq!(
        drawn.lines().count(),
        all.len(),
        "a parent is missing: {all:#?}"
    );
    drawn
}
