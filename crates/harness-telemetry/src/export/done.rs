//! Whether the exporter's thread is done.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Whether the exporter's thread is done. Can be waited for by a thread and by a task.
#[derive(Debug)]
pub(super) struct Done {
    flag: Mutex<bool>,
    changed: Condvar,
    tasks: watch::Sender<bool>,
}

impl Done {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            flag: Mutex::new(false),
            changed: Condvar::new(),
            tasks: watch::Sender::new(false),
        })
    }

    fn set(&self) {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
        self.tasks.send_replace(true);
    }

    /// Blocks until it is done, no longer than to `deadline`.
    pub(super) fn wait(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(flag, left, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until it is done, no longer than this.
    pub(super) async fn wait_async(&self, within: Duration) -> bool {
        let mut tasks = self.tasks.subscribe();
        let done = tokio::time::timeout(within, tasks.wait_for(|done| *done)).await;
        done.is_ok()
    }
}

/// Makes it done when it is dropped: at the end of the thread, by whichever way it comes.
#[derive(Debug)]
pub(super) struct DoneGuard(pub(super) Arc<Done>);

impl Drop for DoneGuard {
    fn drop(&mut self) {
        self.0.set();
    }
}
