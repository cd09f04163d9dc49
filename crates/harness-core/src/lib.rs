//! Placeholder essay; replaced below.

mod arguments;
mod clock;
mod context;
mod error;
mod event;
mod message;
mod middleware;
mod model;
mod next;
mod outcome;
mod reply;
mod system_prompt;
mod tool;
mod usage;

pub use async_trait::async_trait;
pub use clock::{Clock, Entropy, SystemClock, SystemEntropy};
pub use context::{Attributes, Caller, RunContext, ToolContext};
pub use error::{Error, JournalError, MiddlewareError, ModelError, RunError};
pub use event::{Delta, Event, MessageSource, RunEnd, RunEndError};
pub use message::{
    AssistantMessage, AssistantPart, EncodedSlot, Image, Message, MessageRef, StopReason, Text,
    Thinking, ToolCall, ToolResult, ToolResults, UserMessage, UserPart,
};
pub use middleware::{
    ActiveCall, FailurePolicy, HookSet, Middleware, RunInput, TurnDecision, TurnReport,
};
pub use model::{
    Model, ModelEvent, ModelId, ModelInfo, ModelRequest, ModelResult, ModelStream, ThinkingLevel,
    ToolChoice,
};
pub use next::{NextActing, NextAgent, NextModel, NextReasoning, NextTool};
pub use outcome::{
    LimitReached, OutputPart, RunOutcome, RunStatus, ToolOutcome, ToolOutput,
};
pub use reply::{MAX_REPLY_BYTES, ReplyBuilder};
pub use system_prompt::{Section, SystemPrompt};
pub use tokio_util::sync::CancellationToken;
pub use tool::{
    DynamicTool, Execution, Replay, Tool, ToolError, ToolRef, ToolSpec, ToolSpecs,
};
pub use usage::{Prices, Usage};
