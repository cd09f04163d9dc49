//! How things ended: a tool call, a run.

use serde::{Deserialize, Serialize};

use crate::context::RunContext;
use crate::error::{Error, RunError};
use crate::message::{Image, Message, MessageRef, StopReason, Text, UserMessage};
use crate::middleware::RunInput;
use crate::protocol;
use crate::spending::Expense;
use crate::usage::Usage;

/// How one tool call ended. Every kind is shown to the model; none of them ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutcome {
    /// The tool did what it was asked to do.
    Done(ToolOutput),
    /// Somebody refused the call; it was not executed.
    Denied {
        /// Who refused: a middleware's name, a policy, a person.
        by: String,
        /// Why, in words that a model can act on.
        reason: String,
    },
    /// The tool was asked and could not, or the call could not be understood.
    Failed(ToolOutput),
    /// The run was cancelled before the call ended.
    Cancelled,
    /// The process died while the call ran, and the call may not be run again: its effect is
    /// unknown.
    Interrupted,
}

impl ToolOutcome {
    /// A success with one text.
    pub fn done(text: impl Into<String>) -> Self {
        Self::Done(ToolOutput::text(text))
    }

    /// A failure with one text.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(ToolOutput::text(text))
    }

    /// Whether a model should be told that this is an error.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Done(_))
    }

    /// What the model is shown. Never empty, never blank: an output without text becomes
    /// `(no output)`, because services refuse blank blocks.
    pub fn shown(&self) -> Vec<OutputPart> {
        let text = |text: String| vec![OutputPart::Text(Text { text })];
        match self {
            Self::Done(output) | Self::Failed(output) => {
                let parts: Vec<OutputPart> = output
                    .parts
                    .iter()
                    .filter(|part| !part.is_blank())
                    .cloned()
                    .collect();
                if parts.is_empty() {
                    text("(no output)".to_owned())
                } else {
                    parts
                }
            }
            Self::Denied { by, reason } => text(format!("Denied by {by}: {reason}")),
            Self::Cancelled => text("Cancelled before it ended; its effect is unknown.".to_owned()),
            Self::Interrupted => text(
                "Interrupted: the process ended while this ran. Check what it did before running \
                 it again."
                    .to_owned(),
            ),
        }
    }

    /// The text of [`shown`](Self::shown), pictures left out.
    pub fn shown_text(&self) -> String {
        let mut all = String::new();
        for part in self.shown() {
            if let OutputPart::Text(text) = part {
                if !all.is_empty() {
                    all.push('\n');
                }
                all.push_str(&text.text);
            }
        }
        all
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        match self {
            Self::Done(output) | Self::Failed(output) => output
                .parts
                .iter()
                .map(|part| match part {
                    OutputPart::Text(text) => text.text.len(),
                    OutputPart::Image(_) => Image::APPROXIMATE_BYTES,
                })
                .sum(),
            Self::Denied { reason, .. } => reason.len() + 16,
            Self::Cancelled | Self::Interrupted => 96,
        }
    }
}

/// What a tool gives back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model is shown.
    pub parts: Vec<OutputPart>,
    /// Structured facts for programs and user interfaces; the model never sees them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

impl ToolOutput {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![OutputPart::Text(Text { text: text.into() })],
            details: None,
        }
    }

    /// Adds a picture.
    pub fn with_image(mut self, image: Image) -> Self {
        self.parts.push(OutputPart::Image(image));
        self
    }

    /// Adds structured facts for programs.
    pub fn with_details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl<T: Into<String>> From<T> for ToolOutput {
    fn from(text: T) -> Self {
        Self::text(text)
    }
}

/// A part of what a tool gives back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputPart {
    /// Text.
    Text(Text),
    /// A picture.
    Image(Image),
}

impl OutputPart {
    fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.text.trim().is_empty(),
            Self::Image(_) => false,
        }
    }
}

/// How a run ended, with everything that a next run needs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The run's id.
    pub run_id: String,
    /// How it ended.
    pub status: RunStatus,
    /// The whole conversation, from the history that the run was given (or the summary that stands for its
    /// beginning) to its last message. Valid
    /// to go on from, whatever the status: each call in it has its result.
    pub history: Vec<MessageRef>,
    /// How many messages of `history` were there before the run, or stand for some that were.
    pub history_before: usize,
    /// The sum over all replies that were kept, and all that runs used that were started within this one.
    pub usage: Usage,
    /// What that cost in US dollars; `None` when a model's prices are not known.
    pub cost: Option<f64>,
    /// Turns that were completed.
    pub turns: u32,
    /// How often the conversation was made shorter.
    pub compactions: u32,
    /// Queued messages that the run ended before delivering, in order.
    pub undelivered: Vec<UserMessage>,
}

