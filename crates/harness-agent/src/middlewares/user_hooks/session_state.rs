//! What is known of a session and of a run.

use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Mutex, PoisonError};

use harness_core::RunContext;

/// What is known of a session: among the attributes of its caller.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    /// Its `SessionStart` hooks ran.
    pub(super) has_started: AtomicBool,
}

/// What is known of a run: a value of its context.
#[derive(Debug, Default)]
pub(super) struct RunState {
    /// Why a hook ends it.
    stop: Mutex<Option<String>>,
    /// How often `Stop` hooks kept it going.
    pub(super) stop_blocks: AtomicU32,
}

impl RunState {
    /// Ends the run after its turn. Nothing, for a call outside of any run.
    pub(super) fn stop(cx: &RunContext, reason: &str) {
        if let Some(state) = cx.value::<Self>() {
            let mut stop = state.stop.lock().unwrap_or_else(PoisonError::into_inner);
            stop.get_or_insert_with(|| reason.to_owned());
        }
    }

    /// Why it is to end, if it is.
    pub(super) fn stopped(&self) -> Option<String> {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        stop.clone()
    }
}
