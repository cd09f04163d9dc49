//! One turn's reply: attempts until there is one, or until there is no point in another.

use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::agent_loop::Engine;
use crate::context::RunContext;
use crate::error::{Error, JournalError, ModelError};
use crate::event::{Delta, Event};
use crate::journal::{Record, StepKind};
use crate::message::StopReason;
use crate::model::{ModelEvent, ModelRequest, ModelResult};
use crate::next::{ModelEnd, NextModel, ReasoningEnd};
use crate::reply::ReplyBuilder;

/// How many events are taken before a cancel is looked for, while they keep coming.
const EVENTS_PER_CHECK: u32 = 64;

/// One turn, as far as the model is concerned.
pub(crate) struct Turn<'a> {
    engine: &'a Engine<'a>,
    name: &'a str,
    number: u32,
    attempts: AtomicU32,
    requests: AtomicU32,
    journal_error: std::sync::Mutex<Option<JournalError>>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(engine: &'a Engine<'a>, name: &'a str, number: u32) -> Self {
        Self {
            engine,
            name,
            number,
            attempts: AtomicU32::new(0),
            requests: AtomicU32::new(0),
            journal_error: std::sync::Mutex::default(),
        }
    }

    /// The run's error for what came out of the chain.
    pub(crate) fn error(&self, error: ModelError) -> Error {
        let journal = self
            .journal_error
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        match journal {
            Some(journal) => Error::Journal(journal),
            None => Error::Model {
                error,
                attempts: self.attempts.load(Ordering::Relaxed),
            },
        }
    }

    /// A broken journal travels through the middlewares as an error that none of them may retry.
    fn journal_failed(&self, error: JournalError) -> ModelError {
        let message = error.to_string();
        *self
            .journal_error
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
        ModelError::Other {
            message,
            retryable: false,
        }
    }

    async fn attempts(&self, cx: &RunContext, request: ModelRequest) -> ModelResult {
        let config = &self.engine.config.inner;
        let mut waited = Duration::ZERO;
        let mut failures = 0;
        let mut empty = 0;
        loop {
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
            let reply = NextModel::new(&config.chains.model_call, self)
                .run(cx, request.clone())
                .await;
            let (error, delay) = match reply {
                Ok(reply) if reply.is_empty() && may_be_asked_again(&reply.stop) => {
                    empty += 1;
                    if empty >= config.limits.max_empty_replies {
                        return Ok(reply);
                    }
                    let message = "the model sent an empty reply".to_owned();
                    (
                        ModelError::Other {
                            message,
                            retryable: true,
                        },
                        Some(Duration::ZERO),
                    )
                }
                Ok(reply) => return Ok(reply),
                Err(error) => {
                    failures += 1;
                    let delay = if error.is_retryable() {
                        let name = format!("{}/a{attempt}/jitter", self.name);
                        let random = self.engine.random(&name).await;
                        let random = random.map_err(|error| self.journal_failed(error))?;
                        config.retry.delay(&error, failures, waited, random)
                    } else {
                        None
                    };
                    (error, delay)
                }
            };
            if cx.cancellation().is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            cx.emit(Event::AttemptDiscarded {
                turn: self.number,
                attempt,
                kind: error.word(),
                error: Box::new(error.clone()),
                retry_in: delay,
            });
            let Some(delay) = delay else {
                return Err(error);
            };
            if !delay.is_zero() {
                self.wait(cx, attempt, delay).await?;
                waited += delay;
            }
        }
    }

    async fn wait(&self, cx: &RunContext, attempt: u32, delay: Duration) -> Result<(), ModelError> {
        let name = format!("{}/a{attempt}/wait", self.name);
        let clock = &self.engine.config.inner.clock;
        let effect = async {
            clock.sleep(delay).await;
            Record::Slept
        };
        let step = self
            .engine
            .step(&name, StepKind::Sleep(delay), effect.boxed())
            .fuse();
        futures::pin_mut!(step);
        futures::select_biased! {
            slept = step => match slept {
                Ok(_) => Ok(()),
                Err(error) => Err(self.journal_failed(error)),
            },
            () = cx.cancellation().cancelled().fuse() => Err(ModelError::Cancelled),
        }
    }

    /// One request, on record.
    async fn ask(&self, cx: &RunContext, request: ModelRequest) -> ModelResult {
        let attempt = self.attempts.load(Ordering::Relaxed);
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}/a{attempt}/model{number}", self.name);
        let recorded = request.clone();
        let effect = async { Record::Model(self.stream(cx, request).await) };
        match self
            .engine
            .step(&name, StepKind::Model(&recorded), effect.boxed())
            .await
        {
            Ok(Record::Model(result)) => result,
            Ok(_) => Err(self.journal_failed(self.engine.foreign(&name))),
            Err(error) => Err(self.journal_failed(error)),
        }
    }

    /// Streams one reply, telling of it as it comes.
    async fn stream(&self, cx: &RunContext, request: ModelRequest) -> ModelResult {
        let limits = &self.engine.config.inner.limits;
        let token = cx.cancellation().child_token();
        // Whatever way this ends, the client learns of it.
        let _guard = token.clone().drop_guard();
        let mut bounds = Bounds {
            cancelled: Box::pin(token.clone().cancelled_owned()),
            timer: self.engine.config.inner.clock.sleep(limits.attempt_time),
            limit: limits.attempt_time,
            token: token.clone(),
        };
        let model = std::sync::Arc::clone(&request.model);
        let mut reply = ReplyBuilder::new(model.info().id.clone()).max_bytes(limits.reply_bytes);
        let mut events = bounds.within(model.stream(request, token)).await??;
        let mut seen = 0_u32;
        while let Some(event) = bounds.within(events.next()).await? {
            let event = event?;
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(EVENTS_PER_CHECK) {
                bounds.check().await?;
            }
            match &event {
                ModelEvent::Text { delta, .. } if !delta.is_empty() => {
                    cx.emit(Event::TextDelta(Delta {
                        text: delta.clone(),
                    }));
                }
                ModelEvent::Thinking { delta, .. } if !delta.is_empty() => {
                    cx.emit(Event::ThinkingDelta(Delta {
                        text: delta.clone(),
                    }));
                }
                ModelEvent::ToolCall { id, name, .. } => {
                    cx.emit(Event::ToolCallDelta {
                        id: id.clone(),
                        name: name.clone(),
                    });
                }
                _ => {}
            }
            reply.push(event)?;
        }
        reply.finish()
    }
}

