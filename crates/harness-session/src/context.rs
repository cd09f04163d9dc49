//! The conversation of a branch, as a run goes on from it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use harness_core::{
    Message, MessageRef, ModelId, Replay, ThinkingLevel, ToolOutcome, ToolResult, ToolResults,
    UserMessage, protocol,
};

use crate::entry::{
    Body, CompactionBody, DecisionBody, Entry, Intent, Queue, ResultsBody, Settled,
};
use crate::error::Error;
use crate::id::EntryId;
use crate::node::NodeKind;
use crate::store::Log;

/// The conversation of a branch, from its newest compaction on, and what a run that was cut off left open.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Context {
    /// The messages. They can be gone on from; if [`is_open`](Self::is_open), the last one may be a reply
    /// whose calls have no results yet.
    pub messages: Vec<MessageRef>,
    /// For each message, the entry that it came from.
    pub entries: Vec<EntryId>,
    /// The model that was used last.
    pub model: Option<ModelId>,
    /// The thinking level that was used last.
    pub thinking: Option<ThinkingLevel>,
    /// Messages that wait to be delivered, oldest first.
    pub queued: Vec<Queued>,
    /// The run that did not end.
    pub open_run: Option<EntryId>,
    /// How far the calls of the last reply came, by their ids.
    pub(crate) calls: HashMap<String, CallState>,
    /// What was decided about those calls, in order.
    pub(crate) decisions: Vec<DecisionBody>,
    /// Facts of the newest compaction.
    pub compaction_details: Option<serde_json::Value>,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Queued {
    /// The entry that has it.
    pub entry: EntryId,
    /// Where it waits.
    pub queue: Queue,
    /// The message.
    pub message: UserMessage,
}

/// How far a call came.
#[derive(Clone, Debug)]
pub(crate) enum CallState {
    /// It had begun, and its end is not on record.
    Begun { intent: EntryId, replay: Replay },
    /// It ended.
    Ended {
        settlement: EntryId,
        outcome: Arc<ToolOutcome>,
        elapsed: Duration,
    },
}

impl Context {
    /// Whether the last run did not end: the process died, or the run was dropped.
    pub fn is_open(&self) -> bool {
        self.open_run.is_some()
    }

    /// Whether there is something to answer: a run may go on from here without a new message.
    pub fn has_something_to_answer(&self) -> bool {
        match self.messages.last().map(|last| &**last) {
            None => false,
            Some(Message::Assistant(reply)) => {
                self.is_open() && reply.tool_calls().next().is_some()
            }
            Some(_) => true,
        }
    }

    /// Reads the branch that ends with an entry.
    pub(crate) fn read(log: &dyn Log, leaf: u64) -> Result<Self, Error> {
        Self::of(log, log.read_all(&walk_back(log, leaf)?)?)
    }

    /// The conversation of these entries, which follow one another.
    pub(crate) fn of(log: &dyn Log, entries: Vec<Entry>) -> Result<Self, Error> {
        let mut context = Self::default();
        let mut settled: HashMap<EntryId, Arc<ToolOutcome>> = HashMap::new();
        for entry in entries {
            context.take(log, entry, &mut settled)?;
        }
        context.mend();
        Ok(context)
    }

