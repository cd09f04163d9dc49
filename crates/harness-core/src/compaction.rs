//! Making a conversation shorter.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::{Message, MessageRef};
use crate::model::{Model, ModelId};
use crate::token_count::TokenCounter;
use crate::usage::Usage;

/// A shorter conversation: messages that stand in the place of its beginning, and its end as it was.
///
/// What [`Middleware::on_compaction`](crate::Middleware::on_compaction) gives. It is on record before the
/// conversation is replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Compaction {
    /// What stands in the place of the beginning. All of the user's side.
    pub summary: Vec<MessageRef>,
    /// How many messages at the end stay as they are. They do not begin with results.
    pub kept: usize,
    /// Why it was made.
    pub reason: CompactionReason,
    /// What the summary cost, for the run's sum; by which model, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

impl Compaction {
    /// A summary, and how many messages are kept behind it.
    pub fn new(summary: Vec<MessageRef>, kept: usize, reason: CompactionReason) -> Self {
        Self {
            summary,
            kept,
            reason,
            spent: None,
            details: serde_json::Value::Null,
        }
    }

    /// What it cost.
    pub fn with_spent(mut self, spent: Spent) -> Self {
        self.spent = Some(spent);
        self
    }

    /// Facts for programs.
    pub fn with_details(mut self, details: serde_json::Value) -> Self {
        self.details = details;
        self
    }
}

/// What was spent beside the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// The model that was asked.
    pub model: ModelId,
    /// Tokens.
    pub usage: Usage,
    /// US dollars, where the prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Why a conversation was made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionReason {
    /// It had grown over a threshold.
    Threshold,
    /// The provider refused it as too long.
    Overflow,
    /// Somebody asked for it.
    Manual,
}

impl CompactionReason {
    /// The word for it in events and in JSON: `threshold`, `overflow`, `manual`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
            Self::Manual => "manual",
        }
    }
}

/// How full the context window will be with the coming request, as far as that is known.
#[derive(Clone)]
#[non_exhaustive]
pub struct ContextUse {
    /// The coming turn's number.
    pub turn: u32,
    /// The model that is about to be asked.
    pub model: Arc<dyn Model>,
    /// Tokens of the whole request: what the provider counted last, and an estimate for what came since.
    pub tokens: u64,
    /// The part of it that is the system prompt and the tools: no compaction makes it less.
    pub fixed_tokens: u64,
    /// How many tokens a byte is, on average, as the provider counted last.
    pub tokens_per_byte: f64,
    /// Whether the provider has just refused the request as too long.
    pub overflow: bool,
    pub(crate) counter: Option<Arc<dyn TokenCounter>>,
}

impl ContextUse {
    /// A use that was counted elsewhere.
    pub fn new(model: Arc<dyn Model>, tokens: u64) -> Self {
        Self {
            turn: 0,
            model,
            tokens,
            fixed_tokens: 0,
            tokens_per_byte: crate::token_count::UNKNOWN_TOKENS_PER_BYTE,
            overflow: false,
            counter: None,
        }
    }

    /// The model's context window, if it is known.
    pub fn window(&self) -> Option<u64> {
        self.model.info().context_window
    }

    /// About how many tokens a message takes: counted, if there is a [`TokenCounter`], else estimated.
    pub fn tokens_of(&self, message: &Message) -> u64 {
        match &self.counter {
            Some(counter) => message.count_tokens(&**counter),
            None => self.tokens_of_bytes(message.approximate_bytes()),
        }
    }

    /// About how many tokens a text takes.
    pub fn tokens_of_text(&self, text: &str) -> u64 {
        match &self.counter {
            Some(counter) => counter.count(text),
            None => self.tokens_of_bytes(text.len()),
        }
    }

    /// About how many tokens some bytes are. On the high side: what does not fit is refused.
    fn tokens_of_bytes(&self, bytes: usize) -> u64 {
        (bytes as f64 * self.tokens_per_byte).ceil() as u64
    }
}

impl std::fmt::Debug for ContextUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContextUse")
            .field("turn", &self.turn)
            .field("model", &self.model.info().id)
            .field("tokens", &self.tokens)
            .field("fixed_tokens", &self.fixed_tokens)
            .field("overflow", &self.overflow)
            .finish_non_exhaustive()
    }
}
