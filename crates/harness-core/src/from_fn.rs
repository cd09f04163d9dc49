//! Middlewares made of one function: for small things that need no type.
//!
//! ```
//! use harness_core::{from_fn, ToolOutcome};
//!
//! let no_deploys = from_fn::on_tool_call("no-deploys", |cx, call, next| {
//!     Box::pin(async move {
//!         if call.arguments.to_string().contains("deploy") {
//!             let reason = "this agent may not deploy".to_owned();
//!             return ToolOutcome::Denied { by: "no-deploys".to_owned(), reason };
//!         }
//!         next.run(cx, call).await
//!     })
//! });
//! # fn takes(_: impl harness_core::Middleware) {}
//! # takes(no_deploys);
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use harness_prompt::SystemPrompt;

use crate::compaction::{Compaction, ContextUse};
use crate::context::RunContext;
use crate::error::MiddlewareError;
use crate::event::Event;
use crate::message::MessageRef;
use crate::middleware::{
    ActiveCall, FailurePolicy, HookSet, Middleware, RunInput, TurnDecision, TurnReport,
};
use crate::model::{ModelRequest, ModelResult};
use crate::next::{NextActing, NextAgent, NextModel, NextReasoning, NextTool, NextTurn};
use crate::outcome::{RunOutcome, ToolOutcome};
use crate::turn_end::TurnEnd;

/// A middleware of one hook, made of a function. See the functions of this module.
pub struct FromFn<K: Kind> {
    name: String,
    order: i32,
    on_failure: FailurePolicy,
    function: Box<K::Function>,
}

impl<K: Kind> FromFn<K> {
    fn new(name: impl Into<String>, function: Box<K::Function>) -> Self {
        Self {
            name: name.into(),
            order: 0,
            on_failure: FailurePolicy::default(),
            function,
        }
    }

    /// Larger is outer.
    pub fn order(mut self, order: i32) -> Self {
        self.order = order;
        self
    }

    /// What happens when the function fails.
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.on_failure = policy;
        self
    }
}

impl<K: Kind> std::fmt::Debug for FromFn<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FromFn")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Which hook a [`FromFn`] implements.
pub trait Kind: sealed::Sealed + 'static {
    /// The function's type.
    type Function: ?Sized + Send + Sync;
}