impl RunOutcome {
    /// Adds what runs used that were started within this one.
    pub(crate) fn add(&mut self, children: &Expense) {
        self.usage.add(&children.usage);
        self.cost = self.cost.zip(children.cost).map(|(sum, cost)| sum + cost);
    }

    /// The outcome of a run that ended before its first turn: for a middleware that answers in
    /// [`on_agent`](crate::Middleware::on_agent) and does not run the rest.
    pub fn before_any_turn(cx: &RunContext, input: RunInput, status: RunStatus) -> Self {
        let mut history = protocol::repair(input.history);
        let history_before = history.len();
        let said = input.messages.into_iter().filter(|said| !said.is_blank());
        history.extend(said.map(|said| Message::User(said).into()));
        Self {
            run_id: cx.run_id().to_owned(),
            status,
            history,
            history_before,
            usage: Usage::default(),
            cost: Some(0.0),
            turns: 0,
            compactions: 0,
            undelivered: Vec::new(),
        }
    }

    /// The messages that the run added.
    pub fn new_messages(&self) -> &[MessageRef] {
        self.history.get(self.history_before..).unwrap_or_default()
    }

    /// The text of the last reply of this run; empty if there was none.
    pub fn answer(&self) -> String {
        self.new_messages()
            .iter()
            .rev()
            .find_map(|message| match &**message {
                Message::Assistant(reply) => Some(reply.text()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// `Err` if the status is [`RunStatus::Failed`]; the error carries the outcome.
    pub fn into_result(self) -> Result<Self, RunError> {
        match &self.status {
            RunStatus::Failed(_) => Err(RunError::new(self)),
            _ => Ok(self),
        }
    }
}

/// How a run ended. Exactly one, always delivered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunStatus {
    /// The model stopped asking for tools. The reason is the model's last one.
    Finished(StopReason),
    /// A bound ended it.
    Limit(LimitReached),
    /// A middleware decided to stop after a turn.
    Stopped {
        /// The middleware's name.
        by: String,
        /// Why.
        reason: String,
    },
    /// It was cancelled.
    Cancelled,
    /// It could not go on.
    Failed(Error),
}

impl RunStatus {
    /// The word for it in events and in JSON: `finished`, `limit`, `stopped`, `cancelled`, `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::Limit(_) => "limit",
            Self::Stopped { .. } => "stopped",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}

/// The bound that ended a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "limit", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitReached {
    /// The most turns that the run may take.
    #[error("the run reached its limit of {max} turn{}", if *.max == 1 { "" } else { "s" })]
    Turns {
        /// The limit.
        max: u32,
    },
    /// The most tokens that the run may use.
    #[error("the run used {used} tokens; its limit is {max}")]
    Tokens {
        /// The limit.
        max: u64,
        /// What was used.
        used: u64,
    },
    /// The most money that the run may cost.
    #[error("the run cost ${used:.4}; its limit is ${max:.4}")]
    Cost {
        /// The limit, in US dollars.
        max: f64,
        /// What was spent, in US dollars.
        used: f64,
    },
    /// The most time that the run may take.
    #[error("the run reached its time limit of {max_seconds} s")]
    Time {
        /// The limit.
        max_seconds: f64,
    },
    /// A limit of the run that this one was started in, which counts what both use.
    #[error("in the run that started this one: {reached}")]
    Outer {
        /// Which.
        reached: Box<LimitReached>,
    },
    /// The model's output cap cut the last reply off.
    #[error("the model's reply was cut off by its output limit")]
    Output,
    /// The most times that the conversation may be made shorter.
    #[error("the conversation was made shorter {max} times, which is the limit")]
    Compactions {
        /// The limit.
        max: u32,
    },
    /// The model made the same failing call again and again.
    #[error("the model made the same failing call to `{tool}` {times} times in a row")]
    RepeatedFailure {
        /// The tool.
        tool: String,
        /// How often.
        times: u32,
    },
}

impl LimitReached {
    /// The word for it in events and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Turns { .. } => "turns",
            Self::Tokens { .. } => "tokens",
            Self::Cost { .. } => "cost",
            Self::Time { .. } => "time",
            Self::Outer { reached } => reached.word(),
            Self::Output => "output",
            Self::Compactions { .. } => "compactions",
            Self::RepeatedFailure { .. } => "repeated_failure",
        }
    }
}
