//! What the compaction middleware knows of one run.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use harness_core::{ContextUse, Event, RunContext};

use super::background::{Background, Written};
use crate::summariser::Bill;

/// After so many failures in a row, no summary is begun for being near the threshold.
const MAX_FAILURES: u32 = 3;

/// The runs of one caller, by their ids. In its attributes.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<HashMap<String, Arc<RunState>>>);

/// What is known of one run.
#[derive(Debug, Default)]
pub(crate) struct RunState(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    background: Option<Background>,
    /// How often a summary could not be made, since one was.
    failures: u32,
    /// What was paid for summaries that came to nothing.
    bill: Bill,
    /// What people were told already.
    told: HashSet<String>,
    /// The window as far as the provider lets it be known: it refused more.
    refused: Option<u64>,
    /// The window that the last request had to fit into.
    window: Option<u64>,
}

/// Keeps the state of a run, until it is dropped: with it goes what it does in the background.
pub(crate) struct Registered {
    runs: Arc<Runs>,
    run: String,
}

impl RunState {
    /// Begins to keep the state of a run.
    pub(crate) fn register(cx: &RunContext) -> Registered {
        let runs = cx.attributes().get_or_insert_with(Runs::default);
        let run = cx.run_id().to_owned();
        lock(&runs.0).insert(run.clone(), Arc::default());
        Registered { runs, run }
    }

    /// The state of a run. Of one that is not registered, nothing is kept.
    pub(crate) fn of(cx: &RunContext) -> Option<Arc<Self>> {
        let runs = cx.attributes().get::<Runs>()?;
        let runs = lock(&runs.0);
        runs.get(cx.run_id()).cloned()
    }

    /// The window that the conversation has to fit into, if that is known.
    pub(crate) fn window(&self, used: &ContextUse) -> Option<u64> {
        let mut inner = lock(&self.0);
        if used.overflow {
            // What was counted here and what the provider counts may differ, so that far less is aimed at.
            let refused = used.tokens / 4 * 3;
            inner.refused = Some(inner.refused.map_or(refused, |known| known.min(refused)));
        }
        inner.window = match (used.window(), inner.refused) {
            (Some(window), Some(refused)) => Some(window.min(refused)),
            (window, refused) => window.or(refused),
        };
        inner.window
    }

    /// The same, as it was found last.
    pub(crate) fn last_window(&self) -> Option<u64> {
        lock(&self.0).window
    }

    /// Whether a summary may be made for being near the threshold.
    pub(crate) fn may_try(&self) -> bool {
        lock(&self.0).failures < MAX_FAILURES
    }

    /// A bill, and what was paid before for summaries that came to nothing.
    pub(crate) fn bill_with(&self, bill: &Bill) -> Bill {
        let mut all = lock(&self.0).bill;
        all.add(bill);
        all
    }

    /// A summary was made, and all was paid for with it.
    pub(crate) fn made(&self) {
        let mut inner = lock(&self.0);
        inner.failures = 0;
        inner.bill = Bill::default();
    }

    /// A summary was not used.
    pub(crate) fn wasted(&self, bill: &Bill) {
        lock(&self.0).bill.add(bill);
    }

    /// A summary could not be made.
    pub(crate) fn failed(&self, bill: &Bill) {
        let mut inner = lock(&self.0);
        inner.failures += 1;
        inner.bill.add(bill);
    }

    /// Tells people something, once in a run.
    pub(crate) fn warn(&self, cx: &RunContext, message: String) {
        if lock(&self.0).told.insert(message.clone()) {
            cx.emit(Event::Warning { message });
        }
    }

    pub(crate) fn has_background(&self) -> bool {
        lock(&self.0).background.is_some()
    }

    pub(crate) fn put_background(&self, background: Background) {
        lock(&self.0).background = Some(background);
    }

    pub(crate) fn take_background(&self) -> Option<Background> {
        lock(&self.0).background.take()
    }

    /// Lets the summary in the background go on, beside something else.
    pub(crate) fn poll_background(&self, cx: &RunContext, waker: &mut Context<'_>) {
        // Taken out: what it runs may look here too.
        let Some(mut background) = self.take_background() else {
            return;
        };
        if let Poll::Ready(Written {
            result: Err(error),
            bill,
        }) = background.poll(waker)
        {
            self.failed(&bill);
            background.tell_end(cx, &error.to_string());
            return;
        }
        self.put_background(background);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.runs.0).remove(&self.run);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
