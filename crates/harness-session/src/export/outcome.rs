//! How calls ended.

use std::sync::Arc;
use std::time::Duration;

use harness_core::{ToolOutcome, ToolResult};

use crate::entry::{Body, Entry, Settled, StoredResult};
use crate::error::Error;
use crate::store::Log;

/// How something ended, in a word and a mark, so that nobody has to tell colours apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Done,
    Failed,
    Denied,
    Cancelled,
    Interrupted,
    /// There is no result.
    Open,
}

impl State {
    pub(super) fn of(outcome: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Done(_) => Self::Done,
            ToolOutcome::Denied { .. } => Self::Denied,
            ToolOutcome::Cancelled => Self::Cancelled,
            ToolOutcome::Interrupted => Self::Interrupted,
            // Whatever else there will be, it is not known to have been done.
            _ => Self::Failed,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Open => "no result",
        }
    }

    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Done => "✓",
            Self::Failed => "✗",
            Self::Denied => "⊘",
            Self::Cancelled => "■",
            Self::Interrupted => "↯",
            Self::Open => "?",
        }
    }
}

/// The result of a call, with what its settlement says.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) outcome: Option<Arc<ToolOutcome>>,
    pub(super) elapsed: Option<Duration>,
}

impl Resolved {
    pub(super) fn state(&self) -> State {
        self.outcome.as_deref().map_or(State::Open, State::of)
    }

    fn of_stored(log: &dyn Log, stored: &StoredResult) -> Result<Self, Error> {
        let mut resolved = Self {
            call_id: stored.call_id.clone(),
            name: stored.name.clone(),
            outcome: stored.outcome.clone(),
            elapsed: None,
        };
        if let Some(id) = stored.settlement
            && let Some(number) = log.find(id)?
            && let Some(entry) = super::read(log, number)?
            && let Body::Settlement(settlement) = entry.body
            && let Settled::Tool {
                outcome, elapsed, ..
            } = settlement.what
        {
            resolved.elapsed = Some(elapsed);
            if resolved.outcome.is_none() {
                resolved.outcome = Some(outcome);
            }
        }
        Ok(resolved)
    }

    fn of_result(result: &ToolResult) -> Self {
        Self {
            call_id: result.call_id.clone(),
            name: result.name.clone(),
            outcome: Some(Arc::clone(&result.outcome)),
            elapsed: None,
        }
    }
}

/// The results that an entry brings into the conversation.
pub(super) fn results(log: &dyn Log, entry: &Entry) -> Result<Vec<Resolved>, Error> {
    match &entry.body {
        Body::Results(body) => body
            .results
            .iter()
            .map(|stored| Resolved::of_stored(log, stored))
            .collect(),
        Body::Message(body) => match &*body.message {
            harness_core::Message::ToolResults(all) => {
                Ok(all.results.iter().map(Resolved::of_result).collect())
            }
            _ => Ok(Vec::new()),
        },
        _ => Ok(Vec::new()),
    }
}
