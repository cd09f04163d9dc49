//! The first line of a session's file.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::block_cache::read_up_to;
use crate::error::Error;
use crate::header::{Header, VERSION};
use crate::id::SessionId;
use crate::migration::Migrations;

/// The longest first line that is read.
const LONGEST: usize = 1024 * 1024;
const FIRST_READ: usize = 4 * 1024;
const KIND: &str = "session";

#[derive(Serialize)]
struct Written<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    header: &'a Header,
}

/// What all versions have.
#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "type")]
    kind: String,
    version: u32,
}

/// The first line of a session's file.
#[derive(Debug)]
pub(crate) struct HeaderLine {
    pub(crate) header: Header,
    /// The version that the file has.
    pub(crate) version: u32,
    /// Where the second line begins, if the first one has its end.
    pub(crate) end: u64,
    /// Whether the first line has its end.
    pub(crate) is_ended: bool,
}

/// A header as a line, with its end.
pub(crate) fn write(header: &Header) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(&Written { kind: KIND, header })?;
    line.push(b'\n');
    Ok(line)
}

/// Reads the first line of a session's file. One of an older version is brought up to date.
pub(crate) fn read(
    file: &File,
    path: &Path,
    id: SessionId,
    migrations: Migrations,
) -> Result<HeaderLine, Error> {
    let mut bytes = Vec::new();
    let mut length = FIRST_READ;
    loop {
        let start = bytes.len();
        bytes.resize(length, 0);
        let read = read_up_to(file, &mut bytes[start..], start as u64)
            .map_err(Error::io("cannot read", path))?;
        bytes.truncate(start + read);
        if memchr::memchr(b'\n', &bytes[start..]).is_some() || bytes.len() < length {
            return parse(&bytes, path, id, migrations);
        }
        if length >= LONGEST {
            return Err(invalid(
                path,
                format!("its first line has more than {LONGEST} bytes"),
            ));
        }
        length *= 4;
    }
}

/// Reads the first line of a session, of which this is the beginning.
pub(crate) fn parse(
    beginning: &[u8],
    path: &Path,
    id: SessionId,
    migrations: Migrations,
) -> Result<HeaderLine, Error> {
    let end = memchr::memchr(b'\n', beginning);
    let line = &beginning[..end.unwrap_or(beginning.len())];
    // Some editors put a byte order mark before it.
    let text = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if text.trim_ascii().is_empty() {
        return Err(invalid(path, "its first line is empty"));
    }
    let not_json = |error: serde_json::Error| invalid(path, format!("its first line: {error}"));
    let found: Versioned = serde_json::from_slice(text).map_err(not_json)?;
    if found.kind != KIND {
        let problem = format!("its first line is of the type `{}`", found.kind);
        return Err(invalid(path, problem));
    }
    if found.version > VERSION {
        return Err(Error::Newer {
            place: path.display().to_string(),
            version: found.version,
        });
    }
    let mut header: Header = if found.version == VERSION {
        serde_json::from_slice(text).map_err(not_json)?
    } else {
        let line = migrations
            .line(text, found.version)
            .map_err(|problem| invalid(path, problem))?;
        serde_json::from_slice(&line).map_err(not_json)?
    };
    header.version = VERSION;
    if header.id != id {
        let problem = format!("its first line says that it is the session {}", header.id);
        return Err(invalid(path, problem));
    }
    Ok(HeaderLine {
        header,
        version: found.version,
        end: line.len() as u64 + 1,
        is_ended: end.is_some(),
    })
}

fn invalid(path: &Path, problem: impl Into<String>) -> Error {
    Error::Invalid {
        place: path.display().to_string(),
        problem: problem.into(),
    }
}