    fn take(
        &mut self,
        log: &dyn Log,
        entry: Entry,
        settled: &mut HashMap<EntryId, Arc<ToolOutcome>>,
    ) -> Result<(), Error> {
        let id = entry.id;
        match entry.body {
            Body::Message(body) => {
                if let Some(queued) = body.queued {
                    self.queued.retain(|waiting| waiting.entry != queued);
                }
                self.forget_calls();
                self.push(id, body.message);
            }
            Body::Results(body) => {
                self.forget_calls();
                self.push(id, results_of(body, settled));
            }
            Body::CustomMessage(body) => self.push(id, Message::User(body.message).into()),
            Body::BranchSummary(body) => self.push(id, body.message),
            Body::Compaction(body) => self.compact(log, id, body)?,
            Body::ModelChange(body) => self.model = Some(body.model),
            Body::ThinkingChange(body) => self.thinking = Some(body.thinking),
            // Whoever goes elsewhere does not go on with what was open.
            Body::Leaf(_) => {
                self.open_run = None;
                self.forget_calls();
            }
            Body::Queued(body) => self.queued.push(Queued {
                entry: id,
                queue: body.queue,
                message: body.message,
            }),
            Body::Intent(Intent::Run { .. }) => self.open_run = Some(id),
            Body::Intent(Intent::Tool {
                call_id, replay, ..
            }) => {
                let begun = CallState::Begun { intent: id, replay };
                self.calls.insert(call_id, begun);
            }
            Body::Settlement(settlement) => match settlement.what {
                Settled::Run { .. } => self.open_run = None,
                Settled::Tool {
                    call_id,
                    outcome,
                    elapsed,
                } => {
                    settled.insert(id, Arc::clone(&outcome));
                    let ended = CallState::Ended {
                        settlement: id,
                        outcome,
                        elapsed,
                    };
                    self.calls.insert(call_id, ended);
                }
                Settled::Model { .. } => {}
            },
            Body::Decision(decision) => self.decisions.push(decision),
            Body::Intent(Intent::Model { .. })
            | Body::Label(_)
            | Body::Name(_)
            | Body::Custom(_)
            | Body::Usage(_)
            | Body::Unknown(_) => {}
        }
        Ok(())
    }

    fn forget_calls(&mut self) {
        self.calls.clear();
        self.decisions.clear();
    }

    fn push(&mut self, entry: EntryId, message: MessageRef) {
        self.messages.push(message);
        self.entries.push(entry);
    }

    /// Puts a summary before what was kept: all that was read so far.
    fn compact(&mut self, log: &dyn Log, id: EntryId, body: CompactionBody) -> Result<(), Error> {
        let summary = body.messages.len();
        self.messages.splice(..0, body.messages);
        self.entries.splice(..0, vec![id; summary]);
        self.model = self.model.take().or(body.model);
        self.thinking = self.thinking.or(body.thinking);
        self.compaction_details = Some(body.details);
        self.open_run = body.run;
        let mut waiting = Vec::new();
        for entry in body.queued {
            if let Some(known) = self.queued.iter().find(|known| known.entry == entry) {
                waiting.push(known.clone());
            } else if let Some(number) = log.find(entry)?
                && let Ok(Entry {
                    body: Body::Queued(body),
                    ..
                }) = log.read(number)
            {
                waiting.push(Queued {
                    entry,
                    queue: body.queue,
                    message: body.message,
                });
            }
        }
        self.queued = waiting;
        Ok(())
    }

    /// Makes the messages fit to go on with, whatever is missing in the file.
    fn mend(&mut self) {
        let mut open = None;
        if self.is_open()
            && let Some(Message::Assistant(reply)) = self.messages.last().map(|last| &**last)
            && reply.tool_calls().next().is_some()
        {
            open = self.messages.pop().zip(self.entries.pop());
        }
        let before = std::mem::take(&mut self.messages);
        let entries = std::mem::take(&mut self.entries);
        let mended = protocol::repair(before.clone());
        let mut known = before.iter().zip(entries).peekable();
        let mut last = None;
        for message in mended {
            // What was mended is not the same message any more; it came from the entry before.
            let mut here = known.clone();
            if let Some((_, entry)) = here.find(|(known, _)| known.same(&message)) {
                last = Some(entry);
                known = here;
            } else if last.is_none() {
                last = known.peek().map(|(_, entry)| *entry);
            }
            if let Some(entry) = last {
                self.push(entry, message);
            }
        }
        if let Some((message, entry)) = open {
            self.push(entry, message);
        }
    }
}

