//! Time and randomness that a test sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::clock::{Clock, Entropy};

/// A clock that stands still.
///
/// Short waits end at once, move the clock, and are noted. Waits longer than [`ManualClock::patience`]
/// never end: they are the time limits of things that are meant to end before.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
    patience: Duration,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            now: Mutex::new(Duration::from_secs(1_000_000)),
            slept: Mutex::default(),
            patience: Duration::from_mins(10),
        }
    }
}

impl ManualClock {
    /// A clock at some fixed time, with a patience of ten minutes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest wait that ends.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// The waits so far that ended.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sleep(&self, duration: Duration) {
        if duration > self.patience {
            std::future::pending::<()>().await;
        }
        self.advance(duration);
        self.slept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(duration);
    }
}

/// Entropy that counts: 0, 1, 2, …
#[derive(Debug, Default)]
pub struct CountingEntropy(AtomicU64);

impl Entropy for CountingEntropy {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
