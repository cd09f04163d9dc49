//! A summary that is written while the run goes on.

use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use harness_core::{CompactionReason, Event, MessageRef, RunContext};
use harness_telemetry::middleware::run_span;
use tracing::Span;

use super::compactor::{Made, Plan};
use super::run_state::RunState;
use crate::compaction_span::CompactionSpan;
use crate::error::Error;
use crate::summariser::Bill;

/// What came of writing a summary, and what it cost.
pub(crate) struct Written {
    pub(crate) result: Result<Made, Error>,
    pub(crate) bill: Bill,
}

/// A summary that is being written, or is there. Nothing is spawned: it goes on when it is polled.
pub(crate) struct Background {
    /// What it stands for.
    messages: Vec<MessageRef>,
    tokens: u64,
    work: Work,
}

enum Work {
    Going(BoxFuture<'static, Written>),
    Done(Written),
}

/// Writes a summary, with a span around it. A panic on the way is a failure.
pub(crate) async fn write(plan: Plan, cx: RunContext, span: CompactionSpan<'static>) -> Written {
    let mut bill = Bill::default();
    let writing = AssertUnwindSafe(plan.write(&cx, &mut bill)).catch_unwind();
    let panicked = |_| Err(Error::Summary("it panicked".to_owned()));
    let writing = writing.map(|result| result.unwrap_or_else(panicked));
    let result = span.around(writing).await;
    Written { result, bill }
}

impl Background {
    /// Begins a summary, and tells so.
    pub(crate) fn begin(plan: Plan, cx: &RunContext, tokens: u64) -> Self {
        cx.emit(Event::CompactionStart {
            reason: CompactionReason::Threshold,
            tokens,
            background: true,
        });
        let span = CompactionSpan {
            reason: CompactionReason::Threshold.word(),
            tokens: Some(tokens),
            messages: plan.messages().len(),
            // Not of the turn, which ends before.
            background: Some(run_span(cx).unwrap_or_else(Span::none)),
        };
        Self {
            messages: plan.messages().to_vec(),
            tokens,
            work: Work::Going(write(plan, cx.clone(), span).boxed()),
        }
    }

    /// Whether a conversation still begins with what it stands for.
    pub(crate) fn fits(&self, history: &[MessageRef]) -> bool {
        self.messages.len() <= history.len()
            && self
                .messages
                .iter()
                .zip(history)
                .all(|(mine, theirs)| mine.same(theirs))
    }

    /// Lets it go on. Ready only once, and only for a failure; a summary is kept.
    pub(crate) fn poll(&mut self, waker: &mut Context<'_>) -> Poll<Written> {
        let Work::Going(work) = &mut self.work else {
            return Poll::Pending;
        };
        match work.poll_unpin(waker) {
            Poll::Ready(written) if written.result.is_err() => Poll::Ready(written),
            Poll::Ready(written) => {
                self.work = Work::Done(written);
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// The summary, when it is there.
    pub(crate) async fn finish(self) -> Written {
        match self.work {
            Work::Going(work) => work.await,
            Work::Done(written) => written,
        }
    }

    /// What it cost so far, if it will not be used.
    pub(crate) fn bill(&self) -> Bill {
        match &self.work {
            Work::Done(written) => written.bill,
            Work::Going(_) => Bill::default(),
        }
    }

    /// It will not be used.
    pub(crate) fn tell_end(&self, cx: &RunContext, why: &str) {
        cx.emit(Event::CompactionEnd {
            reason: CompactionReason::Threshold,
            tokens_before: self.tokens,
            tokens_after: None,
            summarised: 0,
            kept: 0,
            error: Some(why.to_owned()),
        });
    }
}

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Background")
            .field("messages", &self.messages.len())
            .field("done", &matches!(self.work, Work::Done(_)))
            .finish_non_exhaustive()
    }
}

/// Waits for something, and lets the summary in the background go on meanwhile. What is waited for comes
/// first and is never held up.
pub(crate) async fn beside<T>(
    cx: &RunContext,
    state: Option<&RunState>,
    inner: impl Future<Output = T>,
) -> T {
    let Some(state) = state else {
        return inner.await;
    };
    futures::pin_mut!(inner);
    std::future::poll_fn(|waker| {
        if let Poll::Ready(output) = inner.as_mut().poll(waker) {
            return Poll::Ready(output);
        }
        state.poll_background(cx, waker);
        Poll::Pending
    })
    .await
}
