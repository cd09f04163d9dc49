//! What took time: runs, turns, model requests, tool calls.

use std::collections::HashMap;

use harness_core::Usage;

use super::clip::one_line;
use super::outcome::State;
use super::totals::Cost;
use crate::entry::{Entry, Intent, Settled, Settlement};
use crate::id::EntryId;

/// The most characters of what a span is called.
const LABEL: usize = 120;

/// What a span is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SpanKind {
    Run,
    Turn,
    Model,
    Tool,
}

/// Something that took time: from its intent to its settlement.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) kind: SpanKind,
    /// The entry that it begins with.
    pub(super) number: u64,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) state: State,
    pub(super) label: String,
}

/// A turn, as its requests and calls tell of it.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// The entry that it begins with.
    pub(super) number: u64,
    /// The number of its run, from 1; 0 if there is none.
    pub(super) run: usize,
    /// Its own name within the run: `t3`.
    name: String,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) model: String,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
    pub(super) attempts: u32,
    pub(super) calls: u32,
    pub(super) failed: u32,
}

/// All spans of a session, in the order of their intents.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) all: Vec<Span>,
    pub(super) turns: Vec<Turn>,
    /// The spans that have not ended, and the turns of those that belong to one.
    open: HashMap<EntryId, Open>,
    /// Their intents since the run began, in order.
    order: Vec<EntryId>,
    runs: usize,
    /// The time of the entry before.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    span: usize,
    turn: Option<usize>,
}

impl Spans {
    /// Takes note of an entry.
    pub(super) fn saw(&mut self, entry: &Entry) {
        self.last = entry.time.0;
    }

    pub(super) fn intent(&mut self, number: u64, entry: &Entry, intent: &Intent) {
        let now = entry.time.0;
        let (kind, label, turn) = match intent {
            Intent::Run { model, .. } => {
                self.end_what_is_open();
                self.runs += 1;
                (SpanKind::Run, format!("Run {}, {model}", self.runs), None)
            }
            Intent::Model { step, model, .. } => {
                let turn = self.turn(number, step, now);
                if let Some(turn) = self.turns.get_mut(turn) {
                    turn.attempts += 1;
                    turn.model = one_line(&model.to_string(), LABEL);
                }
                (SpanKind::Model, format!("Request to {model}"), Some(turn))
            }
            Intent::Tool {
                step,
                name,
                arguments,
                ..
            } => {
                let turn = self.turn(number, step, now);
                if let Some(turn) = self.turns.get_mut(turn) {
                    turn.calls += 1;
                }
                (SpanKind::Tool, format!("{name} {arguments}"), Some(turn))
            }
        };
        let span = self.all.len();
        self.open.insert(entry.id, Open { span, turn });
        self.order.push(entry.id);
        self.all.push(Span {
            kind,
            number,
            begin: now,
            end: now,
            state: State::Open,
            label: one_line(&label, LABEL),
        });
    }

    pub(super) fn settlement(&mut self, entry: &Entry, settlement: &Settlement) {
        let now = entry.time.0;
        let Some(Open { span, turn }) = self.open.remove(&settlement.intent) else {
            return;
        };
        let Some(span) = self.all.get_mut(span) else {
            return;
        };
        span.end = now.max(span.begin);
        let turn = turn.and_then(|turn| self.turns.get_mut(turn));
        match &settlement.what {
            Settled::Run { outcome, error, .. } => {
                span.state = match outcome.as_str() {
                    "finished" | "stopped" => State::Done,
                    "cancelled" => State::Cancelled,
                    _ => State::Failed,
                };
                span.label.push_str(": ");
                span.label.push_str(&one_line(outcome, LABEL));
                if let Some(error) = error {
                    span.label.push_str(", ");
                    span.label.push_str(&one_line(error, LABEL));
                }
            }
            Settled::Model {
                stop,
                usage,
                cost,
                error,
            } => {
                span.state = match stop {
                    Some(_) => State::Done,
                    None => State::Failed,
                };
                if let Some(error) = error {
                    span.label.push_str(": ");
                    span.label.push_str(&one_line(error, LABEL));
                }
                if let Some(turn) = turn {
                    turn.end = turn.end.max(now);
                    if let Some(usage) = usage {
                        turn.usage.add(usage);
                        turn.cost.add(*cost);
                    }
                }
            }
            Settled::Tool { outcome, .. } => {
                span.state = State::of(outcome);
                if let Some(turn) = turn {
                    turn.end = turn.end.max(now);
                    turn.failed += u32::from(outcome.is_error());
                }
            }
        }
    }

    /// The session is at its end.
    pub(super) fn finish(&mut self) {
        self.end_what_is_open();
    }

    /// What has no settlement when the next run begins was cut off, no later than the last entry.
    fn end_what_is_open(&mut self) {
        for id in std::mem::take(&mut self.order) {
            let Some(Open { span, turn }) = self.open.remove(&id) else {
                continue;
            };
            if let Some(span) = self.all.get_mut(span) {
                span.end = self.last.max(span.begin);
                span.state = State::Interrupted;
                if let Some(turn) = turn.and_then(|turn| self.turns.get_mut(turn)) {
                    turn.end = turn.end.max(span.end);
                }
            }
        }
    }

    /// The turn of a step: its name begins with the turn's.
    fn turn(&mut self, number: u64, step: &str, now: u64) -> usize {
        let name = one_line(step.split('/').next().unwrap_or_default(), LABEL);
        if let Some(last) = self.turns.last()
            && last.run == self.runs
            && last.name == name
        {
            return self.turns.len() - 1;
        }
        self.turns.push(Turn {
            number,
            run: self.runs,
            name,
            begin: now,
            end: now,
            model: String::new(),
            usage: Usage::default(),
            cost: Cost::default(),
            attempts: 0,
            calls: 0,
            failed: 0,
        });
        self.turns.len() - 1
    }
}
