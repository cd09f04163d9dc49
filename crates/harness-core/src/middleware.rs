//! Middleware: eleven hooks around what a run does.
//!
//! One trait, every method with a default, one registration, one order for all hooks. The hooks come
//! in four kinds:
//!
//! | hook | kind | when |
//! |---|---|---|
//! | [`on_system_prompt`](Middleware::on_system_prompt) | fold | before every turn |
//! | [`on_context`](Middleware::on_context) | fold | before every turn |
//! | [`on_compaction`](Middleware::on_compaction) | decision | before every request |
//! | [`on_agent`](Middleware::on_agent) | onion | around the run |
//! | [`on_turn`](Middleware::on_turn) | onion | around one turn |
//! | [`on_reasoning`](Middleware::on_reasoning) | onion | around one turn's reply, retries included |
//! | [`on_model_call`](Middleware::on_model_call) | onion | around one attempt |
//! | [`on_acting`](Middleware::on_acting) | onion | around one batch |
//! | [`on_tool_call`](Middleware::on_tool_call) | onion | around one call |
//! | [`after_turn`](Middleware::after_turn) | decision | after every turn |
//! | [`on_event`](Middleware::on_event) | observer | every event |
//!
//! Middlewares run in the order of [`order`](Middleware::order), larger outside; ties keep the order
//! of registration. A fold goes left to right, the outermost first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use harness_prompt::SystemPrompt;

use crate::compaction::{Compaction, ContextUse};
use crate::context::{RunContext, ToolContext};
use crate::error::MiddlewareError;
use crate::event::Event;
use crate::message::{AssistantMessage, MessageRef, ToolResults, UserMessage};
use crate::model::{Model, ModelRequest, ModelResult, ThinkingLevel};
use crate::next::{NextActing, NextAgent, NextModel, NextReasoning, NextTool, NextTurn};
use crate::outcome::{RunOutcome, ToolOutcome};
use crate::permit::ToolPreview;
use crate::tool::{ToolRef, ToolSpec};
use crate::tool_effect::ToolEffects;
use crate::turn_end::TurnEnd;

bitflags::bitflags! {
    /// Which hooks a middleware implements.
    ///
    /// A hint that makes runs faster. The default, all, is always correct; a set that leaves out a
    /// hook which the middleware does implement keeps that hook from being called, which
    /// `test_support::assert_hooks_honest` finds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct HookSet: u16 {
        /// [`Middleware::on_system_prompt`]
        const SYSTEM_PROMPT = 1;
        /// [`Middleware::on_context`]
        const CONTEXT = 1 << 1;
        /// [`Middleware::on_agent`]
        const AGENT = 1 << 2;
        /// [`Middleware::on_reasoning`]
        const REASONING = 1 << 3;
        /// [`Middleware::on_model_call`]
        const MODEL_CALL = 1 << 4;
        /// [`Middleware::on_acting`]
        const ACTING = 1 << 5;
        /// [`Middleware::on_tool_call`]
        const TOOL_CALL = 1 << 6;
        /// [`Middleware::after_turn`]
        const AFTER_TURN = 1 << 7;
        /// [`Middleware::on_event`]
        const EVENT = 1 << 8;
        /// [`Middleware::on_compaction`]
        const COMPACTION = 1 << 9;
        /// [`Middleware::on_turn`]
        const TURN = 1 << 10;
    }
}

/// What happens when a middleware's hook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The run goes on as if the middleware were not there; a warning says so.
    FailOpen,
    /// The run, or the call, fails. The only safe choice for anything that can deny.
    #[default]
    FailClosed,
}

