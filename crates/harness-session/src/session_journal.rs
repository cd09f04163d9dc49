//! The journal of a session: what a run does becomes entries, before and after it is done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use harness_core::{
    Compaction, ContextUse, Effect, Journal, JournalError, MessageRef, Record, Step, StepKind,
    ToolOutcome, UserMessage,
};

use crate::context::{Context, Queued};
use crate::entry::{Body, Intent, Queue, QueuedBody};
use crate::error::Error;
use crate::journal_state::{Known, State, place_of};
use crate::session::Session;

/// Records the runs of one session, and knows how far a run came that was cut off.
///
/// Before each model request and each tool call it appends an intent, after each a settlement; and each
/// message as it enters the conversation. A call that a run which was cut off had begun is not begun again:
/// if its end is on record, that is its outcome; if not, it runs again only if its tool says that it may,
/// and is [`ToolOutcome::Interrupted`] otherwise.
///
/// One run at a time, with the conversation of [`context`](Self::context) as its history.
#[derive(Debug)]
pub struct SessionJournal {
    state: Mutex<State>,
}

impl SessionJournal {
    /// The journal of a session, and the conversation to go on from.
    pub fn new(session: Session) -> Result<(Self, Context), Error> {
        let context = session.context()?;
        let journal = Self {
            state: Mutex::new(State::new(session)),
        };
        journal.lock().adopt(&context);
        Ok((journal, context))
    }

    /// Reads the conversation anew: after a run that was dropped or whose journal failed, or after the
    /// session has gone elsewhere.
    ///
    /// If it cannot be read, nothing more is recorded until it can: each step fails with the reason.
    pub fn context(&self) -> Result<Context, Error> {
        let mut state = self.lock();
        match state.session.context() {
            Ok(context) => {
                state.adopt(&context);
                Ok(context)
            }
            Err(error) => {
                state.broken = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Takes over messages that were kept elsewhere, at the end of the conversation.
    pub fn import(&self, messages: &[MessageRef]) -> Result<(), Error> {
        let mut state = self.lock();
        messages
            .iter()
            .try_for_each(|message| state.message(message, None))
    }

    /// The next run begins with these messages that wait, in this order. They are delivered then also if a
    /// middleware gives them another text.
    pub fn begin_with(&self, queued: &[Queued]) {
        self.lock().begins_with = queued.iter().map(|queued| queued.entry).collect();
    }

    /// Does something with the session. Not while a run is going on. Whoever changes where the conversation
    /// goes on has to read the [`context`](Self::context) anew.
    pub fn with_session<T>(&self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(&mut self.lock().session)
    }

    /// Puts a message into a queue, on record, until it enters the conversation.
    pub fn enqueue(&self, queue: Queue, message: &UserMessage) -> Result<(), Error> {
        let mut state = self.lock();
        let body = Body::Queued(QueuedBody {
            queue,
            message: message.clone(),
        });
        let entry = state.session.append(body)?;
        state.queued.push(Queued {
            entry,
            queue,
            message: message.clone(),
        });
        Ok(())
    }

    /// The messages that wait.
    pub fn queued(&self) -> Vec<Queued> {
        self.lock().queued.clone()
    }

    /// Replaces the beginning of the conversation, between runs.
    pub fn compact(&self, compaction: &Compaction, tokens_before: u64) -> Result<(), Error> {
        self.lock().compact(compaction, tokens_before)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for SessionJournal {
    fn is_settled(&self, call_id: &str) -> bool {
        self.lock().is_settled(call_id)
    }

    async fn run<'a>(&'a self, step: Step<'a>, effect: Effect<'a>) -> Result<Record, JournalError> {
        let broken = |message: String| JournalError {
            step: step.name.to_owned(),
            message,
        };
        let failed = |error: Error| broken(error.to_string());
        let problem = self.lock().broken.clone();
        if let Some(problem) = problem {
            return Err(broken(problem));
        }
        match &step.kind {
            StepKind::Begin { messages, model } => {
                self.lock().begin(*messages, model).map_err(failed)?;
                Ok(effect.await)
            }
            StepKind::End(outcome) => {
                self.lock().end(outcome).map_err(failed)?;
                Ok(effect.await)
            }
            StepKind::Message(message) => {
                let place = place_of(step.name);
                self.lock().message(message, place).map_err(failed)?;
                Ok(effect.await)
            }
            StepKind::Model(request) => {
                let intent = self
                    .lock()
                    .before_model(step.name, request)
                    .map_err(failed)?;
                let record = effect.await;
                let settled = self.lock().after_model(intent, request, &record);
                settled.map_err(failed)?;
                Ok(record)
            }
            StepKind::Decision { call, kind } => {
                if let Some(decision) = self.lock().decided(&call.id, kind) {
                    return Ok(Record::Decision(decision));
                }
                let record = effect.await;
                if let Record::Decision(decision) = &record {
                    let appended = self.lock().decide(&call.id, kind, decision);
                    appended.map_err(failed)?;
                }
                Ok(record)
            }
            StepKind::Tool { call, replay } => {
                let known = self.lock().known(step.name, &call.id, *replay);
                let intent = match known.map_err(failed)? {
                    Known::Ended(record) => return Ok(record),
                    Known::Begun(intent) => intent,
                    Known::Nothing => {
                        let intent = Intent::Tool {
                            step: step.name.to_owned(),
                            call_id: call.id.clone(),
                            name: call.name.clone(),
                            arguments: Arc::clone(&call.arguments),
                            replay: *replay,
                        };
                        let appended = self.lock().session.append(Body::Intent(intent));
                        match appended {
                            Ok(intent) => intent,
                            // As above: the model can make another call.
                            Err(Error::Misuse(problem)) => {
                                let outcome = ToolOutcome::failed(format!(
                                    "Not executed: the call cannot be put on record: {problem}."
                                ));
                                let elapsed = Duration::ZERO;
                                return Ok(Record::Tool { outcome, elapsed });
                            }
                            Err(error) => return Err(failed(error)),
                        }
                    }
                };
                let record = effect.await;
                let settled = self.lock().after_tool(intent, &call.id, record);
                settled.map_err(failed)
            }
            StepKind::Compaction(used) => {
                let record = effect.await;
                if let Record::Compacted(Some(compaction)) = &record {
                    let ContextUse { tokens, .. } = used;
                    let compacted = self.lock().compact(compaction, *tokens);
                    compacted.map_err(failed)?;
                }
                Ok(record)
            }
            _ => {
                let record = effect.await;
                if let (Record::Id(id), true) = (&record, step.name == "run") {
                    self.lock().run_id.clone_from(id);
                }
                Ok(record)
            }
        }
    }
}