/// The results, with the outcomes that their settlements say.
fn results_of(body: ResultsBody, settled: &HashMap<EntryId, Arc<ToolOutcome>>) -> MessageRef {
    let result = |result: crate::entry::StoredResult| {
        let known = result.settlement.and_then(|id| settled.get(&id).cloned());
        ToolResult {
            call_id: result.call_id,
            name: result.name,
            outcome: result
                .outcome
                .or(known)
                .unwrap_or_else(|| Arc::new(ToolOutcome::Interrupted)),
        }
    };
    let results = body.results.into_iter().map(result).collect();
    Message::ToolResults(ToolResults { results }).into()
}

/// The entries that have to be read: from the leaf back to the newest compaction, and on to the first entry
/// that it kept. Oldest first.
fn walk_back(log: &dyn Log, leaf: u64) -> Result<Vec<u64>, Error> {
    let mut numbers = Vec::new();
    let mut next = Some(leaf);
    // The first entry that the newest compaction kept, once one was met; and what to do with what stands
    // before that compaction if the entry is not met.
    let mut until = None;
    // The same, if it is lost. Ids ascend along a branch.
    let mut behind: Option<EntryId> = None;
    let mut before_kept = 0;
    let mut in_last_turn = true;
    while let Some(number) = next {
        let node = log.node(number)?;
        let is_until = until == Some(number);
        if behind.is_some_and(|lost| node.id <= lost) {
            break;
        }
        next = node.parent.filter(|parent| *parent < number);
        if node.kind == NodeKind::Compaction {
            // Older ones count only if the newest one kept their summaries. One that cannot be read is as
            // if it had not been.
            let kept = if (until.is_none() && behind.is_none()) || is_until {
                Kept::by(log, number)?
            } else {
                Kept::Unknown
            };
            if !matches!(kept, Kept::Unknown) {
                numbers.push(number);
                before_kept = numbers.len();
            }
            match kept {
                Kept::From(first) => until = Some(first),
                Kept::Behind(lost) => (until, behind) = (None, Some(lost)),
                Kept::Nothing => {
                    until = None;
                    break;
                }
                Kept::Unknown => {}
            }
            continue;
        }
        if counts(node.kind, in_last_turn) {
            numbers.push(number);
        }
        in_last_turn &= node.kind != NodeKind::AssistantMessage;
        if is_until {
            until = None;
            break;
        }
    }
    // The first that was kept is not on this branch: then nothing is, rather than all.
    if until.is_some() {
        numbers.truncate(before_kept);
    }
    numbers.reverse();
    Ok(numbers)
}

/// What a compaction kept of what stood before it.
enum Kept {
    /// What is from this entry on.
    From(u64),
    /// What is from an entry on that cannot be read: what is newer.
    Behind(EntryId),
    Nothing,
    /// It cannot be read.
    Unknown,
}

impl Kept {
    fn by(log: &dyn Log, compaction: u64) -> Result<Self, Error> {
        let body = match log.read(compaction) {
            Ok(Entry {
                body: Body::Compaction(body),
                ..
            }) => body,
            Ok(_) | Err(Error::Unreadable { .. }) => return Ok(Self::Unknown),
            Err(error) => return Err(error),
        };
        let Some(first) = body.first_kept else {
            return Ok(Self::Nothing);
        };
        Ok(match log.find(first)? {
            Some(number) if number < compaction => Self::From(number),
            Some(_) => Self::Nothing,
            None => Self::Behind(first),
        })
    }
}

/// Whether an entry says something of the conversation. Calls that began matter only if they are those of
/// the last reply.
fn counts(kind: NodeKind, in_last_turn: bool) -> bool {
    match kind {
        NodeKind::ToolIntent | NodeKind::Decision => in_last_turn,
        NodeKind::ModelIntent
        | NodeKind::Label
        | NodeKind::Name
        | NodeKind::Custom
        | NodeKind::Usage
        | NodeKind::Unknown => false,
        _ => true,
    }
}
