//! What is known of a session after it was read once.

use std::collections::HashMap;
use std::fmt::Write as _;

use harness_core::{AssistantMessage, AssistantPart, Message, ModelId, UserMessage, UserPart};

use super::clip::one_line;
use super::outcome::results;
use super::span::Spans;
use super::totals::{Cost, Totals};
use crate::entry::{Body, Entry, Intent, Settled, Settlement};
use crate::error::Error;
use crate::id::{EntryId, Timestamp};
use crate::node::NodeKind;
use crate::store::Log;

/// The most characters of an entry in an outline.
const GIST: usize = 96;

/// What is known of a session after it was read once. The texts stay where they are.
#[derive(Debug, Default)]
pub(super) struct Overview {
    pub(super) name: Option<String>,
    pub(super) models: Vec<ModelId>,
    /// When the last entry was appended.
    pub(super) last: Option<Timestamp>,
    /// The last label of each entry that has one.
    pub(super) labels: HashMap<EntryId, String>,
    /// What is known of each entry.
    pub(super) entries: Vec<Gist>,
    /// The branch of the leaf, its root first.
    pub(super) branch: Vec<u64>,
    pub(super) totals: Totals,
    pub(super) spans: Spans,
    pub(super) unreadable: u64,
    /// What the run that is being read cost so far.
    run: Cost,
    /// What the model requests of replies cost.
    pub(super) costs: HashMap<u64, f64>,
    /// The settlements of calls, by the call's id.
    settled_calls: HashMap<String, Vec<u64>>,
}

/// An entry in an outline.
#[derive(Clone, Debug)]
pub(super) struct Gist {
    pub(super) id: Option<EntryId>,
    pub(super) parent: Option<u64>,
    pub(super) kind: NodeKind,
    pub(super) text: String,
    /// Whether it is on the branch of the leaf.
    pub(super) on_branch: bool,
}

impl Gist {
    /// Whether people look for it when they look for their conversation.
    pub(super) fn is_in_outline(&self) -> bool {
        self.kind.is_message()
            || matches!(
                self.kind,
                NodeKind::Compaction | NodeKind::ModelChange | NodeKind::ThinkingChange
            )
    }
}

/// What a reply used, if a settlement has told it before the reply.
#[derive(Default)]
struct Pending {
    settled: bool,
    cost: Option<f64>,
}

impl Overview {
    pub(super) fn read(log: &dyn Log) -> Result<Self, Error> {
        let mut overview = Self::default();
        let mut pending = Pending::default();
        for number in 0..log.len() {
            let node = match log.node(number) {
                Ok(node) => Some(node),
                Err(Error::Unreadable { .. }) => None,
                Err(error) => return Err(error),
            };
            let mut gist = Gist {
                id: node.map(|node| node.id),
                // A parent that comes later would be a circle.
                parent: node
                    .and_then(|node| node.parent)
                    .filter(|parent| *parent < number),
                kind: node.map_or(NodeKind::Unknown, |node| node.kind),
                text: String::new(),
                on_branch: false,
            };
            if let Some(entry) = super::read(log, number)? {
                gist.text = overview.take(log, number, &entry, &mut pending)?;
            } else {
                overview.unreadable += 1;
                "cannot be read".clone_into(&mut gist.text);
            }
            overview.entries.push(gist);
        }
        overview.spans.finish();
        overview.end_run();
        overview.mark_branch();
        Ok(overview)
    }

    pub(super) fn gist(&self, number: u64) -> Option<&Gist> {
        self.entries.get(usize::try_from(number).ok()?)
    }

    /// The settlement of a call that a reply asked for.
    pub(super) fn settlement_of(&self, call_id: &str, reply: u64) -> Option<u64> {
        let numbers = self.settled_calls.get(call_id)?;
        numbers.iter().copied().find(|number| *number > reply)
    }

    fn mark_branch(&mut self) {
        let mut at = self.entries.len().checked_sub(1);
        while let Some(number) = at {
            let Some(gist) = self.entries.get_mut(number) else {
                break;
            };
            gist.on_branch = true;
            self.branch.push(number as u64);
            at = gist.parent.and_then(|parent| usize::try_from(parent).ok());
        }
        self.branch.reverse();
    }

    fn end_run(&mut self) {
        self.totals.cost.merge(std::mem::take(&mut self.run));
    }

    fn model(&mut self, model: &ModelId) {
        if !self.models.contains(model) {
            self.models.push(model.clone());
        }
    }

