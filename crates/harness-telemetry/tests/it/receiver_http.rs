//! A collector that speaks HTTP, well or badly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::received::Received;

/// What it does with a request that it has read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behaviour {
    /// Takes it.
    Accept,
    /// Takes all but so many spans.
    Refuse(i64),
    /// Answers with this status, and with all that it was sent as the text.
    Status(u16),
    /// Answers like this so often, then takes what comes.
    StatusFirst(u16, usize),
    /// Is busy, and wants to be left alone for this many seconds.
    Busy(u64),
    /// Takes it, but not before it is released.
    Wait,
    /// Never answers.
    Hang,
    /// Answers a byte a second.
    Drip,
    /// Answers well, and does not stop.
    Endless,
}

/// A collector on a port of this machine.
pub(crate) struct HttpReceiver {
    pub(crate) address: SocketAddr,
    pub(crate) received: Received,
}

impl HttpReceiver {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        Self::serve(behaviour, Some)
    }

    /// One that speaks TLS, and the certificate to trust.
    pub(crate) fn start_tls() -> (Self, String) {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let receiver = Self::serve(Behaviour::Accept, move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(StreamOwned::new(connection, stream))
        });
        (receiver, own.cert.pem())
    }

    fn serve<S: Read + Write>(
        behaviour: Behaviour,
        wrap: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let received = Received::default();
        let (own, wrap) = (received.clone(), Arc::new(wrap));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (received, wrap) = (own.clone(), Arc::clone(&wrap));
                thread::spawn(move || {
                    if let Some(stream) = wrap(stream) {
                        // The client may go away at any time.
                        let _ = talk(stream, behaviour, &received);
                    }
                });
            }
        });
        Self { address, received }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn talk(
    stream: impl Read + Write,
    behaviour: Behaviour,
    received: &Received,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let head = head.to_ascii_lowercase();
        let value = |name: &str| {
            let mut lines = head.lines();
            lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
        };
        let length = value("content-length:").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        received.add_request(head.clone());
        let before = received.requests().len();
        let out = stream.get_mut();
        let status = match behaviour {
            Behaviour::Status(status) => Some(status),
            Behaviour::StatusFirst(status, times) => (before <= times).then_some(status),
            Behaviour::Busy(_) => Some(503),
            _ => None,
        };
        if let Some(status) = status {
            let length = head.len();
            write!(out, "HTTP/1.1 {status} No\r\n")?;
            if let Behaviour::Busy(seconds) = behaviour {
                write!(out, "retry-after: {seconds}\r\n")?;
            }
            write!(out, "content-length: {length}\r\n\r\n{head}")?;
            continue;
        }
        match behaviour {
            Behaviour::Wait => received.wait_for_release(),
            Behaviour::Hang => loop {
                thread::park();
            },
            Behaviour::Drip => loop {
                out.write_all(b"H")?;
                out.flush()?;
                thread::sleep(Duration::from_secs(1));
            },
            Behaviour::Endless => {
                write!(out, "HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    out.write_all(&[b'x'; 1024])?;
                }
            }
            _ => {}
        }
        let json = value("content-type:").unwrap() == "application/json";
        take(&head, json, &body, received);
        let refused = if let Behaviour::Refuse(spans) = behaviour {
            spans
        } else {
            0
        };
        let answer = ExportTraceServiceResponse {
            partial_success: Some(ExportTracePartialSuccess {
                rejected_spans: refused,
                error_message: "hush".to_owned(),
            }),
        };
        let answer = if json {
            serde_json::to_vec(&answer)?
        } else {
            answer.encode_to_vec()
        };
        write!(
            out,
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        )?;
        out.write_all(&answer)?;
        out.flush()?;
    }
}

fn take(head: &str, json: bool, body: &[u8], received: &Received) {
    if head.starts_with("post /v1/traces ") {
        received.add_spans(if json {
            serde_json::from_slice(body).unwrap()
        } else {
            ExportTraceServiceRequest::decode(body).unwrap()
        });
    } else if head.starts_with("post /v1/metrics ") {
        received.add_metrics(if json {
            serde_json::from_slice(body).unwrap()
        } else {
            ExportMetricsServiceRequest::decode(body).unwrap()
        });
    }
}
