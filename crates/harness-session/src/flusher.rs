//! Making what was written outlive a loss of power.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::block_cache::read_up_to;
use crate::file_lock::SessionFile;

/// What makes a file durable; another one in tests.
type SyncData = Box<dyn Fn(&File) -> io::Result<()> + Send + Sync>;

/// Makes a file durable, at once or by a thread of its own, which is started when it is first needed and
/// ends with this.
#[derive(Debug)]
pub(crate) struct Flusher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    file: Arc<SessionFile>,
    begun: u64,
    sync_data: SyncData,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Up to where the file is to be durable.
    wanted: u64,
    /// Up to where it is.
    durable: u64,
    /// Whether somebody is at it.
    is_busy: bool,
    is_ended: bool,
    /// Folders with names that are not durable yet.
    folders: Vec<PathBuf>,
    /// Whether what is behind `durable` has to be written again: after a failure the system holds it for
    /// written.
    is_doubtful: bool,
    /// A failure that nobody was told of.
    failure: Option<io::Error>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Flusher {
    /// `begun` is where this writer begins to write: what was there before may not be durable, but was
    /// not refused either. `folders` is what has names of the file that are not durable.
    pub(crate) fn new(file: Arc<SessionFile>, begun: u64, folders: Vec<PathBuf>) -> Self {
        Self::with(file, begun, folders, Box::new(File::sync_data))
    }

    fn with(
        file: Arc<SessionFile>,
        begun: u64,
        folders: Vec<PathBuf>,
        sync_data: SyncData,
    ) -> Self {
        let state = State {
            wanted: 0,
            durable: 0,
            is_busy: false,
            is_ended: false,
            folders,
            is_doubtful: false,
            failure: None,
        };
        let shared = Shared {
            file,
            begun,
            sync_data,
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
            thread: None,
        }
    }

    /// One that fails so many times.
    #[cfg(test)]
    pub(crate) fn failing(file: Arc<SessionFile>, begun: u64, times: usize) -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let calls = AtomicUsize::new(0);
        let sync_data = move |_: &File| match calls.fetch_add(1, Ordering::SeqCst) {
            call if call < times => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        };
        Self::with(file, begun, Vec::new(), Box::new(sync_data))
    }

    #[cfg(test)]
    pub(crate) fn wait_for_failure(&self) {
        let state = self.shared.lock();
        drop(self.shared.wait(state, |state| state.failure.is_some()));
    }

    /// A failure of the thread's; told once.
    pub(crate) fn take_failure(&self) -> io::Result<()> {
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }

    /// Asks the thread to make the file durable up to here.
    pub(crate) fn ask(&mut self, end: u64) -> io::Result<()> {
        {
            let mut state = self.shared.lock();
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if end <= state.durable && state.folders.is_empty() {
                return Ok(());
            }
            state.wanted = state.wanted.max(end);
        }
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new()
                .name("session-sync".to_owned())
                .spawn(move || shared.work())?;
            self.thread = Some(thread);
        }
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Makes the file durable up to here, and waits until it is.
    pub(crate) fn sync(&self, end: u64) -> io::Result<()> {
        let mut state = self.shared.wait(self.shared.lock(), |state| !state.is_busy);
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        if end <= state.durable && state.folders.is_empty() {
            return Ok(());
        }
        state.wanted = state.wanted.max(end);
        drop(self.shared.flush(state));
        self.take_failure()
    }

    /// What was written behind this place was cut off again.
    pub(crate) fn cut(&self, end: u64) {
        let mut state = self.shared.lock();
        state.wanted = state.wanted.min(end);
        state.durable = state.durable.min(end);
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.shared.lock().is_ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        until: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.changed
            .wait_while(state, |state| !until(state))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does: whatever is asked, until the end. What was asked before is done.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            // A failure is told first; nothing is tried again behind anybody's back.
            state = self.wait(state, |state| {
                let is_asked = state.wanted > state.durable || !state.folders.is_empty();
                state.is_ended || (is_asked && !state.is_busy && state.failure.is_none())
            });
            let is_done = state.wanted <= state.durable && state.folders.is_empty();
            if state.is_ended && (is_done || state.failure.is_some()) {
                return;
            }
            state = self.flush(state);
        }
    }

    /// Makes the file durable up to what is wanted; without the lock in between.
    fn flush<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.is_busy = true;
        let (from, to) = (state.durable, state.wanted);
        let is_doubtful = state.is_doubtful;
        let folders = std::mem::take(&mut state.folders);
        drop(state);
        let result = self.flush_range(from, to, is_doubtful, &folders);
        let mut state = self.lock();
        state.is_busy = false;
        match result {
            Ok(()) => {
                state.durable = state.wanted.min(to).max(state.durable);
                state.is_doubtful = false;
            }
            Err(error) => {
                state.failure = Some(error);
                state.is_doubtful = true;
                state.folders = folders;
            }
        }
        self.changed.notify_all();
        state
    }

    fn flush_range(
        &self,
        from: u64,
        to: u64,
        is_doubtful: bool,
        folders: &[PathBuf],
    ) -> io::Result<()> {
        if is_doubtful {
            write_again(&self.file, from.max(self.begun), to)?;
        }
        (self.sync_data)(&self.file)?;
        for folder in folders {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// Writes what is there once more, so that the system does not take it for written.
fn write_again(file: &File, from: u64, to: u64) -> io::Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    let mut at = from;
    while at < to {
        let wanted = (to - at).min(buffer.len() as u64) as usize;
        let read = read_up_to(file, &mut buffer[..wanted], at)?;
        if read == 0 {
            break;
        }
        file.write_all_at(&buffer[..read], at)?;
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn failing(times: usize) -> (Flusher, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let sync_data = move |_: &File| {
            if counted.fetch_add(1, Ordering::SeqCst) < times {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(())
        };
        let file = Arc::new(SessionFile::unlocked(tempfile::tempfile().unwrap()));
        file.write_all_at(b"0123456789", 0).unwrap();
        (
            Flusher::with(file, 0, Vec::new(), Box::new(sync_data)),
            calls,
        )
    }

    #[test]
    fn what_is_durable_is_not_made_durable_again() {
        let (flusher, calls) = failing(0);
        flusher.sync(10).unwrap();
        flusher.sync(10).unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failure_is_told_once_and_then_tried_anew() {
        let (mut flusher, calls) = failing(1);
        flusher.ask(5).unwrap();
        flusher.wait_for_failure();
        assert_eq!(
            flusher.ask(6).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        flusher.sync(10).unwrap();
        assert!(calls.load(Ordering::SeqCst) >= 2);
        assert_eq!(flusher.shared.lock().durable, 10);
    }

    #[test]
    fn what_was_asked_is_done_before_the_end() {
        let (mut flusher, calls) = failing(0);
        flusher.ask(10).unwrap();
        let shared = Arc::clone(&flusher.shared);
        drop(flusher);
        assert_eq!(shared.lock().durable, 10);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
