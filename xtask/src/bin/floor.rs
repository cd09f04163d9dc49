//! The floor that `cargo xtask bench` measures against: a bare client that sends recorded requests
//! over one connection and reads the answers without looking at them.
//!
//! `floor PORT FILE` sends each request of FILE to that port of this machine, and waits for the end
//! of each answer before it sends the next. It has no dependency and does nothing else, so what a
//! client costs beyond it is the client's own.
//!
//! FILE holds each request as it went over the wire, head included, behind its length: eight bytes,
//! the lowest first.

use std::env;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::ExitCode;

/// How a chunked answer ends. The server writes no chunk whose content could be taken for it.
const END: &[u8] = b"\r\n0\r\n\r\n";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [port, file] = arguments.as_slice() else {
        return ExitCode::from(2);
    };
    match port.parse().map(|port| replay(port, file)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(_)) => ExitCode::FAILURE,
        Err(_) => ExitCode::from(2),
    }
}

fn replay(port: u16, file: &str) -> io::Result<()> {
    let mut recording = BufReader::new(File::open(file)?);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    let mut answer = vec![0; 64 * 1024];
    while load_next(&mut recording, &mut request)? {
        stream.write_all(&request)?;
        read_answer(&mut stream, &mut answer)?;
    }
    Ok(())
}

/// Replaces `request` by the next one of the recording; false at its end.
fn load_next(recording: &mut impl Read, request: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 8];
    match recording.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
    request.resize(length, 0);
    recording.read_exact(request)?;
    Ok(true)
}

/// Reads up to the end of one answer. The end may arrive in pieces, so the last bytes of each read
/// stay at the front of the buffer.
fn read_answer(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    let mut kept = 0;
    loop {
        let read = stream.read(&mut buffer[kept..])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let filled = kept + read;
        if buffer[..filled].ends_with(END) {
            return Ok(());
        }
        kept = filled.min(END.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::{self, Read};

    use super::{load_next, read_answer};

    /// A connection that gives one piece a read.
    struct Pieces(VecDeque<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn an_answer_ends_where_its_last_chunk_does() {
        let check = |pieces: &[&'static [u8]], left: usize, is_whole: bool| {
            let mut stream = Pieces(pieces.iter().copied().collect());
            let read = read_answer(&mut stream, &mut [0; 64]);
            assert_eq!((stream.0.len(), read.is_ok()), (left, is_whole));
        };
        check(&[b"HTTP/1.1 200 OK\r\n\r\n1\r\nx\r\n0\r\n\r\n"], 0, true);
        check(&[b"1\r\nx\r", b"\n", b"0\r\n\r", b"\n", b"next"], 1, true);
        check(&[b"1\r\nx\r\n", b"0\r\n"], 0, false);
        check(&[], 0, false);
    }

    #[test]
    fn requests_are_loaded_one_by_one() {
        let mut recording = &b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0c"[..];
        let mut request = Vec::new();
        let mut loaded = Vec::new();
        while load_next(&mut recording, &mut request).unwrap() {
            loaded.push(request.clone());
        }
        assert_eq!(loaded, [b"ab".to_vec(), b"c".to_vec()]);
        assert!(load_next(&mut &b"\x02\0\0\0\0\0\0\0a"[..], &mut request).is_err());
    }
}
