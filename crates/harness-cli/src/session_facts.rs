//! What can be counted in a session.

use std::collections::BTreeMap;

use harness_core::{Message, ModelId, Usage};
use harness_session::{Body, Entry, Error, Session, Settled, Timestamp};
use serde_json::{Value, json};

use crate::quantity::count;

/// Counts over all branches of a session.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) kinds: BTreeMap<String, u64>,
    pub(crate) unreadable: u64,
    pub(crate) turns: u64,
    pub(crate) calls: u64,
    /// Calls that ended otherwise than done.
    pub(crate) failed: u64,
    pub(crate) usage: Usage,
    /// US dollars, as far as prices were known.
    pub(crate) cost: Option<f64>,
    pub(crate) model: Option<ModelId>,
    pub(crate) last: Option<Timestamp>,
    /// Whether the last run did not end.
    pub(crate) cut_off: bool,
    /// How many messages wait to be delivered.
    pub(crate) waiting: usize,
}

impl Facts {
    /// Reads all entries, one at a time.
    pub(crate) fn of(session: &Session) -> Result<Self, Error> {
        let mut facts = Self::default();
        let log = session.log();
        // Whether the request of the reply that comes next has told what it used.
        let mut told = false;
        for number in 0..log.len() {
            match log.read(number) {
                Ok(entry) => facts.take(&entry, &mut told),
                Err(Error::Unreadable { .. }) => facts.unreadable += 1,
                Err(error) => return Err(error),
            }
        }
        let context = session.context()?;
        facts.cut_off = context.is_open();
        facts.waiting = context.queued.len();
        facts.model = session.last_choice()?.0.or(facts.model);
        Ok(facts)
    }

    fn take(&mut self, entry: &Entry, told: &mut bool) {
        let kind = match &entry.body {
            Body::Message(body) => match &*body.message {
                Message::User(_) => "user",
                Message::Assistant(_) => "assistant",
                _ => "results",
            },
            body => body.kind(),
        };
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
        self.last = Some(entry.time);
        match &entry.body {
            Body::Message(body) => match &*body.message {
                Message::Assistant(reply) => {
                    self.turns += 1;
                    self.calls += reply.tool_calls().count() as u64;
                    self.model = Some(reply.model.clone());
                    if !std::mem::take(told)
                        && let Some(usage) = &reply.usage
                    {
                        self.usage.add(usage);
                    }
                }
                Message::ToolResults(results) => {
                    let results = results.results.iter();
                    self.failed += results.filter(|it| it.outcome.is_error()).count() as u64;
                }
                _ => {}
            },
            Body::Results(body) => {
                let outcomes = body.results.iter().filter_map(|it| it.outcome.as_ref());
                self.failed += outcomes.filter(|outcome| outcome.is_error()).count() as u64;
            }
            Body::Usage(body) => {
                self.usage.add(&body.usage);
                self.pay(body.cost);
            }
            Body::Settlement(settlement) => match &settlement.what {
                Settled::Model {
                    stop, usage, cost, ..
                } => {
                    *told = stop.is_some() && usage.is_some();
                    if let Some(usage) = usage {
                        self.usage.add(usage);
                    }
                    self.pay(*cost);
                }
                Settled::Tool { outcome, .. } => self.failed += u64::from(outcome.is_error()),
                _ => {}
            },
            _ => {}
        }
    }

    fn pay(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        self.kinds.values().sum::<u64>() + self.unreadable
    }

    /// A name and a value for each line.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(model) = &self.model {
            lines.push(("model", model.to_string()));
        }
        let mut kinds: Vec<String> = self
            .kinds
            .iter()
            .map(|(kind, number)| format!("{number} {kind}"))
            .collect();
        if self.unreadable > 0 {
            kinds.push(format!("{} that cannot be read", self.unreadable));
        }
        let entries = format!("{} ({})", self.entries(), kinds.join(", "));
        lines.push(("entries", entries));
        let (turns, calls) = (count(self.turns, "turn"), count(self.calls, "call"));
        lines.push((
            "turns",
            format!("{turns}, {calls}, {} not done", self.failed),
        ));
        let usage = &self.usage;
        let tokens = format!(
            "{} in ({} from the cache), {} out",
            usage.input_tokens, usage.cache_read_tokens, usage.output_tokens
        );
        lines.push(("tokens", tokens));
        let cost = match self.cost {
            Some(cost) => format!("${cost:.4}"),
            None => "not known".to_owned(),
        };
        lines.push(("cost", cost));
        if self.cut_off {
            let how = "the last run did not end; `harness run --continue` goes on with it";
            lines.push(("cut off", how.to_owned()));
        }
        if self.waiting > 0 {
            lines.push(("waiting", count(self.waiting as u64, "message")));
        }
        lines
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "model": self.model,
            "entries": self.entries(),
            "kinds": self.kinds,
            "unreadable": self.unreadable,
            "turns": self.turns,
            "tool_calls": self.calls,
            "tool_calls_not_done": self.failed,
            "usage": self.usage,
            "cost": self.cost,
            "last_entry": self.last,
            "cut_off": self.cut_off,
            "waiting": self.waiting,
        })
    }
}
