//! The core of an agent: what a model says, what a tool does, and the loop between them.
//!
//! The main type is [`LoopConfig`]: a model, tools, a system prompt, middlewares and bounds, put
//! together once and shared by any number of runs. [`run`] takes it and an input, and gives a
//! [`RunHandle`]: a stream of [`Event`]s, the means to steer and to cancel, and the [`RunOutcome`].
//!
//! Three decisions shape the crate:
//!
//! - **The loop does no I/O.** It opens no file, no connection and no process, and reads no clock that
//!   cannot be replaced. Models and tools do that, behind traits. The price is that this crate alone
//!   can do nothing; the gain is that everything it promises can be tested without a network, and
//!   that a run is a function of its input and its [`Journal`]: it can be replayed from any step.
//! - **The handle drives the run.** There is no task in the background: a run goes on while its handle
//!   is polled, and dropping the handle ends it with everything that it started. The price is that a
//!   handle that nobody polls stands still; move it into a task if it should not.
//! - **A conversation is valid by construction.** All results of one batch are one message, a reply
//!   enters the history only when it is whole, and what a model is sent satisfies
//!   [`protocol::check_request`] on every path: retries, limits, cancels, crashes.
//!
//! ```
//! # async fn example(model: std::sync::Arc<dyn harness_core::Model>) -> Result<(), Box<dyn std::error::Error>> {
//! use harness_core::{Event, LoopConfig, RunInput, run};
//!
//! let config = LoopConfig::builder(model).system_prompt("Answer in one word.").build()?;
//! let mut handle = run(&config, RunInput::prompt("What is the capital of France?"));
//! while let Some(event) = handle.next().await {
//!     if let Event::TextDelta(text) = event {
//!         print!("{text}");
//!     }
//! }
//! let outcome = handle.outcome().await?;
//! assert_eq!(outcome.status.word(), "finished");
//! # Ok(())
//! # }
//! # use harness_core::test_support::{Reply, ScriptedModel};
//! # futures::executor::block_on(async {
//! #     example(std::sync::Arc::new(ScriptedModel::new([Reply::text("Paris")]))).await.unwrap();
//! # });
//! ```
//!
//! To write a tool, see [`Tool`]; a middleware, [`Middleware`] and [`from_fn`]; a client for a model
//! service, [`Model`]. Fakes for tests are in `test_support`, behind the feature `test-support`.

mod agent_loop;
mod arguments;
mod batch;
mod clock;
mod compacting;
mod compaction;
mod config;
mod context;
mod engine;
mod error;
mod event;
pub mod from_fn;
mod handle;
mod hook_verdict;
mod journal;
mod limits;
mod masker;
mod message;
mod middleware;
mod model;
mod next;
mod outcome;
mod permission_report;
mod permit;
pub mod protocol;
mod queue;
mod repetition;
mod reply;
mod resuming;
mod retry;
mod secret;
mod secret_forms;
mod secret_search;
mod secrets;
mod spending;
mod state;
mod subagent_name;
#[cfg(feature = "test-support")]
pub mod test_support;
mod token_count;
mod tool;
mod tool_effect;
mod trace_context;
mod turn;
mod turn_end;
mod turn_request;
mod usage;
mod whole_turn;

pub use agent_loop::{RunOptions, call_tool, run, run_with};
pub use async_trait::async_trait;
pub use clock::{Clock, Entropy, SystemClock, SystemEntropy};
pub use compaction::{Compaction, CompactionReason, ContextUse, Spent};
pub use config::{LoopConfig, LoopConfigBuilder};
pub use context::{Attributes, Caller, RunContext, ToolContext};
pub use error::{Error, JournalError, MiddlewareError, ModelError, RunError};
pub use event::{Delta, Event, MessageSource, PromptReport, RunEnd, RunEndError, SubagentEvent};
pub use handle::{RunControl, RunHandle};
pub use harness_prompt::{
    Fitted, Keep, PromptDiff, Section, SectionCut, SystemPrompt, estimate_tokens,
};
pub use hook_verdict::{HookDecision, HookVerdict};
pub use journal::{
    Effect, Journal, MemoryJournal, NoJournal, Record, RecordedStep, Step, StepKind,
};
pub use limits::Limits;
pub use masker::Masker;
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
pub use next::{NextActing, NextAgent, NextModel, NextReasoning, NextTool, NextTurn};
pub use outcome::{LimitReached, OutputPart, RunOutcome, RunStatus, ToolOutcome, ToolOutput};
pub use permission_report::{PermissionDecision, PermissionReport, PermissionSource};
pub use permit::{Permit, ToolPreview};
pub use queue::QueueMode;
pub use reply::{MAX_REPLY_BYTES, ReplyBuilder};
pub use retry::RetryPolicy;
pub use secret::Secret;
pub use secrets::Secrets;
pub use spending::Expense;
pub use subagent_name::SubagentName;
pub use token_count::TokenCounter;
pub use tokio_util::sync::CancellationToken;
pub use tool::{DynamicTool, Execution, Replay, Tool, ToolError, ToolRef, ToolSpec, ToolSpecs};
pub use tool_effect::{CommandEffect, ToolEffect, ToolEffects};
pub use trace_context::TraceContext;
pub use turn_end::{TurnEnd, TurnStatus};
pub use usage::{Prices, Usage};
