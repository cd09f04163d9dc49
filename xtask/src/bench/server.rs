//! The local model server: plays a script to whoever connects, and notes when each byte came.

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::bench::request::{Request, Requests};
use crate::bench::script::Script;

const NOT_IN_THE_SCRIPT: &[u8] = b"HTTP/1.1 404 Not Found\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 57\r\n\r\n\
    {\"error\":{\"message\":\"the benchmark has no answer to it\"}}";

/// One request and its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Which connection it came over, counted from the start of the server.
    pub(crate) connection: usize,
    pub(crate) accepted: Instant,
    pub(crate) first_byte: Instant,
    pub(crate) last_byte: Instant,
    /// Just before the last write of the answer. Just after it the client may already be at work.
    pub(crate) answered: Instant,
    /// The request as it came, where it is to be kept.
    pub(crate) request: Option<Request>,
}

/// Whether the requests themselves are kept, or their times alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keep {
    #[default]
    Times,
    Requests,
}

/// Listens on a port of the loopback interface for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    stage: Arc<Mutex<Stage>>,
}

/// What is being played, and what has been.
#[derive(Debug, Default)]
struct Stage {
    script: Option<Arc<Script>>,
    keep: Keep,
    exchanges: Vec<Exchange>,
    /// Requests that the script has no answer to, by path.
    strays: Vec<String>,
}

impl Server {
    pub(crate) fn start() -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let stage = Arc::<Mutex<Stage>>::default();
        let shared = Arc::clone(&stage);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let accepted = Instant::now();
                let stage = Arc::clone(&shared);
                // A connection that fails is the client's to report.
                let Ok(stream) = stream else { continue };
                thread::spawn(move || serve(&stream, connection, accepted, &stage));
            }
        });
        Ok(Server { port, stage })
    }

    /// Plays `script` from its beginning, from the next request on.
    pub(crate) fn play(&self, script: &Arc<Script>, keep: Keep) {
        *lock(&self.stage) = Stage {
            script: Some(Arc::clone(script)),
            keep,
            exchanges: Vec::with_capacity(script.answers.len()),
            strays: Vec::new(),
        };
    }

    /// The exchanges since the script began; an error when the client asked for something else.
    pub(crate) fn take(&self) -> Result<Vec<Exchange>, String> {
        let stage = std::mem::take(&mut *lock(&self.stage));
        match stage.strays.first() {
            None => Ok(stage.exchanges),
            Some(path) => Err(format!(
                "{} request(s) that the script does not answer, the first for {path}",
                stage.strays.len()
            )),
        }
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one connection until the client leaves.
fn serve(
    mut stream: &TcpStream,
    connection: usize,
    accepted: Instant,
    stage: &Mutex<Stage>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut requests = Requests::new(stream);
    while let Some(request) = requests.read_next()? {
        let Some((script, turn)) = enter(stage, connection, accepted, request) else {
            stream.write_all(NOT_IN_THE_SCRIPT)?;
            continue;
        };
        let Some((last, blocks)) = script.answers[turn].blocks.split_last() else {
            return Err(ErrorKind::InvalidInput.into());
        };
        if !script.pause.is_zero() {
            thread::sleep(script.pause);
        }
        for block in blocks {
            stream.write_all(block)?;
        }
        if let Some(exchange) = lock(stage).exchanges.get_mut(turn) {
            exchange.answered = Instant::now();
        }
        stream.write_all(last)?;
    }
    Ok(())
}

/// Notes the request; the script and the place in it of the answer, if it has one.
fn enter(
    stage: &Mutex<Stage>,
    connection: usize,
    accepted: Instant,
    request: Request,
) -> Option<(Arc<Script>, usize)> {
    let mut stage = lock(stage);
    let turn = stage.exchanges.len();
    let path = request.path();
    let script = stage
        .script
        .clone()
        .filter(|script| path.ends_with("/chat/completions") && turn < script.answers.len());
    let Some(script) = script else {
        stage.strays.push(path.to_owned());
        return None;
    };
    stage.exchanges.push(Exchange {
        connection,
        accepted,
        first_byte: request.first,
        last_byte: request.last,
        answered: request.last,
        request: None,
    });
    if stage.keep == Keep::Requests {
        stage.exchanges[turn].request = Some(request);
    }
    Some((script, turn))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Arc;

    use super::{Keep, Server};
    use crate::bench::script::Script;

    fn ask(stream: &mut TcpStream, path: &str, body: &str, length: usize) -> String {
        let head = format!(
            "POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn plays_a_script_over_one_connection() {
        let server = Server::start().unwrap();
        let script = Arc::new(Script::reads("reads", 2));
        server.play(&script, Keep::Requests);
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        for (turn, expected) in script.answers.iter().enumerate() {
            let expected = expected.blocks.concat();
            let body = format!("body {turn}");
            let answer = ask(&mut stream, "/v1/chat/completions", &body, expected.len());
            assert_eq!(answer.as_bytes(), expected);
        }
        let exchanges = server.take().unwrap();
        assert_eq!(exchanges.len(), 3);
        for (turn, exchange) in exchanges.iter().enumerate() {
            let request = exchange.request.as_ref().unwrap();
            assert_eq!(request.body(), format!("body {turn}").as_bytes());
            assert_eq!(exchange.connection, 0);
            assert!(exchange.accepted <= exchange.first_byte);
            assert!(exchange.first_byte <= exchange.last_byte);
            assert!(exchange.last_byte <= exchange.answered);
        }
        assert!(
            exchanges
                .windows(2)
                .all(|it| it[0].answered <= it[1].first_byte)
        );
    }

    #[test]
    fn tells_of_requests_that_are_not_in_the_script() {
        let server = Server::start().unwrap();
        let script = Arc::new(Script::hi());
        server.play(&script, Keep::Times);
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let refused = super::NOT_IN_THE_SCRIPT.len();
        let answer = ask(&mut stream, "/v1/models", "", refused);
        assert!(answer.starts_with("HTTP/1.1 404 "));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        assert!(server.take().unwrap_err().ends_with("for /v1/models"));
    }
}