/// Something between the loop and the world.
///
/// Onion hooks get a `next`, which is used up by running it: to run it twice, for a retry or a
/// fallback, clone it before.
///
/// A hook that waits for something of its own, such as a person's approval, must watch
/// [`RunContext::cancellation`]: the loop ends models and tools when a run is cancelled, and cannot end
/// a hook without losing what is inside it.
///
/// A panic in a fold, in `after_turn` or around calls is a failure of that hook or of those calls; one
/// in `on_event` is told of and changes nothing. A panic in a model, or around one or around the run,
/// goes to whoever polls the run.
///
/// ```
/// use std::sync::Arc;
/// use harness_core::{Middleware, Model, ModelRequest, ModelResult, NextModel, RunContext, async_trait};
///
/// /// Asks a second model when the first one fails in a way that may pass.
/// struct Fallback {
///     backup: Arc<dyn Model>,
/// }
///
/// #[async_trait]
/// impl Middleware for Fallback {
///     fn name(&self) -> &str {
///         "fallback"
///     }
///
///     async fn on_model_call(
///         &self,
///         cx: &RunContext,
///         request: ModelRequest,
///         next: NextModel<'_>,
///     ) -> ModelResult {
///         match next.clone().run(cx, request.clone()).await {
///             Err(error) if error.is_retryable() => {
///                 next.run(cx, request.with_model(&self.backup)).await
///             }
///             reply => reply,
///         }
///     }
/// }
/// ```
#[async_trait]
#[expect(
    unused_variables,
    reason = "the defaults name their parameters for the documentation"
)]
pub trait Middleware: Send + Sync + 'static {
    /// A name for events, errors and listings.
    fn name(&self) -> &str;

    /// Larger is outer; ties keep the order of registration.
    fn order(&self) -> i32 {
        0
    }

    /// Which hooks to call; see [`HookSet`].
    fn hooks(&self) -> HookSet {
        HookSet::all()
    }

    /// What happens when a fold or `after_turn` fails or panics, or when `on_context` gives a
    /// conversation that breaks a rule of [`protocol`](crate::protocol).
    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailClosed
    }

    /// Changes the system prompt of the coming turn. Starts from the configured one every time.
    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(prompt)
    }

    /// Changes what the model is shown of the conversation, without touching what is stored.
    ///
    /// Messages that are passed on unchanged keep their encoded form; those made here are encoded
    /// anew. The pairing of calls and results must be kept.
    async fn on_context(
        &self,
        cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        Ok(messages)
    }

    /// Makes the conversation shorter, for good: the messages that are not kept leave it, and a summary
    /// stands in their place. `None` leaves it as it is; the first middleware that gives one wins.
    ///
    /// Before every request, and once more when the provider has refused the request as too long; then
    /// [`ContextUse::overflow`] is set, and the request is made again if something was given. Must watch
    /// [`RunContext::cancellation`]. What it gives is on record before it counts: a replay does not ask
    /// again.
    async fn on_compaction(
        &self,
        cx: &RunContext,
        history: &Arc<Vec<MessageRef>>,
        used: &ContextUse,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        Ok(None)
    }

    /// Around the whole run. What follows `next` runs on success, error, limit and cancel.
    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        next.run(cx, input).await
    }

    /// Around one turn: its prompt, its reply and its calls. `turn` is its number, from 1.
    ///
    /// To watch and to time it, to give it values or a cancellation of its own; it cannot be left out, and
    /// what comes of it cannot be changed.
    async fn on_turn(&self, cx: &RunContext, turn: u32, next: NextTurn<'_>) -> TurnEnd {
        next.run(cx, turn).await
    }

    /// Around one turn's reply, retries included.
    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        next.run(cx, request).await
    }

    /// Around one attempt: one request to a model.
    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        next.run(cx, request).await
    }

    /// Around the calls of one turn. Gives one outcome for each call, in call order.
    async fn on_acting(
        &self,
        cx: &RunContext,
        batch: Vec<ActiveCall>,
        next: NextActing<'_>,
    ) -> Vec<ToolOutcome> {
        next.run(cx, batch).await
    }

    /// Around one call: refuse it, rewrite its arguments, rewrite its outcome.
    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        next.run(cx, call).await
    }

    /// Decides after a turn how the run goes on. The decisions of all middlewares are joined: one
    /// that stops wins; of several values for the same thing the last one wins; messages add up.
    async fn after_turn(
        &self,
        cx: &RunContext,
        turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        Ok(TurnDecision::default())
    }

    /// Sees every event. Cannot change anything, should return at once, and must not emit events.
    fn on_event(&self, cx: &RunContext, event: &Event) {}
}

/// What a run starts from.
#[derive(Clone, Debug, Default)]
pub struct RunInput {
    /// The conversation so far.
    pub history: Vec<MessageRef>,
    /// What is said now. May be empty if the history ends with something to answer.
    pub messages: Vec<UserMessage>,
    /// Whether the run goes on where another one was cut off: if the history ends with a reply whose calls
    /// have no results, they are made, unless the journal knows how they ended. Otherwise such calls get
    /// [`ToolOutcome::Interrupted`].
    pub resume: bool,
}

impl RunInput {
    /// A new conversation that starts with one message.
    pub fn prompt(message: impl Into<UserMessage>) -> Self {
        Self {
            messages: vec![message.into()],
            ..Self::default()
        }
    }

