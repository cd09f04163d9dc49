//! A collector of telemetry that takes all that comes, and counts it.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::bench::request::Requests;

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\n\
    Content-Type: application/x-protobuf\r\n\
    Content-Length: 0\r\n\r\n";

/// Listens on a port of the loopback interface for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Collector {
    port: u16,
    bytes: Arc<AtomicUsize>,
}

impl Collector {
    pub(crate) fn start() -> io::Result<Collector> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let bytes = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&bytes);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bytes = Arc::clone(&counted);
                // A connection that fails is the client's to report.
                thread::spawn(move || serve(&stream, &bytes));
            }
        });
        Ok(Collector { port, bytes })
    }

    /// Its address.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The bytes of spans that came since this was asked last.
    pub(crate) fn take_bytes(&self) -> usize {
        self.bytes.swap(0, Ordering::Relaxed)
    }
}

fn serve(mut stream: &TcpStream, bytes: &AtomicUsize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut requests = Requests::new(stream);
    while let Some(request) = requests.read_next()? {
        if request.path() == "/v1/traces" {
            bytes.fetch_add(request.body().len(), Ordering::Relaxed);
        }
        stream.write_all(TAKEN)?;
    }
    Ok(())
}
