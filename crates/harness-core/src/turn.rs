//! One turn's reply: attempts until there is one, or until there is no point in another.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::engine::Engine;
use crate::error::{Error, JournalError, ModelError};
use crate::event::{Delta, Event};
use crate::journal::{Record, StepKind};
use crate::message::{AssistantMessage, StopReason};
use crate::model::{ModelEvent, ModelRequest, ModelResult};
use crate::next::{ModelEnd, NextModel, ReasoningEnd};
use crate::reply::ReplyBuilder;

/// How many events are taken before a cancel is looked for and others get their turn, while they keep
/// coming.
const EVENTS_PER_CHECK: u32 = 64;

/// One turn, as far as the model is concerned.
pub(crate) struct Turn<'a> {
    engine: &'a Engine<'a>,
    name: &'a str,
    number: u32,
    attempts: AtomicU32,
    requests: AtomicU32,
    journal_error: Mutex<Option<JournalError>>,
    /// How the last request ended, while what it showed was not taken back.
    shown: Mutex<Option<ModelError>>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(engine: &'a Engine<'a>, name: &'a str, number: u32) -> Self {
        Self {
            engine,
            name,
            number,
            attempts: AtomicU32::new(0),
            requests: AtomicU32::new(0),
            journal_error: Mutex::default(),
            shown: Mutex::default(),
        }
    }

    /// What came out of the chain, for the run. A middleware may have made a reply of its own out of a
    /// broken journal's error; it does not count.
    pub(crate) fn result(&self, result: ModelResult) -> Result<AssistantMessage, Error> {
        if let Some(journal) = lock(&self.journal_error).clone() {
            return Err(Error::Journal(journal));
        }
        let made = |count: &AtomicU32| count.load(Ordering::Relaxed);
        result.map_err(|error| Error::Model {
            error,
            attempts: made(&self.attempts).max(made(&self.requests)),
        })
    }

    /// A broken journal travels through the middlewares as an error that they need not retry.
    fn journal_failed(&self, error: JournalError) -> ModelError {
        let message = error.to_string();
        lock(&self.journal_error).get_or_insert(error);
        ModelError::Other {
            message,
            retryable: false,
        }
    }

    /// Takes back what the last request showed.
    fn discard(
        &self,
        cx: &RunContext,
        attempt: u32,
        error: &ModelError,
        retry_in: Option<Duration>,
    ) {
        lock(&self.shown).take();
        cx.emit(Event::AttemptDiscarded {
            turn: self.number,
            attempt,
            kind: error.word(),
            error: Box::new(error.clone()),
            retry_in,
        });
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
                Err(ModelError::Cancelled) => return Err(ModelError::Cancelled),
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
            self.discard(cx, attempt, &error, delay);
            let Some(delay) = delay else {
                return Err(error);
            };
            if !delay.is_zero() {
                self.wait(cx, attempt, delay).await?;
                waited = waited.saturating_add(delay);
            }
        }
    }

    async fn wait(&self, cx: &RunContext, attempt: u32, delay: Duration) -> Result<(), ModelError> {
        let name = format!("{}/a{attempt}/wait", self.name);
        let clock = &self.engine.config.inner.clock;
        let effect = async {
            futures::select_biased! {
                () = cx.cancellation().cancelled().fuse() => Record::Cancelled,
                () = clock.sleep(delay).fuse() => Record::Slept,
            }
        };
        let step = self
            .engine
            .step(&name, StepKind::Sleep(delay), effect.boxed());
        match step.await {
            Ok(Record::Slept) => Ok(()),
            Ok(Record::Cancelled) => Err(ModelError::Cancelled),
            Ok(_) => Err(self.journal_failed(Engine::foreign(&name))),
            Err(error) => Err(self.journal_failed(error)),
        }
    }

    /// One request, on record.
    async fn ask(&self, cx: &RunContext, request: ModelRequest) -> ModelResult {
        let broken = lock(&self.journal_error).clone();
        if let Some(error) = broken {
            return Err(self.journal_failed(error));
        }
        let attempt = self.attempts.load(Ordering::Relaxed);
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        // A middleware asks again within the attempt: for a fallback, or because it wants another.
        let shown = lock(&self.shown).take();
        if let Some(error) = shown {
            self.discard(cx, attempt, &error, Some(Duration::ZERO));
        }
        let name = format!("{}/a{attempt}/model{number}", self.name);
        let recorded = request.clone();
        let effect = async {
            let result = self.stream(cx, request).await;
            // A client may call the end of a cancelled request what it likes.
            Record::Model(match result {
                Err(_) if cx.cancellation().is_cancelled() => Err(ModelError::Cancelled),
                result => result,
            })
        };
        let step = self
            .engine
            .step(&name, StepKind::Model(&recorded), effect.boxed());
        let result = match step.await {
            Ok(Record::Model(result)) => result,
            Ok(_) => Err(self.journal_failed(Engine::foreign(&name))),
            Err(error) => Err(self.journal_failed(error)),
        };
        *lock(&self.shown) = Some(match &result {
            Ok(_) => ModelError::Other {
                message: "a middleware asked again".to_owned(),
                retryable: true,
            },
            Err(error) => error.clone(),
        });
        result
    }

    /// Streams one reply, telling of it as it comes.
    async fn stream(&self, cx: &RunContext, request: ModelRequest) -> ModelResult {
        let limits = &self.engine.config.inner.limits;
        if cx.cancellation().is_cancelled() {
            return Err(ModelError::Cancelled);
        }
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
            if let ModelEvent::Text { block, delta } = event {
                reply.push_text(block, &delta)?;
                if !delta.is_empty() {
                    cx.emit(Event::TextDelta(Delta { text: delta }));
                }
                continue;
            }
            reply.push(event)?;
        }
        reply.finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Gives the thread back once, to be polled again at once.
pub(crate) async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
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

    /// Also lets others run: who would cancel a stream that never pauses may be on this very thread.
    async fn check(&mut self) -> Result<(), ModelError> {
        pause().await;
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
