//! How spans are put together.

use std::time::Duration;

/// How many spans may wait, and how they are put together. A number that is zero counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchOptions {
    /// The most spans that wait for a destination: 2048. One more is dropped.
    pub queue: usize,
    /// The most spans that are sent at once: 512.
    pub batch: usize,
    /// The longest time that an ended span waits for others: 1 s.
    pub delay: Duration,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            queue: 2048,
            batch: 512,
            delay: Duration::from_secs(1),
        }
    }
}

impl BatchOptions {
    /// Sets the most spans that wait.
    pub fn queue(mut self, spans: usize) -> Self {
        self.queue = spans;
        self
    }

    /// Sets the most spans that are sent at once.
    pub fn batch(mut self, spans: usize) -> Self {
        self.batch = spans;
        self
    }

    /// Sets the longest time that an ended span waits for others.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}
