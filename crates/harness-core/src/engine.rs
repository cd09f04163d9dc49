//! What the parts of a run share, and how they pass through its journal.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;

use crate::batch::Batch;
use crate::config::LoopConfig;
use crate::context::RunContext;
use crate::error::{Error, JournalError};
use crate::event::{Event, MessageSource};
use crate::journal::{Effect, Journal, Record, Step, StepKind};
use crate::message::{Message, MessageRef, ToolResults, UserMessage};
use crate::outcome::{LimitReached, RunOutcome};
use crate::queue::Queues;
use crate::spending::{Expense, Spending};
use crate::state::State;

/// One run in progress: what all its parts need.
pub(crate) struct Engine<'a> {
    pub(crate) config: &'a LoopConfig,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) queues: &'a Queues,
    /// How often the innermost layer ran: a middleware may run it again.
    pub(crate) passes: AtomicU32,
}

/// When a turn begins, and what concerns other runs then.
pub(crate) struct TurnTime {
    pub(crate) time: Duration,
    /// What runs used that were started within this one, since it looked last.
    pub(crate) children: Option<Expense>,
    /// The limit of a run around this one that was reached.
    pub(crate) limit: Option<LimitReached>,
}

impl Engine<'_> {
    /// Passes a step through the journal.
    pub(crate) async fn step(
        &self,
        name: &str,
        kind: StepKind<'_>,
        effect: Effect<'_>,
    ) -> Result<Record, JournalError> {
        self.journal.run(Step::new(name, kind), effect).await
    }

    pub(crate) async fn value(
        &self,
        name: &str,
        read: impl FnOnce(&Self) -> Record + Send,
    ) -> Result<Record, JournalError> {
        self.step(name, StepKind::Value, async { read(self) }.boxed())
            .await
    }

    /// The time, on record.
    pub(crate) async fn now(&self, name: &str) -> Result<Duration, JournalError> {
        match self
            .value(name, |engine| Record::Time(engine.config.inner.clock.now()))
            .await?
        {
            Record::Time(time) => Ok(time),
            _ => Err(Self::foreign(name)),
        }
    }

    /// A random number, on record.
    pub(crate) async fn random(&self, name: &str) -> Result<u64, JournalError> {
        match self
            .value(name, |engine| {
                Record::Random(engine.config.inner.entropy.next())
            })
            .await?
        {
            Record::Random(random) => Ok(random),
            _ => Err(Self::foreign(name)),
        }
    }

    /// Messages from the queues, on record.
    pub(crate) async fn messages(
        &self,
        name: &str,
        take: impl FnOnce(&Queues) -> Vec<UserMessage> + Send,
    ) -> Result<Vec<UserMessage>, JournalError> {
        let taken = Mutex::new(Vec::new());
        let record = self.value(name, |engine| {
            let messages = take(engine.queues);
            taken
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&messages);
            Record::Messages(messages)
        });
        let error = match record.await {
            Ok(Record::Messages(messages)) => return Ok(messages),
            Ok(_) => Self::foreign(name),
            Err(error) => error,
        };
        // Taken and not on record: they were not delivered.
        let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.queues.put_back(taken);
        Err(error)
    }

    /// The time, on record, but not before `least`, and what concerns other runs; or, on record too, that the run
    /// was cancelled.
    pub(crate) async fn time_or_cancel(
        &self,
        cx: &RunContext,
        name: &str,
        least: Duration,
    ) -> Result<Option<TurnTime>, JournalError> {
        let record = self.value(name, |engine| {
            if cx.cancellation().is_cancelled() {
                return Record::Cancelled;
            }
            let time = engine.config.inner.clock.now().max(least);
            let children = cx.spending().and_then(Spending::take_unseen);
            let limit = cx.outer_limit();
            if children.is_none() && limit.is_none() {
                return Record::Time(time);
            }
            Record::TurnTime {
                time,
                children,
                limit,
            }
        });
        match record.await? {
            Record::Time(time) => Ok(Some(TurnTime {
                time,
                children: None,
                limit: None,
            })),
            Record::TurnTime {
                time,
                children,
                limit,
            } => Ok(Some(TurnTime {
                time,
                children,
                limit,
            })),
            Record::Cancelled => Ok(None),
            _ => Err(Self::foreign(name)),
        }
    }

    /// Puts on record that the run begins.
    pub(crate) async fn begin(&self, name: &str, messages: usize) -> Result<(), JournalError> {
        let model = &self.config.inner.model.info().id;
        let effect = std::future::ready(Record::Noted).boxed();
        let kind = StepKind::Begin { messages, model };
        match self.step(name, kind, effect).await? {
            Record::Noted => Ok(()),
            _ => Err(Self::foreign(name)),
        }
    }

    /// Puts on record how the run ended.
    pub(crate) async fn end(&self, outcome: &RunOutcome) -> Result<(), JournalError> {
        let effect = std::future::ready(Record::Noted).boxed();
        match self.step("end", StepKind::End(outcome), effect).await? {
            Record::Noted => Ok(()),
            _ => Err(Self::foreign("end")),
        }
    }

    /// Adds what the user said when nothing can be put on record any more: it is not lost with the run.
    pub(crate) fn say_unrecorded(cx: &RunContext, state: &mut State, messages: Vec<UserMessage>) {
        for message in messages.into_iter().filter_map(without_blanks) {
            let message = MessageRef::new(Message::User(message));
            state.push(message.clone());
            let source = MessageSource::Prompt;
            cx.emit(Event::UserMessage { message, source });
        }
    }

    /// Adds messages of the user's side, each on record first. Whether there was any that was not blank.
    ///
    /// One that cannot be recorded is added, too: what the user said is not lost with the run.
    pub(crate) async fn say(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
        messages: Vec<UserMessage>,
        source: MessageSource,
    ) -> Result<bool, JournalError> {
        let mut said = 0_usize;
        let mut failed = None;
        for message in messages.into_iter().filter_map(without_blanks) {
            let message = MessageRef::new(Message::User(message));
            if failed.is_none() {
                failed = self.note(&format!("{name}{said}"), &message).await.err();
            }
            said += 1;
            state.push(message.clone());
            cx.emit(Event::UserMessage { message, source });
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(said > 0),
        }
    }

    /// Puts a message on record.
    pub(crate) async fn note(&self, name: &str, message: &MessageRef) -> Result<(), JournalError> {
        let effect = std::future::ready(Record::Noted).boxed();
        match self.step(name, StepKind::Message(message), effect).await? {
            Record::Noted => Ok(()),
            _ => Err(Self::foreign(name)),
        }
    }

    /// Adds the results of a batch, and gives what ended the run in it, if anything did. If they cannot be
    /// recorded, they are added all the same: each call in the history has its result, whatever happened.
    pub(crate) async fn take_results(
        &self,
        state: &mut State,
        turn: &str,
        batch: &Batch<'_>,
        results: &Arc<ToolResults>,
    ) -> Result<Option<Error>, JournalError> {
        let message = MessageRef::new(Message::ToolResults(results.as_ref().clone()));
        let noted = match batch.error() {
            // Nothing is done under a journal that has failed.
            Some(Error::Journal(error)) => Err(error),
            error => {
                let noted = self.note(&format!("{turn}/results"), &message).await;
                noted.map(|()| error)
            }
        };
        state.push(message);
        noted
    }

    /// The error for a record that cannot be the answer to its step.
    pub(crate) fn foreign(name: &str) -> JournalError {
        JournalError {
            step: name.to_owned(),
            message: "the record is of another kind: it is from another run or version".to_owned(),
        }
    }
}

/// A user's message without its blank parts, if anything is left.
fn without_blanks(mut message: UserMessage) -> Option<UserMessage> {
    message.content.retain(|part| !part.is_blank());
    (!message.is_blank()).then_some(message)
}
