//! The format of a script. The parent module describes it.

use std::time::Duration;

use harness_core::{ModelError, Prices, StopReason, ThinkingLevel, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::expect::Expect;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default)]
    pub(super) model: ModelSection,
    pub(super) turns: Vec<Turn>,
    #[serde(default)]
    pub(super) side: Vec<Turn>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ModelSection {
    pub(super) name: Option<String>,
    pub(super) context_window: Option<u64>,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) images: bool,
    pub(super) thinking: Vec<ThinkingLevel>,
    pub(super) prices: Option<Prices>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Turn {
    pub(super) thinking: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) stop: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) error: Option<ErrorSection>,
    pub(super) cut: bool,
    pub(super) repeat: Repeat,
    pub(super) delay_ms: u64,
    pub(super) expect: Option<Expect>,
    /// In `side` only.
    pub(super) when: Option<Expect>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: Value,
    pub(super) id: Option<String>,
}

/// How often a turn is played.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Repeat {
    Times(usize),
    Word(RepeatWord),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RepeatWord {
    Forever,
}

impl Default for Repeat {
    fn default() -> Self {
        Self::Times(1)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorSection {
    kind: String,
    status: Option<u16>,
    message: Option<String>,
    retry_after: Option<f64>,
    #[serde(default)]
    retryable: bool,
}

impl Script {
    /// What is wrong with it beyond its form.
    pub(super) fn check(&self) -> Result<(), String> {
        let sides = self.side.iter().map(|turn| ("side", turn));
        let turns = self.turns.iter().map(|turn| ("turns", turn));
        for (list, turn) in turns.chain(sides) {
            match (list, &turn.when) {
                ("side", None) => return Err("an answer in `side` needs a `when`".to_owned()),
                ("turns", Some(_)) => {
                    return Err(
                        "`when` belongs to answers in `side`; a turn has `expect`".to_owned()
                    );
                }
                _ => {}
            }
            if let Some(error) = &turn.error {
                error
                    .error()
                    .map_err(|reason| format!("in `{list}`: {reason}"))?;
            }
        }
        Ok(())
    }

    /// The turn with that number, repetitions counted.
    pub(super) fn turn(&self, number: usize) -> Option<&Turn> {
        self.find(number).map(|(turn, _)| turn)
    }

    /// Which repetition of its turn that number is, from 0.
    pub(super) fn copy(&self, number: usize) -> usize {
        self.find(number).map_or(0, |(_, copy)| copy)
    }

    fn find(&self, number: usize) -> Option<(&Turn, usize)> {
        let mut left = number;
        for turn in &self.turns {
            match turn.repeat {
                Repeat::Times(times) if left >= times => left -= times,
                _ => return Some((turn, left)),
            }
        }
        None
    }
}

impl Turn {
    /// Whether it leaves no reply in the conversation.
    pub(super) fn fails(&self) -> bool {
        self.error.is_some() || self.cut
    }

    pub(super) fn stop(&self) -> StopReason {
        let fitting = if self.calls.is_empty() {
            "end_turn"
        } else {
            "tool_calls"
        };
        match self.stop.as_deref().unwrap_or(fitting) {
            "end_turn" => StopReason::EndTurn,
            "tool_calls" => StopReason::ToolCalls,
            "length" => StopReason::Length,
            "content_filter" => StopReason::ContentFilter,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

impl Call {
    /// The arguments as the model writes them.
    pub(super) fn arguments(&self) -> String {
        match &self.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        }
    }
}

impl ErrorSection {
    pub(super) fn error(&self) -> Result<ModelError, String> {
        let status = self.status;
        let message = self
            .message
            .clone()
            .unwrap_or_else(|| "scripted".to_owned());
        let url = || "scripted:".to_owned();
        let retry_after = match self.retry_after.map(Duration::try_from_secs_f64) {
            Some(Ok(wait)) => Some(wait),
            Some(Err(error)) => return Err(format!("`retry_after`: {error}")),
            None => None,
        };
        Ok(match self.kind.as_str() {
            "connection" => ModelError::Connection {
                url: url(),
                message,
            },
            "timeout" => ModelError::Timeout { seconds: 1 },
            "stream_cut" => ModelError::StreamCut { message },
            "stream_invalid" => ModelError::StreamInvalid { message },
            "reply_too_large" => ModelError::ReplyTooLarge { max_bytes: 0 },
            "rate_limited" => ModelError::RateLimited {
                status,
                message,
                retry_after,
            },
            "unavailable" => ModelError::Unavailable {
                status,
                message,
                retry_after,
            },
            "quota" => ModelError::Quota { status, message },
            "authentication" => ModelError::Authentication {
                status: status.unwrap_or(401),
                message,
            },
            "not_found" => ModelError::NotFound {
                url: url(),
                message,
            },
            "context_overflow" => ModelError::ContextOverflow { message },
            "request_too_large" => ModelError::RequestTooLarge { message },
            "invalid_request" => ModelError::InvalidRequest { status, message },
            "other" => ModelError::Other {
                message,
                retryable: self.retryable,
            },
            unknown => return Err(format!("there is no error of the kind `{unknown}`")),
        })
    }
}