macro_rules! from_fn {
    (
        $(#[$doc:meta])*
        $kind:ident, $hook:ident, $set:ident, ($arg:ident: $argument:ty $(, $next:ident)?) -> $output:ty
    ) => {
        #[doc = concat!("The hook [`Middleware::", stringify!($hook), "`].")]
        #[derive(Debug)]
        pub enum $kind {}
        impl sealed::Sealed for $kind {}
        impl Kind for $kind {
            type Function = dyn for<'a> Fn(&'a RunContext, $argument $(, $next<'a>)?) -> BoxFuture<'a, $output>
                + Send
                + Sync;
        }

        $(#[$doc])*
        pub fn $hook(
            name: impl Into<String>,
            function: impl for<'a> Fn(&'a RunContext, $argument $(, $next<'a>)?) -> BoxFuture<'a, $output>
                + Send
                + Sync
                + 'static,
        ) -> FromFn<$kind> {
            let function: Box<<$kind as Kind>::Function> = Box::new(function);
            FromFn::new(name, function)
        }

        from_fn!(@middleware $kind, $hook, $set, $arg: $argument, $output $(, $next)?);
    };
    (@middleware $kind:ident, $hook:ident, $set:ident, $arg:ident: $argument:ty, $output:ty) => {
        #[async_trait]
        impl Middleware for FromFn<$kind> {
            fn name(&self) -> &str {
                &self.name
            }

            fn order(&self) -> i32 {
                self.order
            }

            fn hooks(&self) -> HookSet {
                HookSet::$set
            }

            fn on_failure(&self) -> FailurePolicy {
                self.on_failure
            }

            async fn $hook(&self, cx: &RunContext, $arg: $argument) -> $output {
                (self.function)(cx, $arg).await
            }
        }
    };
    (@middleware $kind:ident, $hook:ident, $set:ident, $arg:ident: $argument:ty, $output:ty, $next:ident) => {
        #[async_trait]
        impl Middleware for FromFn<$kind> {
            fn name(&self) -> &str {
                &self.name
            }

            fn order(&self) -> i32 {
                self.order
            }

            fn hooks(&self) -> HookSet {
                HookSet::$set
            }

            fn on_failure(&self) -> FailurePolicy {
                self.on_failure
            }

            async fn $hook(&self, cx: &RunContext, $arg: $argument, next: $next<'_>) -> $output {
                (self.function)(cx, $arg, next).await
            }
        }
    };
}

from_fn! {
    /// A middleware that changes the system prompt.
    SystemPromptFn, on_system_prompt, SYSTEM_PROMPT,
    (prompt: SystemPrompt) -> Result<SystemPrompt, MiddlewareError>
}
from_fn! {
    /// A middleware that changes what the model is shown.
    ContextFn, on_context, CONTEXT,
    (messages: Vec<MessageRef>) -> Result<Vec<MessageRef>, MiddlewareError>
}
from_fn! {
    /// A middleware around the run.
    AgentFn, on_agent, AGENT, (input: RunInput, NextAgent) -> RunOutcome
}
from_fn! {
    /// A middleware around one turn.
    TurnFn, on_turn, TURN, (turn: u32, NextTurn) -> TurnEnd
}
from_fn! {
    /// A middleware around one turn's reply.
    ReasoningFn, on_reasoning, REASONING, (request: ModelRequest, NextReasoning) -> ModelResult
}
from_fn! {
    /// A middleware around one attempt.
    ModelCallFn, on_model_call, MODEL_CALL, (request: ModelRequest, NextModel) -> ModelResult
}
from_fn! {
    /// A middleware around one batch.
    ActingFn, on_acting, ACTING, (batch: Vec<ActiveCall>, NextActing) -> Vec<ToolOutcome>
}
from_fn! {
    /// A middleware around one call.
    ToolCallFn, on_tool_call, TOOL_CALL, (call: ActiveCall, NextTool) -> ToolOutcome
}

/// The hook [`Middleware::after_turn`].
#[derive(Debug)]
pub enum AfterTurnFn {}
impl sealed::Sealed for AfterTurnFn {}
impl Kind for AfterTurnFn {
    type Function = dyn for<'a> Fn(
            &'a RunContext,
            &'a TurnReport,
        ) -> BoxFuture<'a, Result<TurnDecision, MiddlewareError>>
        + Send
        + Sync;
}

/// A middleware that decides after each turn.
pub fn after_turn(
    name: impl Into<String>,
    function: impl for<'a> Fn(
        &'a RunContext,
        &'a TurnReport,
    ) -> BoxFuture<'a, Result<TurnDecision, MiddlewareError>>
    + Send
    + Sync
    + 'static,
) -> FromFn<AfterTurnFn> {
    let function: Box<<AfterTurnFn as Kind>::Function> = Box::new(function);
    FromFn::new(name, function)
}

#[async_trait]
impl Middleware for FromFn<AfterTurnFn> {
    fn name(&self) -> &str {
        &self.name
    }

    fn order(&self) -> i32 {
        self.order
    }

    fn hooks(&self) -> HookSet {
        HookSet::AFTER_TURN
    }

    fn on_failure(&self) -> FailurePolicy {
        self.on_failure
    }

    async fn after_turn(
        &self,
        cx: &RunContext,
        turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        (self.function)(cx, turn).await
    }
}

/// The hook [`Middleware::on_event`].
#[derive(Debug)]
pub enum EventFn {}
impl sealed::Sealed for EventFn {}
impl Kind for EventFn {
    type Function = dyn Fn(&RunContext, &Event) + Send + Sync;
}

/// A middleware that sees every event.
pub fn on_event(
    name: impl Into<String>,
    function: impl Fn(&RunContext, &Event) + Send + Sync + 'static,
) -> FromFn<EventFn> {
    let function: Box<<EventFn as Kind>::Function> = Box::new(function);
    FromFn::new(name, function)
}

#[async_trait]
impl Middleware for FromFn<EventFn> {
    fn name(&self) -> &str {
        &self.name
    }

    fn order(&self) -> i32 {
        self.order
    }

    fn hooks(&self) -> HookSet {
        HookSet::EVENT
    }

    fn on_event(&self, cx: &RunContext, event: &Event) {
        (self.function)(cx, event);
    }
}

/// The hook [`Middleware::on_compaction`].
#[derive(Debug)]
pub enum CompactionFn {}
impl sealed::Sealed for CompactionFn {}
impl Kind for CompactionFn {
    type Function = dyn for<'a> Fn(
            &'a RunContext,
            &'a Arc<Vec<MessageRef>>,
            &'a ContextUse,
        ) -> BoxFuture<'a, Result<Option<Compaction>, MiddlewareError>>
        + Send
        + Sync;
}

/// A middleware that makes the conversation shorter.
pub fn on_compaction(
    name: impl Into<String>,
    function: impl for<'a> Fn(
        &'a RunContext,
        &'a Arc<Vec<MessageRef>>,
        &'a ContextUse,
    ) -> BoxFuture<'a, Result<Option<Compaction>, MiddlewareError>>
    + Send
    + Sync
    + 'static,
) -> FromFn<CompactionFn> {
    let function: Box<<CompactionFn as Kind>::Function> = Box::new(function);
    FromFn::new(name, function)
}

#[async_trait]
impl Middleware for FromFn<CompactionFn> {
    fn name(&self) -> &str {
        &self.name
    }

    fn order(&self) -> i32 {
        self.order
    }

    fn hooks(&self) -> HookSet {
        HookSet::COMPACTION
    }

    fn on_failure(&self) -> FailurePolicy {
        self.on_failure
    }

    async fn on_compaction(
        &self,
        cx: &RunContext,
        history: &Arc<Vec<MessageRef>>,
        used: &ContextUse,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        (self.function)(cx, history, used).await
    }
}
