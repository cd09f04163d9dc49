//! The lock of the one who writes to a session of a database.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::Error;
use crate::id::SessionId;

/// The lock of one session: a small file beside the database, which goes with it.
///
/// The database's own locks last for one transaction; a writer has its session for much longer, and others
/// write to other sessions meanwhile.
#[derive(Debug)]
pub(crate) struct SqliteLock {
    /// Closing it gives the lock up.
    _file: File,
    path: PathBuf,
}

impl SqliteLock {
    /// Takes the lock of a session; [`Error::Locked`] if another writer has it.
    pub(crate) fn take(database: &Path, session: SessionId) -> Result<Self, Error> {
        let path = beside(database, &session.to_string());
        let taken = lock(&path, FlockOperation::NonBlockingLockExclusive);
        match taken.map_err(Error::io("cannot lock", &path))? {
            Ok(mut file) => {
                // For people only, so that a disk without room is no reason to fail.
                let _ = file
                    .set_len(0)
                    .and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Self { _file: file, path })
            }
            Err(held) => Err(Error::Locked {
                session,
                process: owner(held),
            }),
        }
    }

    /// Waits for the lock of whoever makes the database. That takes a moment.
    pub(crate) fn wait(database: &Path) -> Result<Self, Error> {
        let path = beside(database, "new");
        loop {
            let taken = lock(&path, FlockOperation::LockExclusive);
            if let Ok(file) = taken.map_err(Error::io("cannot lock", &path))? {
                return Ok(Self { _file: file, path });
            }
        }
    }
}

fn beside(database: &Path, what: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(format!(".lock-{what}"));
    PathBuf::from(name)
}

/// The locked file; as an error, the file that another one has locked.
fn lock(path: &Path, operation: FlockOperation) -> io::Result<Result<File, File>> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match flock(&file, operation) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Err(file)),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        // Whoever had it before may have removed the file between the two calls; then another one has
        // its name, and this lock is none.
        if is_still_there(&file, path)? {
            return Ok(Ok(file));
        }
    }
}

impl Drop for SqliteLock {
    fn drop(&mut self) {
        // While it is still held: nobody else's file can have this name.
        let _ = fs::remove_file(&self.path);
    }
}

fn owner(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok(own.dev() == there.dev() && own.ino() == there.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
