//! What a session's journal knows of the run that it records.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use harness_core::{
    Compaction, Message, MessageRef, ModelId, ModelRequest, Record, Replay, RunOutcome, RunStatus,
    ThinkingLevel, ToolOutcome, ToolResults, UserMessage,
};

use crate::context::{CallState, Context, Queued};
use crate::entry::{
    Body, CompactionBody, DecisionBody, Intent, MessageBody, ModelChangeBody, QueuedBody,
    ResultsBody, Settled, Settlement, StoredResult, ThinkingChangeBody, UsageBody,
};
use crate::error::Error;
use crate::id::EntryId;
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) session: Session,
    /// The conversation.
    pub(crate) messages: Vec<MessageRef>,
    /// For each message of it, its entry.
    pub(crate) entries: Vec<EntryId>,
    pub(crate) queued: Vec<Queued>,
    /// Those that the run begins with, in order: a middleware may give them another text.
    pub(crate) begins_with: Vec<EntryId>,
    /// Those that were delivered by this run, and where they stand in the conversation.
    pub(crate) delivered: Vec<(usize, Queued)>,
    pub(crate) model: Option<ModelId>,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// What the run that was cut off had begun.
    pub(crate) left: HashMap<String, CallState>,
    /// What it had decided about calls, in order; each is asked for once.
    pub(crate) decisions: Vec<DecisionBody>,
    /// What was answered from there, by the names of the steps: one may ask again.
    pub(crate) answered: HashMap<String, Record>,
    /// How many messages there were when the run began, and what came of the calls that were open then.
    pub(crate) began_at: usize,
    pub(crate) open_calls: BTreeMap<String, Settlement>,
    /// The intent of the run that was cut off.
    pub(crate) open_run: Option<EntryId>,
    /// The settlements of the calls since the last reply.
    pub(crate) settled: HashMap<String, (EntryId, Arc<ToolOutcome>)>,
    pub(crate) run_id: String,
    /// The intent of the run that is going on.
    pub(crate) run: Option<EntryId>,
    /// Why nothing more may be recorded.
    pub(crate) broken: Option<String>,
}

