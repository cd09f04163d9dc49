//! A span that is under way.

use tracing::field::Empty;

/// The word that `error.type` gets when a span is dropped before its end.
pub const DROPPED: &str = "dropped";

/// The descriptions of errors. There are no others.
pub(crate) const DROPPED_EARLY: &str = "dropped before its end";
pub(crate) const DROPPED_BY_PANIC: &str = "dropped by a panic before its end";

/// A span that is under way. It ends once: by the `end` of its own type, with what there is to say at the
/// end, or by [`fail`](Self::fail). Dropped before, it ends as an error that says so: `error.type` is
/// [`DROPPED`], as for work that was given up.
#[derive(Debug)]
#[must_use = "a span that is dropped at once ends as an error"]
pub struct Active {
    span: tracing::Span,
    ended: bool,
}

impl Active {
    #[doc(hidden)]
    #[inline]
    pub fn new(span: tracing::Span) -> Self {
        Self { span, ended: false }
    }

    /// The span as `tracing` knows it: to [instrument](tracing::Instrument) a future with, to be the parent
    /// of another one. Nothing keeps you from recording what you like with it; the exporter of this crate
    /// takes what the schema declares.
    #[inline]
    pub fn span(&self) -> &tracing::Span {
        &self.span
    }

    /// Ends as an error. `error` is a word, or a type's name, out of few: a collector makes groups of it. A
    /// text with particulars does not belong here.
    pub fn fail(mut self, error: &str) {
        self.ended = true;
        record_error(&self.span, error, Empty);
    }

    /// Ends without a word: what there was to say has been recorded.
    #[doc(hidden)]
    #[inline]
    pub fn finished(mut self) {
        self.ended = true;
    }
}

impl Drop for Active {
    #[inline]
    fn drop(&mut self) {
        if !self.ended && !self.span.is_disabled() {
            let why = if std::thread::panicking() {
                DROPPED_BY_PANIC
            } else {
                DROPPED_EARLY
            };
            record_error(&self.span, DROPPED, why);
        }
    }
}

fn record_error(span: &tracing::Span, error: &str, description: impl tracing::Value) {
    tracing::record_all!(
        span,
        "error.type" = error,
        otel.status_code = "ERROR",
        otel.status_description = description
    );
}