/// Whether an empty reply with this reason may be a mishap.
fn may_be_asked_again(stop: &StopReason) -> bool {
    !matches!(stop, StopReason::Length | StopReason::ContentFilter)
}

impl ReasoningEnd for Turn<'_> {
    fn run<'f>(&'f self, cx: &'f RunContext, request: ModelRequest) -> BoxFuture<'f, ModelResult> {
        Box::pin(self.attempts(cx, request))
    }
}

impl ModelEnd for Turn<'_> {
    fn run<'f>(&'f self, cx: &'f RunContext, request: ModelRequest) -> BoxFuture<'f, ModelResult> {
        Box::pin(self.ask(cx, request))
    }
}

/// The cancel and the time limit of one request.
///
/// Looked at only when the stream has nothing ready, so that a fast stream does not pay for them on
/// each event; `check` is for streams that never pause.
struct Bounds<'a> {
    cancelled: BoxFuture<'a, ()>,
    timer: BoxFuture<'a, ()>,
    limit: Duration,
    token: CancellationToken,
}

impl Bounds<'_> {
    async fn within<F: Future>(&mut self, future: F) -> Result<F::Output, ModelError> {
        futures::pin_mut!(future);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            self.poll_bounds(cx).map(Err)
        })
        .await
    }

    async fn check(&mut self) -> Result<(), ModelError> {
        std::future::poll_fn(|cx| match self.poll_bounds(cx) {
            Poll::Ready(error) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Ready(Ok(())),
        })
        .await
    }

    fn poll_bounds(&mut self, cx: &mut std::task::Context<'_>) -> Poll<ModelError> {
        if self.token.is_cancelled() || self.cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(ModelError::Cancelled);
        }
        self.timer.as_mut().poll(cx).map(|()| ModelError::Timeout {
            seconds: self.limit.as_secs(),
        })
    }
}
