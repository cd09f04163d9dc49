//! How spans are put together.

use std::time::Duration;

use super::exporter::LONGEST;

/// The most spans that a queue is made for, whatever is asked for.
const MOST: usize = 1 << 20;

/// How many spans may wait, and how they are put together. A number that is zero counts as one, one above a
/// million as a million (2^20), a batch that is larger than the queue as the queue, a delay of more than a day as a
/// day.
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
    /// These, as far as there can be such.
    pub(super) fn within_bounds(self) -> Self {
        let queue = self.queue.clamp(1, MOST);
        Self {
            queue,
            batch: self.batch.clamp(1, queue),
            delay: self.delay.min(LONGEST),
        }
    }

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
