//! The journal of a session: what a run does becomes entries, before and after it is done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use harness_core::{
    Compaction, ContextUse, Effect, Journal, JournalError, Message, MessageRef, ModelId,
    ModelRequest, Record, RunOutcome, RunStatus, Step, StepKind, ThinkingLevel, ToolOutcome,
    ToolResults, UserMessage,
};

use crate::context::{CallState, Context, Queued};
use crate::entry::{
    Body, CompactionBody, Intent, MessageBody, ModelChangeBody, Queue, QueuedBody, ResultsBody,
    Settled, Settlement, StoredResult, ThinkingChangeBody, UsageBody,
};
use crate::error::Error;
use crate::id::EntryId;
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

#[derive(Debug)]
struct State {
    session: Session,
    /// For each message of the conversation, its entry.
    entries: Vec<EntryId>,
    queued: Vec<Queued>,
    model: Option<ModelId>,
    thinking: Option<ThinkingLevel>,
    /// What the run that was cut off had begun.
    left: HashMap<String, CallState>,
    /// The settlements of the calls since the last reply.
    settled: HashMap<String, (EntryId, Arc<ToolOutcome>)>,
    run_id: String,
    /// The intent of the run that is going on.
    run: Option<EntryId>,
    /// Why nothing more may be recorded.
    broken: Option<String>,
}