impl State {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            messages: Vec::new(),
            entries: Vec::new(),
            queued: Vec::new(),
            begins_with: Vec::new(),
            delivered: Vec::new(),
            model: None,
            thinking: None,
            left: HashMap::new(),
            decisions: Vec::new(),
            answered: HashMap::new(),
            began_at: 0,
            open_calls: BTreeMap::new(),
            open_run: None,
            settled: HashMap::new(),
            run_id: String::new(),
            run: None,
            broken: None,
        }
    }

    /// How a run ended. All of it outlives a loss of power then.
    pub(crate) fn end(&mut self, outcome: &RunOutcome) -> Result<(), Error> {
        // A middleware may have answered in the loop's place, or have changed what came of it.
        let known = self.messages.iter().zip(&outcome.history);
        let known = known
            .take_while(|(known, told)| known.same(told) || known == told)
            .count();
        // What it took away was delivered all the same.
        self.delivered.clear();
        self.go_back(known)?;
        let new = outcome.history.get(known..).unwrap_or_default();
        new.iter()
            .try_for_each(|message| self.message(message, None))?;
        self.begins_with.clear();
        self.delivered.clear();
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
        self.forget_calls();
        self.open_calls.clear();
        self.session.sync()
    }

    pub(crate) fn adopt(&mut self, context: &Context) {
        self.messages.clone_from(&context.messages);
        self.entries.clone_from(&context.entries);
        self.begins_with.clear();
        self.delivered.clear();
        self.answered.clear();
        self.open_calls.clear();
        self.open_run = context.open_run;
        self.queued.clone_from(&context.queued);
        self.model.clone_from(&context.model);
        self.thinking = context.thinking;
        self.left.clone_from(&context.calls);
        self.decisions.clone_from(&context.decisions);
        self.settled.clear();
        self.run = None;
        self.broken = None;
    }

    pub(crate) fn settle(&mut self, intent: EntryId, what: Settled) -> Result<EntryId, Error> {
        self.session
            .append(Body::Settlement(Settlement { intent, what }))
    }

    pub(crate) fn begin(&mut self, messages: usize, model: &ModelId) -> Result<(), Error> {
        let again = self.run.is_some();
        if again {
            // A middleware lets the run begin again: what it said before is on a branch that is left.
            self.go_back(messages)?;
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
        self.open_run = None;
        if !again {
            self.began_at = messages;
        } else if self.began_at == messages {
            self.take_calls_along()?;
        }
        Ok(())
    }

    /// Goes on behind the first messages, on another branch. What waits comes along.
    pub(crate) fn go_back(&mut self, messages: usize) -> Result<(), Error> {
        if self.entries.len() <= messages {
            return Ok(());
        }
        self.messages.truncate(messages);
        self.entries.truncate(messages);
        let back = self.entries.last().copied();
        self.session.go_to(back)?;
        let taken_back = self.delivered.iter().filter(|(at, _)| *at >= messages);
        self.queued
            .extend(taken_back.map(|(_, queued)| queued.clone()));
        self.queued.sort_by_key(|queued| queued.entry);
        self.delivered.retain(|(at, _)| *at < messages);
        for queued in &mut self.queued {
            // Ids ascend: what is older than where it goes on is on this branch, too.
            if back.is_some_and(|back| queued.entry < back) {
                continue;
            }
            let body = QueuedBody {
                queue: queued.queue,
                message: queued.message.clone(),
            };
            let entry = self.session.append(Body::Queued(body))?;
            for known in &mut self.begins_with {
                if *known == queued.entry {
                    *known = entry;
                }
            }
            queued.entry = entry;
        }
        Ok(())
    }

    /// The calls that were open when the run began have ended on the branch that was left. They are not made
    /// again.
    pub(crate) fn take_calls_along(&mut self) -> Result<(), Error> {
        for settlement in self.open_calls.values() {
            let entry = self.session.append(Body::Settlement(settlement.clone()))?;
            if let Settled::Tool {
                call_id,
                outcome,
                elapsed,
            } = &settlement.what
            {
                let ended = CallState::Ended {
                    settlement: entry,
                    outcome: Arc::clone(outcome),
                    elapsed: *elapsed,
                };
                self.left.insert(call_id.clone(), ended);
            }
        }
        Ok(())
    }

    /// The calls of the last reply have their results.
    pub(crate) fn forget_calls(&mut self) {
        self.left.clear();
        self.decisions.clear();
        self.answered.clear();
    }

    /// The message that waits and is delivered as this one, which is the one of this place of those that the
    /// run begins with.
    pub(crate) fn waiting(&self, user: &UserMessage, place: Option<usize>) -> Option<usize> {
        let same = self.queued.iter().position(|it| it.message == *user);
        same.or_else(|| {
            let entry = self.begins_with.get(place?)?;
            self.queued.iter().position(|it| it.entry == *entry)
        })
    }

    pub(crate) fn message(
        &mut self,
        message: &MessageRef,
        place: Option<usize>,
    ) -> Result<(), Error> {
        let (body, is_end) = match &**message {
            Message::ToolResults(results) => (Body::Results(self.results(results)), true),
            Message::User(user) => {
                let waiting = self.waiting(user, place);
                let queued = waiting.map(|at| self.queued.remove(at));
                let body = MessageBody {
                    message: message.clone(),
                    queued: queued.as_ref().map(|queued| queued.entry),
                };
                let appended = self.session.append(Body::Message(body));
                if let Some((queued, at)) = queued.zip(waiting) {
                    match &appended {
                        Ok(_) => self.delivered.push((self.entries.len(), queued)),
                        // It waits still.
                        Err(_) => self.queued.insert(at, queued),
                    }
                }
                self.entries.push(appended?);
                self.messages.push(message.clone());
                return Ok(());
            }
            _ => {
                let is_end = match &**message {
                    Message::Assistant(reply) => reply.tool_calls().next().is_none(),
                    _ => false,
                };
                self.settled.clear();
                self.forget_calls();
                let body = MessageBody {
                    message: message.clone(),
                    queued: None,
                };
                (Body::Message(body), is_end)
            }
        };
        let entry = self.session.append(body)?;
        self.entries.push(entry);
        self.messages.push(message.clone());
        if is_end {
            self.session.checkpoint()?;
        }
        Ok(())
    }

    /// The results of a batch: where the outcome is what its settlement says, the settlement says it.
    pub(crate) fn results(&mut self, results: &ToolResults) -> ResultsBody {
        let settled = std::mem::take(&mut self.settled);
        self.forget_calls();
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

    pub(crate) fn compact(
        &mut self,
        compaction: &Compaction,
        tokens_before: u64,
    ) -> Result<(), Error> {
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
            run: self.run.or(self.open_run),
            details: compaction.details.clone(),
        }))?;
        self.entries
            .splice(..cut, vec![entry; compaction.summary.len()]);
        self.messages
            .splice(..cut, compaction.summary.iter().cloned());
        // A run that begins again begins with another conversation now.
        self.delivered.clear();
        self.open_calls.clear();
        Ok(())
    }

    pub(crate) fn before_model(
        &mut self,
        step: &str,
        request: &ModelRequest,
    ) -> Result<EntryId, Error> {
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

    pub(crate) fn after_model(
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

    /// Whether a call ended, or must not be made again.
    pub(crate) fn is_settled(&self, call_id: &str) -> bool {
        match self.left.get(call_id) {
            Some(CallState::Ended { .. }) => true,
            Some(CallState::Begun { replay, .. }) => *replay == Replay::Never,
            None => false,
        }
    }

    /// What a run that was cut off had decided about a call.
    pub(crate) fn decided(&mut self, call_id: &str, kind: &str) -> Option<serde_json::Value> {
        let mut all = self.decisions.iter();
        let at = all.position(|it| it.call_id == call_id && it.kind == kind)?;
        Some(self.decisions.remove(at).decision)
    }

    /// Puts a decision about a call on record.
    pub(crate) fn decide(
        &mut self,
        call_id: &str,
        kind: &str,
        decision: &serde_json::Value,
    ) -> Result<(), Error> {
        let body = Body::Decision(DecisionBody {
            call_id: call_id.to_owned(),
            kind: kind.to_owned(),
            decision: decision.clone(),
        });
        self.session.append(body).map(|_| ())
    }

    /// What is on record of a call that a run which was cut off had begun.
    pub(crate) fn known(
        &mut self,
        step: &str,
        call_id: &str,
        replay: Replay,
    ) -> Result<Known, Error> {
        if let Some(record) = self.answered.get(step) {
            return Ok(Known::Ended(record.clone()));
        }
        let record = match self.left.remove(call_id) {
            None => return Ok(Known::Nothing),
            Some(CallState::Begun {
                intent,
                replay: before,
            }) => {
                // The tool may have become another one since.
                if (before, replay) == (Replay::Safe, Replay::Safe) {
                    return Ok(Known::Begun(intent));
                }
                let record = Record::Tool {
                    outcome: ToolOutcome::Interrupted,
                    elapsed: Duration::ZERO,
                };
                self.after_tool(intent, call_id, record)?
            }
            Some(CallState::Ended {
                settlement,
                outcome,
                elapsed,
            }) => {
                let record = Record::Tool {
                    outcome: outcome.as_ref().clone(),
                    elapsed,
                };
                self.note_open_call(settlement, call_id, &outcome, elapsed);
                self.settled
                    .insert(call_id.to_owned(), (settlement, outcome));
                record
            }
        };
        self.answered.insert(step.to_owned(), record.clone());
        Ok(Known::Ended(record))
    }

    /// Keeps what came of a call that was open when the run began, for a run that begins again.
    pub(crate) fn note_open_call(
        &mut self,
        intent: EntryId,
        call_id: &str,
        outcome: &Arc<ToolOutcome>,
        elapsed: Duration,
    ) {
        if self.entries.len() == self.began_at {
            let what = Settled::Tool {
                call_id: call_id.to_owned(),
                outcome: Arc::clone(outcome),
                elapsed,
            };
            self.open_calls
                .insert(call_id.to_owned(), Settlement { intent, what });
        }
    }

    /// Puts on record how a call ended, and gives it back as it is there.
    pub(crate) fn after_tool(
        &mut self,
        intent: EntryId,
        call_id: &str,
        record: Record,
    ) -> Result<Record, Error> {
        let (outcome, elapsed) = match &record {
            Record::Tool { outcome, elapsed } => (outcome.clone(), *elapsed),
            Record::Fatal(message) => (ToolOutcome::failed(message.clone()), Duration::ZERO),
            _ => (ToolOutcome::Interrupted, Duration::ZERO),
        };
        let settle = |state: &mut Self, outcome: &Arc<ToolOutcome>| {
            let what = Settled::Tool {
                call_id: call_id.to_owned(),
                outcome: Arc::clone(outcome),
                elapsed,
            };
            state.settle(intent, what)
        };
        let outcome = Arc::new(outcome);
        let (entry, outcome, record) = match settle(self, &outcome) {
            Ok(entry) => (entry, outcome, record),
            // It would be so at each attempt, so that the session could never be gone on with.
            Err(Error::Misuse(problem)) => {
                let outcome = ToolOutcome::failed(format!(
                    "The tool ran, but what it answered cannot be put on record: {problem}."
                ));
                let entry = settle(self, &Arc::new(outcome.clone()))?;
                let record = Record::Tool {
                    outcome: outcome.clone(),
                    elapsed,
                };
                (entry, Arc::new(outcome), record)
            }
            Err(error) => return Err(error),
        };
        self.note_open_call(intent, call_id, &outcome, elapsed);
        self.settled.insert(call_id.to_owned(), (entry, outcome));
        Ok(record)
    }
}

/// What is on record of a call.
pub(crate) enum Known {
    Nothing,
    /// It began, and may run again.
    Begun(EntryId),
    Ended(Record),
}

/// The place of a message among those that a run begins with, by its step: `in0`.
pub(crate) fn place_of(step: &str) -> Option<usize> {
    let last = step.rsplit('/').next()?;
    last.strip_prefix("in")?.parse().ok()
}
