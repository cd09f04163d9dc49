//! One writer at a time.

use std::fs::{self, File, TryLockError};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::Error;
use crate::id::SessionId;

/// A session's file, which may be locked for as long as it is open.
#[derive(Debug)]
pub(crate) struct SessionFile {
    file: File,
    is_locked: bool,
}

impl SessionFile {
    /// A file that anybody may write to.
    pub(crate) fn unlocked(file: File) -> Self {
        Self {
            file,
            is_locked: false,
        }
    }

    /// A file that nobody else may write to.
    pub(crate) fn locked(file: File, session: SessionId, path: &Path) -> Result<Self, Error> {
        match file.try_lock() {
            Ok(()) => Ok(Self {
                file,
                is_locked: true,
            }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked {
                session,
                process: holder(&file),
            }),
            Err(TryLockError::Error(error)) => Err(Error::io("cannot lock", path)(error)),
        }
    }
}

impl Deref for SessionFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        // Closing it would do, but for a child process that is just being started: until it runs its
        // program, it has this file open, too.
        if self.is_locked {
            let _ = self.file.unlock();
        }
    }
}

/// Whether a writer has the file, as far as the system tells. Takes no lock, so that it is in no
/// writer's way.
pub(crate) fn is_locked(file: &File) -> bool {
    locks(file).is_some_and(|locks| !locks.is_empty())
}

/// The process that holds the lock of a file, where the system tells.
fn holder(file: &File) -> Option<u32> {
    locks(file)?.into_iter().flatten().next()
}

/// The processes that hold a lock of a file; none for one of another process namespace.
fn locks(file: &File) -> Option<Vec<Option<u32>>> {
    let inode = file.metadata().ok()?.ino().to_string();
    let table = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`; the device is not compared, since some file
    // systems show another one here than `stat` does.
    let holds = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        if words.next()? != "FLOCK" {
            return None;
        }
        let process = words.nth(2)?;
        let place = words.next()?;
        (place.rsplit(':').next()? == inode).then(|| process.parse().ok().filter(|it| *it > 0))
    };
    Some(table.lines().filter_map(holds).collect())
}