impl SessionJournal {
    /// The journal of a session, and the conversation to go on from.
    pub fn new(session: Session) -> Result<(Self, Context), Error> {
        let context = session.context()?;
        let journal = Self {
            state: Mutex::new(State {
                session,
                entries: Vec::new(),
                queued: Vec::new(),
                model: None,
                thinking: None,
                left: HashMap::new(),
                settled: HashMap::new(),
                run_id: String::new(),
                run: None,
                broken: None,
            }),
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
            .try_for_each(|message| state.message(message))
    }

    /// Does something with the session. Not while a run is going on. Whoever changes where the conversation
    /// goes on has to read the [`context`](Self::context) anew.
    pub fn with_session<T>(&self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(&mut self.lock().session)
    }

    /// Puts a message into a queue, on record. [`delivered`](Journal::run) when it enters the conversation.
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

impl State {
    /// How a run ended. All of it outlives a loss of power then.
    fn end(&mut self, outcome: &RunOutcome) -> Result<(), Error> {
        // A middleware may have answered in the loop's place, or have changed what came of it.
        let known = self.entries.len();
        let new = outcome.history.get(known..).unwrap_or_default();
        new.iter().try_for_each(|message| self.message(message))?;
        if known > outcome.history.len() {
            self.entries.truncate(outcome.history.len());
            let back = self.entries.last().copied();
            self.session.go_to(back)?;
        }
        let Some(intent) = self.run else {
            return Ok(());
        };
        let error = match &outcome.status {
            RunStatus::Finished(_) => None,
            RunStatus::Limit(limit) => Some(limit.to_string()),
            RunStatus::Stopped { by, reason } => Some(format!("stopped by {by}: {reason}")),
            RunStatus::Failed(error) => Some(error.to_string()),
            _ => Some(outcome.status.word().to_owned()),
        };
        let what = Settled::Run {
            outcome: outcome.status.word().to_owned(),
            error,
            turns: outcome.turns,
            usage: outcome.usage,
            cost: outcome.cost,
        };
        self.settle(intent, what)?;
        self.run = None;
        self.left.clear();
        self.session.sync()
    }

    fn adopt(&mut self, context: &Context) {
        self.entries.clone_from(&context.entries);
        self.queued.clone_from(&context.queued);
        self.model.clone_from(&context.model);
        self.thinking = context.thinking;
        self.left.clone_from(&context.calls);
        self.settled.clear();
        self.run = None;
        self.broken = None;
    }

    fn settle(&mut self, intent: EntryId, what: Settled) -> Result<EntryId, Error> {
        self.session
            .append(Body::Settlement(Settlement { intent, what }))
    }

    fn begin(&mut self, messages: usize, model: &ModelId) -> Result<(), Error> {
        if self.run.is_some() && self.entries.len() > messages {
            // A middleware lets the run begin again: what it said before is on a branch that is left.
            self.entries.truncate(messages);
            let back = self.entries.last().copied();
            self.session.go_to(back)?;
        }
        if self.entries.len() != messages {
            return Err(Error::Misuse(format!(
                "the run begins with {messages} messages, and the session has {}",
                self.entries.len()
            )));
        }
        let intent = Intent::Run {
            run: self.run_id.clone(),
            model: model.clone(),
        };
        self.run = Some(self.session.append(Body::Intent(intent))?);
        Ok(())
    }

    fn message(&mut self, message: &MessageRef) -> Result<(), Error> {
        let (body, is_end) = match &**message {
            Message::ToolResults(results) => (Body::Results(self.results(results)), true),
            Message::User(user) => {
                let waiting = self.queued.iter().position(|it| it.message == *user);
                let queued = waiting.map(|at| self.queued.remove(at));
                let body = MessageBody {
                    message: message.clone(),
                    queued: queued.as_ref().map(|queued| queued.entry),
                };
                let appended = self.session.append(Body::Message(body));
                if let (Err(_), Some(queued), Some(at)) = (&appended, queued, waiting) {
                    // It waits still.
                    self.queued.insert(at, queued);
                }
                self.entries.push(appended?);
                return Ok(());
            }
            _ => {
                let is_end = match &**message {
                    Message::Assistant(reply) => reply.tool_calls().next().is_none(),
                    _ => false,
                };
                self.settled.clear();
                self.left.clear();
                let body = MessageBody {
                    message: message.clone(),
                    queued: None,
                };
                (Body::Message(body), is_end)
            }
        };
        let entry = self.session.append(body)?;
        self.entries.push(entry);
        if is_end {
            self.session.checkpoint()?;
        }
        Ok(())
    }

    /// The results of a batch: where the outcome is what its settlement says, the settlement says it.
    fn results(&mut self, results: &ToolResults) -> ResultsBody {
        let settled = std::mem::take(&mut self.settled);
        self.left.clear();
        let stored = results.results.iter().map(|result| {
            let mut stored = StoredResult::from(result.clone());
            if let Some((entry, outcome)) = settled.get(&result.call_id)
                && (Arc::ptr_eq(outcome, &result.outcome) || **outcome == *result.outcome)
            {
                stored.outcome = None;
                stored.settlement = Some(*entry);
            }
            stored
        });
        ResultsBody {
            results: stored.collect(),
        }
    }

    fn compact(&mut self, compaction: &Compaction, tokens_before: u64) -> Result<(), Error> {
        let Some(cut) = self.entries.len().checked_sub(compaction.kept) else {
            return Err(Error::Misuse(
                "a compaction keeps more than there is".to_owned(),
            ));
        };
        if let Some(spent) = &compaction.spent {
            self.session.append(Body::Usage(UsageBody {
                purpose: "compaction".to_owned(),
                model: spent.model.clone(),
                usage: spent.usage,
                cost: spent.cost,
            }))?;
        }
        let entry = self.session.append(Body::Compaction(CompactionBody {
            messages: compaction.summary.clone(),
            first_kept: self.entries.get(cut).copied(),
            tokens_before,
            reason: compaction.reason.word().to_owned(),
            model: self.model.clone(),
            thinking: self.thinking,
            queued: self.queued.iter().map(|queued| queued.entry).collect(),
            run: self.run,
            details: compaction.details.clone(),
        }))?;
        self.entries
            .splice(..cut, vec![entry; compaction.summary.len()]);
        Ok(())
    }

    fn before_model(&mut self, step: &str, request: &ModelRequest) -> Result<EntryId, Error> {
        let model = &request.model.info().id;
        if self.model.as_ref() != Some(model) {
            self.session.append(Body::ModelChange(ModelChangeBody {
                model: model.clone(),
            }))?;
            self.model = Some(model.clone());
        }
        if self.thinking != Some(request.thinking) {
            self.session
                .append(Body::ThinkingChange(ThinkingChangeBody {
                    thinking: request.thinking,
                }))?;
            self.thinking = Some(request.thinking);
        }
        self.session.append(Body::Intent(Intent::Model {
            step: step.to_owned(),
            model: model.clone(),
            thinking: request.thinking,
            messages: request.messages.len(),
            max_output_tokens: request.max_output_tokens,
        }))
    }

    fn after_model(
        &mut self,
        intent: EntryId,
        request: &ModelRequest,
        record: &Record,
    ) -> Result<(), Error> {
        let (stop, usage, error) = match record {
            Record::Model(Ok(reply)) => (Some(reply.stop.clone()), reply.usage, None),
            Record::Model(Err(error)) => (None, None, Some(error.to_string())),
            _ => (None, None, None),
        };
        let prices = request.model.info().prices;
        let cost = usage.zip(prices).map(|(usage, prices)| prices.cost(&usage));
        let what = Settled::Model {
            stop,
            usage,
            cost: cost.filter(|cost| cost.is_finite()),
            error,
        };
        self.settle(intent, what)?;
        Ok(())
    }

    fn after_tool(&mut self, intent: EntryId, call_id: &str, record: &Record) -> Result<(), Error> {
        let (outcome, elapsed) = match record {
            Record::Tool { outcome, elapsed } => (Arc::new(outcome.clone()), *elapsed),
            Record::Fatal(message) => (
                Arc::new(ToolOutcome::failed(message.clone())),
                Duration::ZERO,
            ),
            _ => (Arc::new(ToolOutcome::Interrupted), Duration::ZERO),
        };
        let what = Settled::Tool {
            call_id: call_id.to_owned(),
            outcome: Arc::clone(&outcome),
            elapsed,
        };
        let entry = self.settle(intent, what)?;
        self.settled.insert(call_id.to_owned(), (entry, outcome));
        Ok(())
    }
}

#[async_trait]
impl Journal for SessionJournal {
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
                self.lock().message(message).map_err(failed)?;
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
            StepKind::Tool { call, replay } => {
                let left = self.lock().left.remove(&call.id);
                let intent = match left {
                    Some(CallState::Ended {
                        settlement,
                        outcome,
                        elapsed,
                    }) => {
                        let record = Record::Tool {
                            outcome: outcome.as_ref().clone(),
                            elapsed,
                        };
                        let settled = (settlement, outcome);
                        self.lock().settled.insert(call.id.clone(), settled);
                        return Ok(record);
                    }
                    Some(CallState::Begun { intent }) => {
                        if let Some(record) = step.kind.unfinished() {
                            let settled = self.lock().after_tool(intent, &call.id, &record);
                            settled.map_err(failed)?;
                            return Ok(record);
                        }
                        intent
                    }
                    None => {
                        let intent = Intent::Tool {
                            step: step.name.to_owned(),
                            call_id: call.id.clone(),
                            name: call.name.clone(),
                            arguments: Arc::clone(&call.arguments),
                            replay: *replay,
                        };
                        let appended = self.lock().session.append(Body::Intent(intent));
                        appended.map_err(failed)?
                    }
                };
                let record = effect.await;
                let settled = self.lock().after_tool(intent, &call.id, &record);
                settled.map_err(failed)?;
                Ok(record)
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
