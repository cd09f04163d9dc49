//! What came of exporting.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What came of exporting, for a program to tell its user at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// Spans that every destination has.
    pub spans: u64,
    /// Spans that ended and that some destination did not get: the queue was full, a sink failed, the
    /// collector refused them or did not answer in time.
    pub dropped: u64,
    /// Spans that somebody still holds. They are not exported, nor are those that they are within.
    pub open: u64,
    /// The first error, in one line without credentials. There may be one although no span was dropped: of
    /// metrics, of a sink's end.
    pub error: Option<String>,
}

/// Counts while it goes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    ended: AtomicU64,
    opened: AtomicU64,
    closed: AtomicU64,
    /// Spans that the collector took, if there is one.
    sent: AtomicU64,
    /// Spans that all sinks took, if there are any.
    written: AtomicU64,
    /// The first one.
    error: Mutex<Option<String>>,
    pub(super) has_collector: AtomicBool,
    pub(super) has_sinks: AtomicBool,
}

impl Tally {
    pub(super) fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
    pub(super) fn sent(&self, spans: u64) {
        self.sent.fetch_add(spans, Ordering::Release);
    }

    pub(super) fn written(&self, spans: u64) {
        self.written.fetch_add(spans, Ordering::Release);
    }

    /// Keeps the first error.
    pub(super) fn failed(&self, error: &str) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| one_line(error));
    }

    pub(super) fn report(&self) -> ExportReport {
        // What was delivered first: a span that comes meanwhile is then one too many, not one too few.
        let counts = [
            (&self.has_collector, &self.sent),
            (&self.has_sinks, &self.written),
        ];
        let delivered = counts
            .into_iter()
            .filter(|(there, _)| there.load(Ordering::Relaxed))
            .map(|(_, count)| count.load(Ordering::Acquire))
            .min();
        let ended = self.ended.load(Ordering::Relaxed);
        let spans = delivered.unwrap_or(0);
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        ExportReport {
            spans,
            dropped: ended.saturating_sub(spans),
            open: {
                let closed = self.closed.load(Ordering::Relaxed);
                self.opened.load(Ordering::Relaxed).saturating_sub(closed)
            },
            error: error.clone(),
        }
    }
}

/// The text in one line that is not too long for a terminal's user to read.
pub(super) fn one_line(text: &str) -> String {
    const LIMIT: usize = 300;
    let plain = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c });
    plain.take(LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_that_has_least_counts() {
        let tally = Tally::default();
        tally.has_sinks.store(true, Ordering::Relaxed);
        for _ in 0..5 {
            tally.ended();
        }
        tally.written(4);
        tally.failed("first\nline");
        tally.failed("second");
        let report = tally.report();
        assert_eq!((report.spans, report.dropped), (4, 1));
        assert_eq!(report.error.as_deref(), Some("first line"));
        tally.has_collector.store(true, Ordering::Relaxed);
        assert_eq!(tally.report().dropped, 5);
    }
}
