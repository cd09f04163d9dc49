//! Compactions that somebody asked for.

use std::sync::{Arc, Mutex, PoisonError};

use harness_core::RunContext;

/// Asks for a compaction of the conversation before the next request to the model, whatever its length.
///
/// It is in the attributes of a run's caller: `attributes.get_or_insert_with(CompactionRequests::default)`.
/// What was asked for several times before it came about happens once.
#[derive(Debug, Default)]
pub struct CompactionRequests(Mutex<Option<Request>>);

/// One that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) focus: Option<String>,
}

impl CompactionRequests {
    /// Asks for one, and says what the summary should look at most.
    pub fn request(&self, focus: Option<String>) {
        let focus = focus.filter(|focus| !focus.trim().is_empty());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Request { focus });
    }

    pub(crate) fn of(cx: &RunContext) -> Option<Arc<Self>> {
        cx.attributes().get()
    }

    pub(crate) fn take(&self) -> Option<Request> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
