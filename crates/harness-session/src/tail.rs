//! The end of a session's file, as a crash may have left it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::block_cache::read_up_to;
use crate::error::Error;
use crate::lines::{LONGEST, Line};
use crate::replacement::copy_range;
use crate::scan::{self, Read};
use crate::session_files::{SessionFiles, sync_folder};

const CHUNK: usize = 64 * 1024;

/// What was done to the end of a file.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// The file's size now.
    pub(crate) size: u64,
    /// What a person should know.
    pub(crate) warning: Option<String>,
    /// Where what was cut off is kept.
    pub(crate) torn: Option<std::path::PathBuf>,
}

/// Makes the file end with a whole line. What is no whole line is set aside and cut off; what only lacks
/// its end gets it. `start` is where the second line begins.
pub(crate) fn mend(
    files: &SessionFiles,
    file: &File,
    size: u64,
    start: u64,
    is_durable: bool,
) -> Result<Mended, Error> {
    let path = files.session();
    let read = |error| Error::io("cannot read", &path)(error);
    let whole = Mended {
        size,
        ..Mended::default()
    };
    if size <= start {
        return Ok(whole);
    }
    let mut torn = last_line(file, start, size).map_err(read)?;
    if torn == size {
        // A run of NULs is what lost power leaves, whatever stands behind it.
        let previous = last_line(file, start, size - 1).map_err(read)?;
        let mut first = [0];
        let begins = read_up_to(file, &mut first, previous).map_err(read)?;
        if begins == 0 || first != [0] || !is_null(file, previous, size - 1).map_err(read)? {
            return Ok(whole);
        }
        torn = previous;
    } else if size - torn <= LONGEST as u64 {
        let mut bytes = vec![0; (size - torn) as usize];
        let count = read_up_to(file, &mut bytes, torn).map_err(read)?;
        bytes.truncate(count);
        let line = Line {
            offset: torn,
            bytes: &bytes,
            end: size,
            is_ended: false,
            is_too_long: false,
        };
        if matches!(scan::read(&line), Read::Entry(..)) {
            file.write_all_at(b"\n", size)
                .map_err(Error::io("cannot write", &path))?;
            return Ok(Mended {
                size: size + 1,
                warning: Some("the last line of the session had no end; it was given one".into()),
                torn: None,
            });
        }
    }
    let (kept, mut copy) = files.create_numbered("torn")?;
    copy_range(file, torn, size, &mut copy).map_err(Error::io("cannot write", &kept))?;
    if is_durable {
        copy.sync_all()
            .map_err(Error::io("cannot make durable", &kept))?;
        sync_folder(&files.folder)?;
    }
    file.set_len(torn).map_err(Error::io("cannot cut", &path))?;
    if is_durable {
        file.sync_all()
            .map_err(Error::io("cannot make durable", &path))?;
    }
    let bytes = size - torn;
    Ok(Mended {
        size: torn,
        warning: Some(format!(
            "the last line of the session was cut short by a crash; its {bytes} bytes are kept in {}",
            kept.display()
        )),
        torn: Some(kept),
    })
}

/// Where the last line of a part of a file begins; at its end, if it ends with a line's end.
fn last_line(file: &File, start: u64, end: u64) -> io::Result<u64> {
    let mut buffer = vec![0; CHUNK];
    let mut end = end;
    while end > start {
        let from = end.saturating_sub(CHUNK as u64).max(start);
        let part = &mut buffer[..(end - from) as usize];
        let read = read_up_to(file, part, from)?;
        if let Some(at) = memchr::memrchr(b'\n', &part[..read]) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(start)
}

fn is_null(file: &File, start: u64, end: u64) -> io::Result<bool> {
    let mut buffer = vec![0; CHUNK];
    let mut at = start;
    while at < end {
        let wanted = (end - at).min(CHUNK as u64) as usize;
        let read = read_up_to(file, &mut buffer[..wanted], at)?;
        if read == 0 || buffer[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        at += read as u64;
    }
    Ok(true)
}
