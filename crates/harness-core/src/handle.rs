//! A run from outside.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::Stream;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::EventSink;
use crate::error::RunError;
use crate::event::Event;
use crate::message::UserMessage;
use crate::outcome::RunOutcome;
use crate::queue::Queues;

/// A run: its events, the means to steer it, and its outcome.
///
/// The handle *drives* the run: it goes on while the handle is polled, by [`next`](Self::next),
/// [`outcome`](Self::outcome) or as a [`Stream`], and needs no runtime of its own. Dropping the handle
/// ends the run at once: its model request is closed and its tools are dropped with everything that
/// they started. To let a run go on by itself, move the handle into a task.
#[must_use = "a run goes on only while its handle is polled"]
pub struct RunHandle<'a> {
    run: Option<BoxFuture<'a, RunOutcome>>,
    sink: EventSink,
    control: RunControl,
    outcome: Option<RunOutcome>,
    _cancel_on_drop: DropGuard,
    _close_on_drop: CloseOnDrop,
}

/// A run that was dropped takes no more messages.
struct CloseOnDrop(Arc<Queues>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<'a> RunHandle<'a> {
    pub(crate) fn new(
        run: BoxFuture<'a, RunOutcome>,
        sink: EventSink,
        cancel: CancellationToken,
        queues: Arc<Queues>,
    ) -> Self {
        let control = RunControl {
            cancel: cancel.clone(),
            queues: Arc::clone(&queues),
        };
        Self {
            run: Some(run),
            sink,
            control,
            outcome: None,
            _cancel_on_drop: cancel.drop_guard(),
            _close_on_drop: CloseOnDrop(queues),
        }
    }

    /// The next event; `None` when the run has ended and all events were taken.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }

    /// Runs to the end and gives the outcome. Events that were not taken are dropped.
    ///
    /// `Err` if the run failed. A limit, a cancel or a stop is an outcome, not an error.
    pub async fn outcome(mut self) -> Result<RunOutcome, RunError> {
        while self.next().await.is_some() {}
        match self.outcome.take() {
            Some(outcome) => outcome.into_result(),
            None => unreachable!("the stream of events ends after the outcome is there"),
        }
    }

    /// The means to steer the run, for use from elsewhere.
    pub fn control(&self) -> RunControl {
        self.control.clone()
    }

    /// See [`RunControl::steer`].
    pub fn steer(&self, message: impl Into<UserMessage>) -> Result<(), UserMessage> {
        self.control.steer(message)
    }

    /// See [`RunControl::follow_up`].
    pub fn follow_up(&self, message: impl Into<UserMessage>) -> Result<(), UserMessage> {
        self.control.follow_up(message)
    }

    /// See [`RunControl::cancel`].
    pub fn cancel(&self) {
        self.control.cancel();
    }

    fn poll_run(&mut self, cx: &mut Context<'_>) {
        let Some(run) = &mut self.run else { return };
        if let Poll::Ready(outcome) = run.as_mut().poll(cx) {
            self.run = None;
            self.outcome = Some(outcome);
        }
    }
}

impl Stream for RunHandle<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.sink.pop() {
            return Poll::Ready(Some(event));
        }
        self.poll_run(cx);
        // Registered only now: events that this poll made need no waking.
        self.sink.register(cx.waker());
        match self.sink.pop() {
            Some(event) => Poll::Ready(Some(event)),
            None if self.run.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl std::fmt::Debug for RunHandle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle")
            .field("ended", &self.run.is_none())
            .finish_non_exhaustive()
    }
}

/// The means to steer a run from anywhere. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunControl {
    cancel: CancellationToken,
    queues: Arc<Queues>,
}

impl RunControl {
    /// Says something before the next model request. Calls that are running are not skipped.
    ///
    /// Gives the message back if the run has ended or its handle was dropped. What a run could not
    /// deliver is in [`RunOutcome::undelivered`].
    pub fn steer(&self, message: impl Into<UserMessage>) -> Result<(), UserMessage> {
        self.queues.steer(message.into())
    }

    /// Says something when the model is done; the run then goes on.
    ///
    /// Gives the message back if the run has ended or its handle was dropped.
    pub fn follow_up(&self, message: impl Into<UserMessage>) -> Result<(), UserMessage> {
        self.queues.follow_up(message.into())
    }

    /// Cancels the run: the model request, the tools and what they started end within the grace
    /// period, and the outcome is [`RunStatus::Cancelled`](crate::RunStatus::Cancelled).
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}
