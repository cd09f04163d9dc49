//! The span of writing a summary.

use harness_telemetry::harness::{Compaction, CompactionEnd, compaction};
use tracing::{Instrument, Span};

use crate::error::Error;

/// A summary that is to be written.
pub(crate) struct CompactionSpan<'a> {
    /// Why: the word of a reason, or `branch`.
    pub(crate) reason: &'a str,
    /// Tokens of the conversation before, as far as they are known.
    pub(crate) tokens: Option<u64>,
    /// How many messages it is to stand for.
    pub(crate) messages: usize,
    /// The run's span, if the run goes on meanwhile.
    pub(crate) background: Option<Span>,
}

impl CompactionSpan<'_> {
    /// Records the writing.
    pub(crate) async fn around<T>(
        self,
        writing: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let (reason, background) = (self.reason, self.background.is_some());
        let mut starter = compaction(Compaction { reason, background }).tokens_before(self.tokens);
        if let Some(run) = self.background {
            starter = starter.parent(&run);
        }
        let span = starter.start();
        let result = writing.instrument(span.span().clone()).await;
        span.end(CompactionEnd {
            outcome: match &result {
                Ok(_) => "summarised",
                Err(Error::Cancelled) => "cancelled",
                Err(_) => "failed",
            },
            messages: self.messages,
        });
        result
    }
}
