//! What a run tells while it goes.

use std::sync::Arc;
use std::time::Duration;

use harness_prompt::{PromptDiff, SectionCut, SystemPrompt, estimate_tokens};
use serde::Serialize;

use crate::compaction::CompactionReason;
use crate::error::ModelError;
use crate::message::{MessageRef, StopReason};
use crate::model::ModelId;
use crate::outcome::{RunOutcome, ToolOutcome};
use crate::permission_report::PermissionReport;
use crate::usage::Usage;

/// One event of a run. As JSON, an object with a `type` in snake case.
///
/// The first is [`Event::RunStart`], the last is [`Event::RunEnd`]. Deltas are provisional: an
/// [`Event::AttemptDiscarded`] takes back all of its turn that came before it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The run began.
    RunStart {
        /// The run's id.
        run: String,
        /// The session's id, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The model that it begins with.
        model: ModelId,
    },
    /// A message of the user's side entered the conversation: the prompt, or a queued one.
    UserMessage {
        /// The message.
        message: MessageRef,
        /// Where it came from.
        source: MessageSource,
    },
    /// A turn began.
    TurnStart {
        /// The turn's number, from 1.
        turn: u32,
    },
    /// The system prompt of this turn is another than that of the last one, or the first.
    SystemPrompt(Box<PromptReport>),
    /// More of the reply's text.
    TextDelta(Delta),
    /// More of the reply's thinking.
    ThinkingDelta(Delta),
    /// A call is being written; its arguments follow in [`Event::ToolStart`] when it is whole.
    ToolCallDelta {
        /// The call's id, as far as the provider gave one.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// What was shown of this turn does not count: the request failed and may be made again.
    AttemptDiscarded {
        /// The turn's number.
        turn: u32,
        /// The attempt's number, from 1.
        attempt: u32,
        /// Why.
        #[serde(serialize_with = "as_text")]
        error: Box<ModelError>,
        /// The error's kind, as a word.
        kind: &'static str,
        /// How long the loop waits before the next attempt; `None`: there is none.
        #[serde(serialize_with = "as_millis", rename = "retry_in_ms")]
        retry_in: Option<Duration>,
    },
    /// The reply is whole and part of the conversation.
    Reply {
        /// The turn's number.
        turn: u32,
        /// The reply.
        message: MessageRef,
    },
    /// A call starts.
    ToolStart {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments in their advertised shape; `null` when they could not be read.
        arguments: Arc<serde_json::Value>,
    },
    /// It was decided whether a call may run.
    Permission(Box<PermissionReport>),
    /// A call tells how it is getting on.
    ToolProgress {
        /// The call's id.
        id: String,
        /// What it says.
        text: String,
    },
    /// A call ended.
    ToolEnd {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// How it ended.
        outcome: Arc<ToolOutcome>,
        /// How long it took.
        #[serde(serialize_with = "as_millis_float", rename = "elapsed_ms")]
        elapsed: Duration,
    },
    /// The conversation is about to be made shorter: a summary is being written.
    CompactionStart {
        /// Why.
        reason: CompactionReason,
        /// Tokens of the request before, as far as they are known.
        tokens: u64,
        /// Whether the run goes on meanwhile.
        background: bool,
    },
    /// The conversation was made shorter, or could not be.
    CompactionEnd {
        /// Why it was to be.
        reason: CompactionReason,
        /// Tokens of the request before.
        tokens_before: u64,
        /// Tokens of the request after, estimated; `null` if nothing changed.
        tokens_after: Option<u64>,
        /// How many messages a summary stands for now.
        summarised: usize,
        /// How many messages were kept.
        kept: usize,
        /// Why nothing changed.
        error: Option<String>,
    },
    /// A subagent tells what it does.
    Subagent(Box<SubagentEvent>),
    /// A turn ended.
    TurnEnd {
        /// The turn's number.
        turn: u32,
        /// Why the model stopped.
        stop: StopReason,
        /// What the provider reported for the turn's reply.
        usage: Option<Usage>,
    },
    /// Something that a person should know and that changes nothing.
    Warning {
        /// What.
        message: String,
    },
    /// The run ended. Boxed, so that the many small events need not be as large.
    RunEnd(Box<RunEnd>),
}

/// An event of a run that was started within this one. As JSON, `{"type":"subagent", "id":…, "agent":…,
/// "session":…, "event":{"type":…, …}}`.
#[derive(Clone, Debug, Serialize)]
pub struct SubagentEvent {
    /// What the subagent is called by, one of a kind in its session.
    pub id: String,
    /// What kind of agent it is.
    pub agent: String,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The event; of a subagent's own subagents, one of this kind again. Deltas are not told.
    pub event: Box<Event>,
}