    /// The conversation so far.
    pub fn with_history(mut self, history: Vec<MessageRef>) -> Self {
        self.history = history;
        self
    }
}

/// One call on its way to its tool.
#[derive(Clone, Debug)]
pub struct ActiveCall {
    /// The call's id.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments in their advertised shape, not yet validated; `null` if they could not be read.
    /// What a middleware puts here is validated before the tool sees it.
    pub arguments: Arc<serde_json::Value>,
    /// The tool's spec; `None` if there is no such tool.
    pub spec: Option<Arc<ToolSpec>>,
    /// Why the call cannot be executed as it is. The innermost layer turns it into the outcome.
    pub problem: Option<String>,
    pub(crate) tool: Option<ToolRef>,
    pub(crate) index: usize,
}

impl ActiveCall {
    /// The same call with other arguments; a problem with the old ones is gone.
    pub fn with_arguments(mut self, arguments: serde_json::Value) -> Self {
        self.arguments = Arc::new(arguments);
        self.problem = None;
        self
    }

    /// What is wrong with the call as it is now, in words that a model can act on: what keeps it from being
    /// executed anyway.
    pub fn check(&self) -> Result<(), String> {
        match (&self.problem, &self.tool) {
            (Some(problem), _) => Err(problem.clone()),
            (None, Some(tool)) if tool.spec().name == self.name => tool.validate(&self.arguments),
            (None, _) => Ok(()),
        }
    }

    /// What the call would do, as its tool declares it; unknown if there is no such tool, if it panics,
    /// or if the call was renamed: then another tool would run.
    pub fn effects(&self, cx: &RunContext) -> ToolEffects {
        let Some(tool) = self.known_tool() else {
            return ToolEffects::unknown();
        };
        let cx = ToolContext::new(cx.clone(), self.id.clone());
        let declare = AssertUnwindSafe(|| tool.effects(&cx, &self.arguments));
        catch_unwind(declare).unwrap_or_else(|_| ToolEffects::unknown())
    }

    /// What the call would change, if its tool can show it; see [`Tool::preview`](crate::Tool::preview).
    pub async fn preview(&self, cx: &RunContext) -> Option<ToolPreview> {
        let tool = self.known_tool()?;
        let cx = ToolContext::new(cx.clone(), self.id.clone());
        let preview = AssertUnwindSafe(tool.preview(&cx, &self.arguments)).catch_unwind();
        preview.await.ok().flatten()
    }

    /// The tool that would run, unless the call was renamed: then it is another one.
    fn known_tool(&self) -> Option<&ToolRef> {
        self.tool
            .as_ref()
            .filter(|tool| tool.spec().name == self.name)
    }
}

/// What a turn was.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnReport {
    /// The turn's number, from 1.
    pub turn: u32,
    /// The model's reply.
    pub reply: Arc<AssistantMessage>,
    /// The results of its calls; `None` if it asked for none.
    pub results: Option<Arc<ToolResults>>,
}

/// How a run goes on after a turn.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct TurnDecision {
    /// Stop, and why.
    pub stop: Option<String>,
    /// Another model from the next turn on.
    pub model: Option<Arc<dyn Model>>,
    /// Other tools from the next turn on.
    pub tools: Option<Vec<ToolRef>>,
    /// Another thinking level from the next turn on.
    pub thinking: Option<ThinkingLevel>,
    /// Messages to add. If the run would have ended, it goes on with them.
    pub messages: Vec<UserMessage>,
}

impl TurnDecision {
    /// Nothing changes.
    pub fn go_on() -> Self {
        Self::default()
    }

    /// Stop the run.
    pub fn stop(reason: impl Into<String>) -> Self {
        Self {
            stop: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Add a message.
    pub fn message(message: impl Into<UserMessage>) -> Self {
        Self {
            messages: vec![message.into()],
            ..Self::default()
        }
    }

    /// Another model from the next turn on.
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Other tools from the next turn on.
    pub fn with_tools(mut self, tools: Vec<ToolRef>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Another thinking level from the next turn on.
    pub fn with_thinking(mut self, thinking: ThinkingLevel) -> Self {
        self.thinking = Some(thinking);
        self
    }
}

impl std::fmt::Debug for TurnDecision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnDecision")
            .field("stop", &self.stop)
            .field("model", &self.model.as_ref().map(|model| &model.info().id))
            .field("tools", &self.tools)
            .field("thinking", &self.thinking)
            .field("messages", &self.messages.len())
            .finish()
    }
}
