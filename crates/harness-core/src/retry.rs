//! When and how long to wait before a request is made again.

use std::time::Duration;

use crate::error::ModelError;

/// How failed requests are retried: exponential, with jitter, within a budget of time.
///
/// Only errors that [may pass](ModelError::is_retryable) are retried. What the provider asks for
/// (`Retry-After`) is waited for in full, or the request is given up: never asked again too early.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// The most requests in one turn; 1: no retry.
    pub max_attempts: u32,
    /// The wait before the second attempt; doubles with each one.
    pub base: Duration,
    /// The longest wait that the policy chooses by itself.
    pub max_delay: Duration,
    /// The most time that one turn may spend waiting, what providers ask for included.
    pub budget: Duration,
    /// How much of a wait is random, from 0 to 1: `0.25` makes 8 s something from 6 s to 8 s.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            base: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            budget: Duration::from_mins(3),
            jitter: 0.25,
        }
    }
}

impl RetryPolicy {
    /// No retries.
    pub fn never() -> Self {
        Self {
            max_attempts: 1,
            ..Self::default()
        }
    }

    /// How long to wait after attempt number `attempt` (from 1) failed, having waited `waited` in
    /// this turn already; `None`: give up. `random` is any sixty-four bits.
    pub fn delay(
        &self,
        error: &ModelError,
        attempt: u32,
        waited: Duration,
        random: u64,
    ) -> Option<Duration> {
        if !error.is_retryable() || attempt >= self.max_attempts {
            return None;
        }
        let delay = error.retry_after().unwrap_or_else(|| {
            let doublings = attempt.saturating_sub(1).min(20);
            let full = self.base.saturating_mul(1_u32 << doublings);
            let full = full.min(self.max_delay);
            let share = random as f64 / u64::MAX as f64;
            let kept = 1.0 - self.jitter.clamp(0.0, 1.0) * share;
            // Fails for a jitter that is no number, and for the longest durations.
            Duration::try_from_secs_f64(full.as_secs_f64() * kept).unwrap_or(full)
        });
        (waited.saturating_add(delay) <= self.budget).then_some(delay)
    }
}
