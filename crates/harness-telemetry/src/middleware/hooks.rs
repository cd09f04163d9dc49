//! Spans of the hooks of a middleware.

use std::sync::Arc;

use async_trait::async_trait;
use harness_core::{
    ActiveCall, Compaction, ContextUse, Event, FailurePolicy, HookSet, MessageRef, Middleware,
    MiddlewareError, ModelRequest, ModelResult, NextActing, NextAgent, NextModel, NextReasoning,
    NextTool, NextTurn, RunContext, RunInput, RunOutcome, SystemPrompt, ToolOutcome, TurnDecision,
    TurnEnd, TurnReport,
};
use tracing::Instrument;

use crate::harness;

/// A middleware whose hooks are seen. What is inside an onion is a child of its hook's span.
pub(super) struct HookSpans(pub(super) Arc<dyn Middleware>);

impl HookSpans {
    fn start(&self, hook: &str) -> harness::hook::Span {
        let middleware = self.0.name();
        harness::hook(harness::Hook { middleware, hook }).start()
    }

    /// Runs a hook that cannot fail.
    async fn around<T>(&self, hook: &str, inside: impl Future<Output = T>) -> T {
        let span = self.start(hook);
        let value = inside.instrument(span.span().clone()).await;
        span.end(harness::HookEnd { outcome: "done" });
        value
    }

    /// Runs a hook that can.
    async fn tried<T>(
        &self,
        hook: &str,
        inside: impl Future<Output = Result<T, MiddlewareError>>,
    ) -> Result<T, MiddlewareError> {
        let span = self.start(hook);
        let value = inside.instrument(span.span().clone()).await;
        let outcome = if value.is_ok() { "done" } else { "failed" };
        span.end(harness::HookEnd { outcome });
        value
    }
}

#[async_trait]
impl Middleware for HookSpans {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn order(&self) -> i32 {
        self.0.order()
    }

    fn hooks(&self) -> HookSet {
        self.0.hooks()
    }

    fn on_failure(&self) -> FailurePolicy {
        self.0.on_failure()
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        self.tried("on_system_prompt", self.0.on_system_prompt(cx, prompt))
            .await
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        self.tried("on_context", self.0.on_context(cx, messages))
            .await
    }

    async fn on_compaction(
        &self,
        cx: &RunContext,
        history: &Arc<Vec<MessageRef>>,
        used: &ContextUse,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        self.tried("on_compaction", self.0.on_compaction(cx, history, used))
            .await
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        self.around("on_agent", self.0.on_agent(cx, input, next))
            .await
    }

    async fn on_turn(&self, cx: &RunContext, turn: u32, next: NextTurn<'_>) -> TurnEnd {
        self.around("on_turn", self.0.on_turn(cx, turn, next)).await
    }

    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        self.around("on_reasoning", self.0.on_reasoning(cx, request, next))
            .await
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        self.around("on_model_call", self.0.on_model_call(cx, request, next))
            .await
    }

    async fn on_acting(
        &self,
        cx: &RunContext,
        batch: Vec<ActiveCall>,
        next: NextActing<'_>,
    ) -> Vec<ToolOutcome> {
        self.around("on_acting", self.0.on_acting(cx, batch, next))
            .await
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        self.around("on_tool_call", self.0.on_tool_call(cx, call, next))
            .await
    }

    async fn after_turn(
        &self,
        cx: &RunContext,
        turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        self.tried("after_turn", self.0.after_turn(cx, turn)).await
    }

    fn on_event(&self, cx: &RunContext, event: &Event) {
        // Too many and too short to be worth a span each.
        self.0.on_event(cx, event);
    }
}