/// What the system prompt is made of. As JSON, without the texts:
/// `{"turn":…, "bytes":…, "tokens":…, "shared_bytes":…, "sections":[{"name":…, "stable":…, "source":…,
/// "bytes":…, "tokens":…}], "changes":[{"section":…, "change":"added"}], "cuts":[{"section":…, "bytes":…,
/// "kept":…}]}`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptReport {
    /// The turn's number.
    pub turn: u32,
    /// The prompt, as it is sent.
    pub prompt: SystemPrompt,
    /// The sections that had to give way, because the whole was too large.
    pub cuts: Vec<SectionCut>,
    /// What changed since the turn before; in the first one, everything is new.
    pub diff: PromptDiff,
}

impl Serialize for PromptReport {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        use serde_json::json;

        let sections: Vec<_> = self
            .prompt
            .sections()
            .iter()
            .map(|section| {
                json!({
                    "name": &*section.name,
                    "stable": section.stable,
                    "source": &*section.source,
                    "bytes": section.bytes(),
                    "tokens": section.tokens(),
                })
            })
            .collect();
        let cuts: Vec<_> = self
            .cuts
            .iter()
            .map(|cut| json!({ "section": cut.section, "bytes": cut.bytes, "kept": cut.kept }))
            .collect();
        let changes: Vec<_> = self
            .diff
            .sections
            .iter()
            .map(|diff| json!({ "section": diff.name, "change": diff.change.word() }))
            .collect();
        let text = self.prompt.text();
        let mut report = serializer.serialize_struct("PromptReport", 7)?;
        report.serialize_field("turn", &self.turn)?;
        report.serialize_field("bytes", &text.len())?;
        report.serialize_field("tokens", &estimate_tokens(&text))?;
        report.serialize_field("shared_bytes", &self.diff.shared_bytes)?;
        report.serialize_field("sections", &sections)?;
        report.serialize_field("changes", &changes)?;
        report.serialize_field("cuts", &cuts)?;
        report.end()
    }
}

/// Where a user's message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageSource {
    /// The input of the run.
    Prompt,
    /// The steering queue.
    Steer,
    /// The follow-up queue.
    FollowUp,
    /// A middleware, after a turn.
    Middleware,
}

/// A piece of text. Displays as the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Delta {
    /// The text.
    pub text: String,
}

impl std::fmt::Display for Delta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// How the run ended. As JSON:
/// `{"run":…, "outcome":"finished", "stop_reason":…, "answer":…, "usage":…, "cost":…, …}`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunEnd {
    /// The run's id.
    pub run: String,
    /// `finished`, `limit`, `stopped`, `cancelled`, `failed`.
    pub outcome: &'static str,
    /// The model's last stop reason; `null` unless the run finished.
    pub stop_reason: Option<StopReason>,
    /// What ended it; `null` if it finished.
    pub error: Option<RunEndError>,
    /// The text of the last reply.
    pub answer: String,
    /// Turns that were completed.
    pub turns: u32,
    /// The sum over all replies that were kept.
    pub usage: Usage,
    /// US dollars; `null` when a model's prices are not known.
    pub cost: Option<f64>,
    /// The session's id; `null` when the conversation is kept nowhere.
    pub session: Option<String>,
}

/// What ended a run that did not finish.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunEndError {
    /// The kind, as a word.
    pub kind: String,
    /// What happened, in one line.
    pub message: String,
}

impl RunEnd {
    /// The event for an outcome.
    pub fn new(outcome: &RunOutcome, session: Option<String>) -> Self {
        use crate::outcome::RunStatus;
        let (stop_reason, error) = match &outcome.status {
            RunStatus::Finished(stop) => (Some(stop.clone()), None),
            RunStatus::Limit(limit) => (
                None,
                Some(RunEndError {
                    kind: limit.word().to_owned(),
                    message: limit.to_string(),
                }),
            ),
            RunStatus::Stopped { by, reason } => (
                None,
                Some(RunEndError {
                    kind: "stopped".to_owned(),
                    message: format!("stopped by {by}: {reason}"),
                }),
            ),
            RunStatus::Cancelled => (
                None,
                Some(RunEndError {
                    kind: "cancelled".to_owned(),
                    message: "the run was cancelled".to_owned(),
                }),
            ),
            RunStatus::Failed(error) => (
                None,
                Some(RunEndError {
                    kind: error.word().to_owned(),
                    message: error.to_string(),
                }),
            ),
        };
        Self {
            run: outcome.run_id.clone(),
            outcome: outcome.status.word(),
            stop_reason,
            error,
            answer: outcome.answer(),
            turns: outcome.turns,
            usage: outcome.usage,
            cost: outcome.cost,
            session,
        }
    }
}

fn as_text<S: serde::Serializer>(error: &ModelError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

#[expect(
    clippy::ref_option,
    reason = "serde's `serialize_with` passes the field by reference"
)]
fn as_millis<S: serde::Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_u64(duration.as_millis() as u64),
        None => serializer.serialize_none(),
    }
}

fn as_millis_float<S: serde::Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}
