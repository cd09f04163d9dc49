//! How one service's form of an API differs from another's, as data.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::error::ConfigError;
use crate::preset;

/// How a service speaks an API.
///
/// The [default](Dialect::default) is what nearly every service accepts. Presets are there by name
/// (`"deepseek".parse::<Dialect>()`), and are otherwise found by the host of the base URL
/// ([`Dialect::guess`]). In a configuration file each field may be set alone, beside a `preset` that
/// the program resolves first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each named in files"
)]
pub struct Dialect {
    /// Chat: the name of the field that bounds the reply.
    pub max_tokens_field: MaxTokensField,
    /// Chat: whether to ask for usage in the stream (`stream_options.include_usage`).
    pub stream_usage: bool,
    /// Chat: the role of the system prompt.
    pub system_role: SystemRole,
    /// Chat: whether, and under which name, a model's thinking goes back to it.
    pub reasoning_echo: ReasoningEcho,
    /// Chat: how the thinking level is told. Nothing is told to a model whose
    /// [`ModelInfo::thinking`](harness_core::ModelInfo::thinking) is empty.
    pub reasoning_control: ReasoningControl,
    /// Chat: what stands for the text of a reply that is only calls.
    pub empty_content: EmptyContent,
    /// Chat: which call ids are accepted.
    pub call_ids: CallIds,
    /// Chat: whether a result names its tool (`name`).
    pub tool_result_name: bool,
    /// Chat: whether results must be followed by a user's message. One with the text `Continue.` is
    /// then sent after each batch.
    pub user_after_tools: bool,
    /// Chat: the value of `store`, if it is sent. (Responses are never stored.)
    pub store: Option<bool>,
    /// Chat and Responses: the value of a tool's `strict`, if it is sent.
    pub strict_tools: Option<bool>,
    /// Chat and Responses: the value of `parallel_tool_calls`, if it is sent.
    pub parallel_tool_calls: Option<bool>,
    /// Chat and Responses: whether `prompt_cache_key` is understood.
    pub prompt_cache_key: bool,
    /// Responses: whether to ask for encrypted reasoning, so that it can go back without being
    /// stored.
    pub encrypted_reasoning: bool,
    /// Responses: whether to ask for a readable summary of the reasoning.
    pub reasoning_summary: bool,
    /// Anthropic: whether to mark what should be cached (`cache_control`).
    pub cache_control: bool,
    /// Anthropic: how the thinking level is told.
    pub thinking_style: ThinkingStyle,
}

impl Dialect {
    /// What nearly every service accepts.
    pub const PLAIN: Self = Self {
        max_tokens_field: MaxTokensField::MaxTokens,
        stream_usage: true,
        system_role: SystemRole::System,
        reasoning_echo: ReasoningEcho::Off,
        reasoning_control: ReasoningControl::Effort,
        empty_content: EmptyContent::Null,
        call_ids: CallIds::Any,
        tool_result_name: false,
        user_after_tools: false,
        store: None,
        strict_tools: None,
        parallel_tool_calls: None,
        prompt_cache_key: false,
        encrypted_reasoning: true,
        reasoning_summary: true,
        cache_control: true,
        thinking_style: ThinkingStyle::Budget,
    };

    /// The preset whose hosts hold that of `base_url` (the API's own when it is blank), fitted to
    /// what is known of the model's family; [`PLAIN`](Self::PLAIN) for a host that is not known.
    pub fn guess(api: Api, base_url: &str, model: &str) -> Self {
        preset::guess(api, base_url, model)
    }

    /// The names of the presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        preset::PRESETS.iter().map(|preset| preset.name)
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Self::PLAIN
    }
}

impl FromStr for Dialect {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        preset::PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .map(|preset| preset.dialect.clone())
            .ok_or_else(|| ConfigError::UnknownDialect {
                name: name.to_owned(),
                known: Self::presets().collect::<Vec<_>>().join(", "),
            })
    }
}

/// The field that bounds a chat reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_tokens`
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SystemRole {
    /// `system`
    System,
    /// `developer`
    Developer,
}

/// Under which name a model's own thinking goes back to it in a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningEcho {
    /// It does not go back.
    Off,
    /// `reasoning_content`
    ReasoningContent,
    /// `reasoning`
    Reasoning,
}

/// How a chat service is told how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningControl {
    /// It is not told.
    None,
    /// `reasoning_effort: "low"`; nothing for `off`, which not every model knows.
    Effort,
    /// `reasoning: {effort: "low"}`, `{enabled: false}` for `off`.
    EffortObject,
    /// `enable_thinking: true | false`
    EnableThinking,
    /// `thinking: {type: "enabled" | "disabled"}`
    ThinkingType,
    /// `chat_template_kwargs: {enable_thinking: true | false}`
    TemplateArguments,
}

/// What stands for the text of a chat reply that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptyContent {
    /// `content: null`
    Null,
    /// No `content`.
    Omit,
    /// `content: ""`
    Empty,
}

/// Which call ids a chat service accepts. Others are replaced, the same way each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallIds {
    /// Any.
    Any,
    /// At most 40 letters, digits, `-` and `_`.
    UpTo40,
    /// Exactly 9 letters and digits.
    Exactly9,
}

/// How an Anthropic model is told how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkingStyle {
    /// `thinking: {type: "enabled", budget_tokens: N}`
    Budget,
    /// `thinking: {type: "adaptive"}` and `output_config: {effort: "low"}`; the newer models.
    Adaptive,
}
