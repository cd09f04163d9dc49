//! Time, as a value that a test can set.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

/// Where the loop gets its time from. Everything that a run decides by time goes through this and
/// through the journal.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Time since the Unix epoch.
    fn now(&self) -> Duration;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// The machine's clock. `sleep` needs a Tokio runtime with its timer on.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Duration {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Where ids and jitter come from.
pub trait Entropy: Send + Sync + 'static {
    /// Sixty-four bits that nobody could have foreseen well enough to collide with.
    fn next(&self) -> u64;
}

/// Bits from the process's random hash seed and the clock: enough for ids and jitter, not for keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn next(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        // Each `RandomState` has its own keys, seeded by the operating system.
        let mut hasher = std::hash::RandomState::new().build_hasher();
        hasher.write_u128(SystemClock.now().as_nanos());
        hasher.finish()
    }
}
