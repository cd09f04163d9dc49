//! Putting another file in a session's place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::error::Error;
use crate::file_lock::SessionFile;
use crate::session_files::{SessionFiles, create_private, sync_folder};

/// Keeps what a session's file is now under another name, writes a new one, and puts that in its place.
/// At each moment, the session's name is that of a whole file. Gives the new file, locked, and the name
/// of what was kept.
///
/// `ending` is what the name of what is kept ends with.
pub(crate) fn replace(
    files: &SessionFiles,
    old: &File,
    ending: &str,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> Result<(SessionFile, PathBuf), Error> {
    let new_path = files.new_session();
    let backup = keep(files, old, ending)?;
    match fs::remove_file(&new_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("cannot delete", new_path)(error));
        }
        _ => {}
    }
    let new = create_private(&new_path).map_err(Error::io("cannot create", &new_path))?;
    let written = (|| {
        // Whoever opens the session from now on finds it locked, be it the old file or the new one.
        let new = SessionFile::locked(new, files.id, &new_path)?;
        let mut writer = BufWriter::with_capacity(256 * 1024, &*new);
        write(&mut writer)?;
        writer
            .flush()
            .and_then(|()| new.sync_all())
            .and_then(|()| fs::rename(&new_path, files.session()))
            .map_err(Error::io("cannot write", &new_path))?;
        drop(writer);
        Ok(new)
    })();
    let new = written.inspect_err(|_: &Error| {
        // What was kept is the session itself by another name, and no longer needed.
        let _ = fs::remove_file(&new_path);
        let _ = fs::remove_file(&backup);
    })?;
    let _ = fs::remove_file(files.index());
    sync_folder(&files.folder)?;
    Ok((new, backup))
}

/// Gives a session's file a second name, or copies it where the file system has no second names.
fn keep(files: &SessionFiles, old: &File, ending: &str) -> Result<PathBuf, Error> {
    let session = files.session();
    let mut number = 1_u32;
    loop {
        let backup = match number {
            1 => files.beside(ending),
            _ => files.beside(&format!("{ending}-{number}")),
        };
        match fs::hard_link(&session, &backup) {
            Ok(()) => {
                sync_folder(&files.folder)?;
                return Ok(backup);
            }
            // It may be what an attempt kept that was cut short.
            Err(_) if is_same(old, &backup) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => {
                number += 1;
            }
            Err(_) => {
                copy(old, &backup).map_err(Error::io("cannot create", &backup))?;
                sync_folder(&files.folder)?;
                return Ok(backup);
            }
        }
    }
}

fn is_same(file: &File, path: &std::path::Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

fn copy(old: &File, backup: &std::path::Path) -> io::Result<()> {
    let mut copy = create_private(backup)?;
    copy_range(old, 0, old.metadata()?.len(), &mut copy)?;
    copy.sync_all()
}

/// Copies a part of a file.
pub(crate) fn copy_range(from: &File, start: u64, end: u64, to: &mut dyn Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut at = start;
    while at < end {
        let wanted = (end - at).min(buffer.len() as u64) as usize;
        let read = crate::block_cache::read_up_to(from, &mut buffer[..wanted], at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..read])?;
        at += read as u64;
    }
    Ok(())
}
