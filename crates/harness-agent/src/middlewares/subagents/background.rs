//! Errands that the parent does not wait for.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use harness_core::{CancellationToken, RunContext};

use super::errand::{Errand, ErrandEnd};

/// What one run has in the background: a value of its context.
///
/// The work itself is driven by the run, beside what else it does; nothing of it is a task of its own, so that
/// nothing outlives the run.
pub(crate) struct Background {
    work: UnboundedSender<BoxFuture<'static, ()>>,
    ended: UnboundedSender<(Errand, ErrandEnd)>,
    told: futures::lock::Mutex<UnboundedReceiver<(Errand, ErrandEnd)>>,
    /// How many were begun, and are not told yet.
    open: AtomicUsize,
    /// The calls whose end a tool gave already.
    settled: Mutex<HashSet<String>>,
    /// The calls that were begun by this run.
    known: Mutex<HashSet<String>>,
    /// Whether what earlier runs left was looked for.
    restored: AtomicBool,
    /// Ends them all.
    cancel: CancellationToken,
    /// The run, as its middleware sees it.
    cx: RunContext,
}

impl Background {
    /// Of a run; and the work that it is to drive.
    pub(crate) fn new(cx: &RunContext) -> (Self, UnboundedReceiver<BoxFuture<'static, ()>>) {
        let (work, handed) = mpsc::unbounded();
        let (ended, told) = mpsc::unbounded();
        let background = Self {
            work,
            ended,
            told: futures::lock::Mutex::new(told),
            open: AtomicUsize::new(0),
            settled: Mutex::default(),
            known: Mutex::default(),
            restored: AtomicBool::new(false),
            cancel: cx.cancellation().child_token(),
            cx: cx.clone(),
        };
        (background, handed)
    }

    /// The run.
    pub(crate) fn cx(&self) -> &RunContext {
        &self.cx
    }

    /// What cancels all of it.
    pub(crate) fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Whether this is the first time that it is asked.
    pub(crate) fn is_first(&self) -> bool {
        !self.restored.swap(true, Ordering::Relaxed)
    }

    /// Whether this call was not begun by this run; it is, from now on.
    pub(crate) fn is_new(&self, call: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(call.to_owned())
    }

    /// Lets the run drive an errand. `Err` if the run is over.
    pub(crate) fn begin(
        &self,
        errand: Errand,
        work: impl Future<Output = ErrandEnd> + Send + 'static,
    ) -> Result<(), ()> {
        self.is_new(&errand.call);
        self.open.fetch_add(1, Ordering::Relaxed);
        let ended = self.ended.clone();
        let work = async move {
            let end = work.await;
            // Nobody listens any more when the run is over; then the next one looks for it.
            let _ = ended.unbounded_send((errand, end));
        };
        self.work.unbounded_send(work.boxed()).map_err(|_| ())
    }

    /// Tells of one that ended long ago.
    pub(crate) fn deliver(&self, errand: Errand, end: ErrandEnd) {
        self.open.fetch_add(1, Ordering::Relaxed);
        let _ = self.ended.unbounded_send((errand, end));
    }

    /// Whether some were begun and are not told yet.
    pub(crate) fn has_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Leaves an errand out of what is told: a tool gave its end already.
    pub(crate) fn settle(&self, call: &str) {
        self.lock().insert(call.to_owned());
    }

    /// Those that ended since it was asked last. If `waits` and there is none yet, it waits for one, unless none
    /// is left that could end, or the run is cancelled.
    pub(crate) async fn take(&self, cx: &RunContext, waits: bool) -> Vec<(Errand, ErrandEnd)> {
        let mut told = self.told.lock().await;
        let mut all = Vec::new();
        loop {
            while let Ok((errand, end)) = told.try_recv() {
                self.count(errand, end, &mut all);
            }
            if !all.is_empty() || !waits || self.open.load(Ordering::Relaxed) == 0 {
                return all;
            }
            futures::select_biased! {
                () = cx.cancellation().cancelled().fuse() => return all,
                one = told.next().fuse() => {
                    if let Some((errand, end)) = one {
                        self.count(errand, end, &mut all);
                    }
                }
            }
        }
    }

    fn count(&self, errand: Errand, end: ErrandEnd, all: &mut Vec<(Errand, ErrandEnd)>) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        if !self.lock().contains(&errand.call) {
            all.push((errand, end));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
