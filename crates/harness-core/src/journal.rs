//! The journal: every effect of a run, under a stable name.
//!
//! The loop is a deterministic function of its input and of the journal's answers. Each model
//! request, tool call, id, time, random number and queued message passes through
//! [`Journal::run`] under a name, in the same order on every replay. A run that crashed is recovered
//! by running it again over what was recorded: recorded steps answer at once, the first one that was
//! not recorded runs for real.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::compaction::{Compaction, ContextUse};
use crate::error::{JournalError, ModelError};
use crate::message::{AssistantMessage, MessageRef, UserMessage};
use crate::middleware::ActiveCall;
use crate::model::{ModelId, ModelRequest};
use crate::outcome::{LimitReached, RunOutcome, ToolOutcome};
use crate::spending::Expense;
use crate::tool::Replay;

/// What a step does when it is not answered from the record. Runs at most once.
pub type Effect<'a> = BoxFuture<'a, Record>;

/// Where the steps of a run are recorded.
///
/// An implementation writes down that the step began, awaits `effect`, writes down what came out, and
/// gives it back; or gives back what it wrote down before. A write that fails is an error, and the run
/// ends with it: an effect that is not on record must not be built upon.
///
/// The future borrows the journal and the effect only for the length of the call, so engines that
/// lend their context for that long can implement it.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Runs a step, or answers it from the record.
    async fn run<'a>(&'a self, step: Step<'a>, effect: Effect<'a>) -> Result<Record, JournalError>;

    /// Whether it is on record how a call ended that a run which was cut off had begun, or that it must not be
    /// made again. Then nobody is asked about it any more: it goes straight to its record. By default, no.
    fn is_settled(&self, call_id: &str) -> bool {
        let _ = call_id;
        false
    }
}

/// A step: its name, and what it is about to do.
#[derive(Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// Unique within the run, and the same on each replay: `t3/call1/tool`.
    pub name: &'a str,
    /// What it does.
    pub kind: StepKind<'a>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(name: &'a str, kind: StepKind<'a>) -> Self {
        Self { name, kind }
    }
}

/// What a step does.
#[derive(Debug)]
#[non_exhaustive]
pub enum StepKind<'a> {
    /// Reads an id, the time, a random number or a queue.
    Value,
    /// Waits. The effect ends early, with [`Record::Cancelled`], when the run is cancelled.
    Sleep(Duration),
    /// A run begins, from a conversation that has so many messages and may end with open calls. A
    /// middleware may let it begin again; then what it said before does not count.
    Begin {
        /// How many messages.
        messages: usize,
        /// The model that it begins with.
        model: &'a ModelId,
    },
    /// The run has ended like this. Not passed if the journal has failed before.
    End(&'a RunOutcome),
    /// A message enters the conversation: once this is on record, it is part of it. Messages pass in the
    /// order in which they stand there, so that a journal that keeps them keeps the conversation.
    Message(&'a MessageRef),
    /// Looks whether the conversation is to be made shorter, and makes the summary.
    Compaction(&'a ContextUse),
    /// Asks a model.
    Model(&'a ModelRequest),
    /// A middleware decides about a call.
    Decision {
        /// The call, as it was when the middleware saw it.
        call: &'a ActiveCall,
        /// A word for what is decided: `permission`.
        kind: &'a str,
    },
    /// Calls a tool.
    Tool {
        /// The call, as the middlewares left it.
        call: &'a ActiveCall,
        /// Whether it may run again if its end was not recorded.
        replay: Replay,
    },
}

impl StepKind<'_> {
    /// What to answer for a step that began and has no recorded end, or `None` to run it again.
    pub fn unfinished(&self) -> Option<Record> {
        match self {
            Self::Tool {
                replay: Replay::Never,
                ..
            } => Some(Record::Tool {
                outcome: ToolOutcome::Interrupted,
                elapsed: Duration::ZERO,
            }),
            Self::Tool {
                replay: Replay::Safe,
                ..
            }
            | Self::Value
            | Self::Sleep(_)
            | Self::Begin { .. }
            | Self::End(_)
            | Self::Message(_)
            | Self::Compaction(_)
            | Self::Decision { .. }
            | Self::Model(_) => None,
        }
    }
}

/// What came out of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record {
    /// An id.
    Id(String),
    /// Time since the Unix epoch.
    Time(Duration),
    /// The time at the beginning of a turn, together with what concerns other runs.
    TurnTime {
        /// Since the Unix epoch.
        time: Duration,
        /// What runs used that were started within this one, since it looked last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        children: Option<Expense>,
        /// The limit of a run around this one that was reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<LimitReached>,
    },
    /// A random number.
    Random(u64),
    /// The wait is over.
    Slept,
    /// The run had been cancelled. On record, so that a replay ends where the run did.
    Cancelled,
    /// Messages that were taken from a queue.
    Messages(Vec<UserMessage>),
    /// It is on record that the run began or ended, or that the message is part of the conversation.
    Noted,
    /// What stands for the beginning of the conversation from here on; `None`: nothing changes.
    Compacted(Option<Compaction>),
    /// How a model request ended.
    Model(Result<AssistantMessage, ModelError>),
    /// What a middleware decided.
    Decision(serde_json::Value),
    /// How a tool call ended.
    Tool {
        /// The outcome.
        outcome: ToolOutcome,
        /// How long it took.
        elapsed: Duration,
    },
    /// A tool call that ends the run.
    Fatal(String),
}

/// A journal that records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

#[async_trait]
impl Journal for NoJournal {
    async fn run<'a>(&'a self, _: Step<'a>, effect: Effect<'a>) -> Result<Record, JournalError> {
        Ok(effect.await)
    }
}

/// A journal in memory: recovers a run within the process, and shows tests what was done.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    steps: Vec<RecordedStep>,
    by_name: HashMap<String, usize>,
}

/// A step on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedStep {
    /// The step's name.
    pub name: String,
    /// What came out; `None` if the step began and its end was not recorded.
    pub record: Option<Record>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// A journal that holds `steps`.
    pub fn from_steps(steps: Vec<RecordedStep>) -> Self {
        let by_name = steps
            .iter()
            .enumerate()
            .map(|(index, step)| (step.name.clone(), index))
            .collect();
        Self {
            recorded: Mutex::new(Recorded { steps, by_name }),
        }
    }

    /// What is on record, in the order in which the steps began.
    pub fn steps(&self) -> Vec<RecordedStep> {
        self.lock().steps.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorded {
    fn get(&self, name: &str) -> Option<&RecordedStep> {
        self.by_name
            .get(name)
            .and_then(|index| self.steps.get(*index))
    }

    fn put(&mut self, name: &str, record: Option<Record>) {
        if let Some(step) = self
            .by_name
            .get(name)
            .copied()
            .and_then(|index| self.steps.get_mut(index))
        {
            step.record = record;
        } else {
            self.by_name.insert(name.to_owned(), self.steps.len());
            self.steps.push(RecordedStep {
                name: name.to_owned(),
                record,
            });
        }
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn run<'a>(&'a self, step: Step<'a>, effect: Effect<'a>) -> Result<Record, JournalError> {
        let known = self.lock().get(step.name).cloned();
        match known {
            Some(RecordedStep {
                record: Some(record),
                ..
            }) => return Ok(record),
            Some(RecordedStep { record: None, .. }) => {
                if let Some(record) = step.kind.unfinished() {
                    self.lock().put(step.name, Some(record.clone()));
                    return Ok(record);
                }
            }
            None => self.lock().put(step.name, None),
        }
        let record = effect.await;
        self.lock().put(step.name, Some(record.clone()));
        Ok(record)
    }
}
