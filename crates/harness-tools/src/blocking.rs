//! File work off the async threads, with a way to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness_core::{ToolContext, ToolError};

use crate::error::Error;

/// A flag that long work looks at between steps.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the work to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it should stop.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Err(Error::Stopped)` if it should stop.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_stopped() {
            Err(Error::Stopped)
        } else {
            Ok(())
        }
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs `work` on a thread for blocking work. When the call is cancelled or dropped, `work` is asked
/// to stop; a cancelled call still waits for it, so that nothing goes on behind its back.
///
/// Panics if `work` does.
pub async fn run<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&Stop) -> Result<T, Error> + Send + 'static,
) -> Result<T, ToolError> {
    let guard = StopOnDrop(Stop::default());
    let stop = guard.0.clone();
    let mut task = tokio::task::spawn_blocking(move || work(&stop));
    let joined = tokio::select! {
        biased;
        joined = &mut task => joined,
        () = cx.cancellation().cancelled() => {
            guard.0.stop();
            task.await
        }
    };
    match joined {
        Ok(result) => result.map_err(Error::into_tool_error),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(ToolError::Cancelled),
        },
    }
}
