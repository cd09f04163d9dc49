//! The way from those who record to the exporter's thread.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Instant;

use opentelemetry_sdk::trace::SpanData;
use tokio::sync::{mpsc, watch};

use super::done::Done;
use super::report::{ExportReport, Tally};
use super::worker::Work;

/// The queue of ended spans, and the thread at its end, which starts when there is something for it.
pub(super) struct Queue {
    sender: mpsc::Sender<SpanData>,
    /// When the thread has to be done.
    finish: watch::Sender<Option<tokio::time::Instant>>,
    done: Arc<Done>,
    tally: Arc<Tally>,
    start: Once,
    work: Mutex<Option<Work>>,
}

impl Queue {
    pub(super) fn new(
        sender: mpsc::Sender<SpanData>,
        finish: watch::Sender<Option<tokio::time::Instant>>,
        done: Arc<Done>,
        tally: Arc<Tally>,
        work: Work,
    ) -> Self {
        Self {
            sender,
            finish,
            done,
            tally,
            start: Once::new(),
            work: Mutex::new(Some(work)),
        }
    }

    /// Whether spans go anywhere.
    pub(super) fn takes_spans(&self) -> bool {
        self.has_sinks() || self.tally.has_collector.load(Ordering::Relaxed)
    }

    fn has_sinks(&self) -> bool {
        self.tally.has_sinks.load(Ordering::Relaxed)
    }

    /// Puts in a span, or drops it if there is no room. It counts either way.
    pub(super) fn push(&self, span: SpanData) {
        self.tally.ended();
        self.wake();
        // Full, or finished: it is the one that is missing when the delivered ones are counted.
        let _ = self.sender.try_send(span);
    }

    /// A span began.
    pub(super) fn opened(&self) {
        self.tally.opened();
    }

    /// A span is gone.
    pub(super) fn closed(&self) {
        self.tally.closed();
    }

    /// Starts the thread, if it is not there yet.
    pub(super) fn wake(&self) {
        self.start.call_once(|| {
            let Some(work) = self.take_work() else {
                return;
            };
            if let Err(error) = work.start() {
                self.tally
                    .failed(&format!("the export thread does not start: {error}"));
            }
        });
    }

    /// Tells the thread to be done by this time. Not started, it does not start, unless a sink has to be
    /// ended.
    pub(super) fn close(&self, deadline: Instant) {
        self.finish.send_replace(Some(deadline.into()));
        if self.has_sinks() {
            self.wake();
        } else {
            self.start.call_once(|| drop(self.take_work()));
        }
    }

    fn take_work(&self) -> Option<Work> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.take()
    }

    pub(super) fn done(&self) -> &Done {
        &self.done
    }

    pub(super) fn second(&self) {
        self.tally
            .failed("the program's subscriber has another exporter, which gets all spans");
    }

    pub(super) fn late(&self) {
        self.tally.failed("the export did not finish in time");
    }

    pub(super) fn report(&self) -> ExportReport {
        self.tally.report()
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("tally", &self.tally)
            .finish_non_exhaustive()
    }
}
