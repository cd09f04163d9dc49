//! A language model, seen from the loop.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::{AssistantMessage, MessageRef, StopReason};
use crate::reply::ReplyBuilder;
use crate::tool::ToolSpecs;
use crate::trace_context::TraceContext;
use crate::usage::{Prices, Usage};

/// The events of one reply. Ends after [`ModelEvent::Stop`]; a stream that ends without it was cut.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// What a model call gives: one whole reply, or the reason why there is none.
pub type ModelResult = Result<AssistantMessage, ModelError>;

/// A language model.
///
/// One method is required. An implementation turns the request into its wire format, and the answer
/// into [`ModelEvent`]s. It makes *one* request: retries, fallbacks and limits belong to the loop and
/// to middlewares.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// What is known about the model.
    fn info(&self) -> &ModelInfo;

    /// Asks the model.
    ///
    /// The stream ends soon after `cancel` fires; dropping it has the same effect.
    async fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelStream, ModelError>;

    /// Asks the model and waits for the whole reply.
    async fn complete(&self, request: ModelRequest, cancel: CancellationToken) -> ModelResult {
        let mut reply = ReplyBuilder::new(self.info().id.clone());
        let mut events = self.stream(request, cancel).await?;
        while let Some(event) = events.next().await {
            reply.push(event?)?;
        }
        reply.finish()
    }
}

/// Which model: the pair of names that decides whether thinking may go back to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelId {
    /// Who serves it, as the configuration calls it: `openai`, `local`.
    pub provider: String,
    /// The model's name at that provider.
    pub name: String,
}

impl ModelId {
    /// A model's id.
    pub fn new(provider: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            name: name.into(),
        }
    }
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// What is known about a model. What is not known stays `None`, and nothing is assumed of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// Its id.
    pub id: ModelId,
    /// Tokens of input and output together.
    pub context_window: Option<u64>,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// Whether it can be sent pictures.
    pub images: bool,
    /// The thinking levels that it knows, beside [`ThinkingLevel::Off`]; empty: it cannot be told.
    pub thinking: Vec<ThinkingLevel>,
    /// What it costs.
    pub prices: Option<Prices>,
}

impl ModelInfo {
    /// A model of which only the name is known.
    pub fn new(id: ModelId) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// The level nearest to `wanted` that the model knows: the same, else the next lower, else the
    /// next higher.
    pub fn nearest_thinking(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        if wanted == ThinkingLevel::Off || self.thinking.contains(&wanted) {
            return wanted;
        }
        let below = self.thinking.iter().filter(|level| **level < wanted).max();
        let above = self.thinking.iter().filter(|level| **level > wanted).min();
        below.or(above).copied().unwrap_or(ThinkingLevel::Off)
    }
}

/// How much a model should think before it answers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all, where the model allows that.
    #[default]
    Off,
    /// As little as the model allows.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More than `High`.
    XHigh,
    /// All that the model has.
    Max,
}

impl ThinkingLevel {
    /// All levels, lowest first.
    pub const ALL: [Self; 7] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// The level's name: `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl std::str::FromStr for ThinkingLevel {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == name)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::as_str).join(", ");
                format!("unknown thinking level `{name}`; the levels are {names}")
            })
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Tool(String),
}

/// One request to a model. Cheap to clone: everything large in it is shared.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Whom to ask. A middleware replaces it to fall back to another model.
    pub model: Arc<dyn Model>,
    /// The system prompt; `None` or blank: none is sent.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: Arc<Vec<MessageRef>>,
    /// The tools on offer.
    pub tools: Arc<ToolSpecs>,
    /// Whether the model may, must or must not call them.
    pub tool_choice: ToolChoice,
    /// How much to think.
    pub thinking: ThinkingLevel,
    /// The most tokens of the reply; `None`: the provider's default.
    pub max_output_tokens: Option<u64>,
    /// Sampling temperature; `None`: the provider's default.
    pub temperature: Option<f32>,
    /// A stable name for the conversation, for providers whose prompt cache wants one.
    pub cache_key: Option<Arc<str>>,
    /// Where the request belongs in a trace, for services that go on with it. Clients that speak HTTP send
    /// it as headers.
    pub trace: Option<TraceContext>,
}

impl ModelRequest {
    /// A request with nothing but a conversation.
    pub fn new(model: Arc<dyn Model>, messages: Vec<MessageRef>) -> Self {
        Self {
            model,
            system: None,
            messages: Arc::new(messages),
            tools: Arc::default(),
            tool_choice: ToolChoice::default(),
            thinking: ThinkingLevel::default(),
            max_output_tokens: None,
            temperature: None,
            cache_key: None,
            trace: None,
        }
    }

    /// The same request to another model. The thinking level is fitted to what that model knows.
    pub fn with_model(mut self, model: &Arc<dyn Model>) -> Self {
        self.model = Arc::clone(model);
        self.thinking = model.info().nearest_thinking(self.thinking);
        self
    }
}

impl std::fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelRequest")
            .field("model", &self.model.info().id)
            .field("system", &self.system)
            .field("messages", &self.messages)
            .field("tools", &self.tools)
            .field("tool_choice", &self.tool_choice)
            .field("thinking", &self.thinking)
            .field("max_output_tokens", &self.max_output_tokens)
            .finish_non_exhaustive()
    }
}

/// One event of a reply that is being streamed.
///
/// `block` numbers the parts of the reply; a part's place is where its number was first seen. A
/// client gives each part its own number, and all events of one call the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The reply has begun.
    Start {
        /// The provider's name for the reply.
        response_id: Option<String>,
    },
    /// More text.
    Text {
        /// The part.
        block: u32,
        /// The text to append.
        delta: String,
    },
    /// More thinking.
    Thinking {
        /// The part.
        block: u32,
        /// The text to append; may be empty, to mark that there is such a part.
        delta: String,
    },
    /// The signature of a part of thinking; a later one replaces an earlier one.
    ThinkingSignature {
        /// The part.
        block: u32,
        /// What the provider needs to accept the part again.
        signature: String,
        /// Whether the text is withheld, so that the signature is all there is.
        redacted: bool,
    },
    /// A call begins.
    ToolCall {
        /// The part.
        block: u32,
        /// The call's id; empty when the provider gave none: the reply then makes one.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    ToolArguments {
        /// The part.
        block: u32,
        /// JSON text to append.
        delta: String,
    },
    /// What the provider reports of tokens. The last one counts; they are not added up.
    Usage(Usage),
    /// The reply is complete.
    Stop(StopReason),
}
