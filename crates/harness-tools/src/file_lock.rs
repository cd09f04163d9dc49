//! One change of a file at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The locks in use, by real path, for the whole process: two workspaces may share a file.
static LOCKS: Mutex<Option<HashMap<PathBuf, Weak<Mutex<()>>>>> = Mutex::new(None);

/// Runs `work` while nothing else in this process changes the file with this real path.
///
/// The real path is the identity, not the inode: replacing a file gives it a new inode, and two
/// names of one file are two files after that.
pub(crate) fn hold<T>(real: &Path, work: impl FnOnce() -> T) -> T {
    let lock = {
        let mut table = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        let table = table.get_or_insert_with(HashMap::new);
        if let Some(lock) = table.get(real).and_then(Weak::upgrade) {
            lock
        } else {
            table.retain(|_, lock| lock.strong_count() > 0);
            let lock = Arc::new(Mutex::new(()));
            table.insert(real.to_owned(), Arc::downgrade(&lock));
            lock
        }
    };
    let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}