    /// Takes an entry into account, and says in one line what it says.
    fn take(
        &mut self,
        log: &dyn Log,
        number: u64,
        entry: &Entry,
        pending: &mut Pending,
    ) -> Result<String, Error> {
        self.last = Some(entry.time);
        let gist = match &entry.body {
            Body::Message(body) => match &*body.message {
                Message::User(user) => user_gist(user),
                Message::Assistant(reply) => {
                    self.reply(number, reply, pending);
                    reply_gist(reply)
                }
                _ => self.results(log, entry)?,
            },
            Body::Results(_) => self.results(log, entry)?,
            Body::CustomMessage(body) => user_gist(&body.message),
            Body::Compaction(body) => {
                format!("Compaction ({})", one_line(&body.reason, GIST))
            }
            Body::BranchSummary(_) => "Summary of a branch that was left".to_owned(),
            Body::ModelChange(body) => {
                self.model(&body.model);
                one_line(&format!("Model: {}", body.model), GIST)
            }
            Body::ThinkingChange(body) => format!("Thinking: {}", body.thinking.as_str()),
            Body::Label(body) => {
                match &body.label {
                    Some(label) => self.labels.insert(body.target, one_line(label, GIST)),
                    None => self.labels.remove(&body.target),
                };
                String::new()
            }
            Body::Name(body) => {
                self.name = body.name.as_ref().map(|name| one_line(name, GIST));
                String::new()
            }
            Body::Usage(body) => {
                self.totals.usage.add(&body.usage);
                self.totals.cost.add(body.cost);
                String::new()
            }
            Body::Intent(intent) => {
                if let Intent::Run { model, .. } | Intent::Model { model, .. } = intent {
                    self.model(model);
                }
                if matches!(intent, Intent::Run { .. }) {
                    self.end_run();
                }
                self.spans.intent(number, entry, intent);
                String::new()
            }
            Body::Settlement(settlement) => {
                self.settlement(number, entry, settlement, pending);
                String::new()
            }
            Body::Unknown(body) => one_line(&body.kind, GIST),
            Body::Custom(body) => one_line(&body.kind, GIST),
            Body::Decision(body) => one_line(&body.kind, GIST),
            Body::Leaf(_) | Body::Queued(_) => String::new(),
        };
        self.spans.saw(entry);
        Ok(gist)
    }

    fn reply(&mut self, number: u64, reply: &AssistantMessage, pending: &mut Pending) {
        self.model(&reply.model);
        self.totals.turns += 1;
        self.totals.calls += reply.tool_calls().count() as u64;
        let pending = std::mem::take(pending);
        if let Some(cost) = pending.cost {
            self.costs.insert(number, cost);
        }
        // A reply that was copied from another session, or had no journal, is told by nothing else.
        if !pending.settled
            && let Some(usage) = &reply.usage
        {
            self.totals.usage.add(usage);
            self.totals.cost.add(None);
        }
    }

    fn results(&mut self, log: &dyn Log, entry: &Entry) -> Result<String, Error> {
        let results = results(log, entry)?;
        let failed = results
            .iter()
            .filter(|result| {
                result
                    .outcome
                    .as_ref()
                    .is_none_or(|outcome| outcome.is_error())
            })
            .count();
        self.totals.failed += failed as u64;
        let mut gist = match results.len() {
            1 => "1 result".to_owned(),
            many => format!("{many} results"),
        };
        if failed > 0 {
            let _ = write!(gist, ", {failed} not done");
        }
        Ok(gist)
    }

    fn settlement(
        &mut self,
        number: u64,
        entry: &Entry,
        settlement: &Settlement,
        pending: &mut Pending,
    ) {
        match &settlement.what {
            Settled::Model {
                stop, usage, cost, ..
            } => {
                if let Some(usage) = usage {
                    self.totals.usage.add(usage);
                    self.run.add(*cost);
                }
                *pending = Pending {
                    settled: stop.is_some() && usage.is_some(),
                    cost: *cost,
                };
            }
            Settled::Tool { call_id, .. } => {
                self.settled_calls
                    .entry(call_id.clone())
                    .or_default()
                    .push(number);
            }
            // The whole run's cost says more only where its requests do not tell theirs.
            Settled::Run { cost, .. } => {
                if cost.is_some() && (self.run.is_empty() || !self.run.is_complete()) {
                    self.run = Cost::default();
                    self.run.add(*cost);
                }
                self.end_run();
            }
        }
        self.spans.settlement(entry, settlement);
    }
}

fn user_gist(user: &UserMessage) -> String {
    let text = user.content.iter().find_map(|part| match part {
        UserPart::Text(text) => Some(one_line(&text.text, GIST)).filter(|text| !text.is_empty()),
        _ => None,
    });
    text.unwrap_or_else(|| "a picture".to_owned())
}

fn reply_gist(reply: &AssistantMessage) -> String {
    let text = reply.content.iter().find_map(|part| match part {
        AssistantPart::Text(text) => Some(one_line(text.text.trim_start_matches(['#', ' ']), GIST))
            .filter(|text| !text.is_empty()),
        _ => None,
    });
    if let Some(text) = text {
        return text;
    }
    let mut names = String::new();
    for call in reply.tool_calls().take(8) {
        let lead = if names.is_empty() { "calls " } else { ", " };
        names.push_str(lead);
        names.push_str(&one_line(&call.name, 32));
    }
    if names.is_empty() {
        "thinks".to_owned()
    } else {
        names
    }
}
