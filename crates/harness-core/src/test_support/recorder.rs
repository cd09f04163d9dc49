//! A middleware that notes what it sees.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use harness_prompt::SystemPrompt;

use crate::compaction::{Compaction, ContextUse};
use crate::context::RunContext;
use crate::error::MiddlewareError;
use crate::event::Event;
use crate::message::MessageRef;
use crate::middleware::{ActiveCall, Middleware, RunInput, TurnDecision, TurnReport};
use crate::model::{ModelRequest, ModelResult};
use crate::next::{NextActing, NextAgent, NextModel, NextReasoning, NextTool, NextTurn};
use crate::outcome::{RunOutcome, ToolOutcome};
use crate::turn_end::TurnEnd;

/// Notes each hook that runs as `name:hook`, and for onions `name:hook>` before and `name:hook<` after.
///
/// Several recorders can share one log, so that their order shows.
#[derive(Clone, Debug)]
pub struct Recorder {
    name: String,
    order: i32,
    log: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// A recorder with its own log.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            order: 0,
            log: Arc::default(),
        }
    }

    /// Another recorder that writes into the same log.
    pub fn sharing(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            order: 0,
            log: Arc::clone(&self.log),
        }
    }

    /// Sets the order.
    pub fn order(mut self, order: i32) -> Self {
        self.order = order;
        self
    }

    /// What was noted so far, events left out.
    pub fn log(&self) -> Vec<String> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note(&self, what: &str) {
        let line = format!("{}:{what}", self.name);
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

#[async_trait]
impl Middleware for Recorder {
    fn name(&self) -> &str {
        &self.name
    }

    fn order(&self) -> i32 {
        self.order
    }

    async fn on_system_prompt(
        &self,
        _cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        self.note("system_prompt");
        Ok(prompt)
    }

    async fn on_context(
        &self,
        _cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        self.note("context");
        Ok(messages)
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        self.note("agent>");
        let outcome = next.run(cx, input).await;
        self.note(&format!("agent<{}", outcome.status.word()));
        outcome
    }

    async fn on_turn(&self, cx: &RunContext, turn: u32, next: NextTurn<'_>) -> TurnEnd {
        self.note("turn>");
        let end = next.run(cx, turn).await;
        self.note("turn<");
        end
    }

    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        self.note("reasoning>");
        let result = next.run(cx, request).await;
        self.note("reasoning<");
        result
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        self.note("model_call>");
        let result = next.run(cx, request).await;
        self.note("model_call<");
        result
    }

    async fn on_acting(
        &self,
        cx: &RunContext,
        batch: Vec<ActiveCall>,
        next: NextActing<'_>,
    ) -> Vec<ToolOutcome> {
        self.note("acting>");
        let outcomes = next.run(cx, batch).await;
        self.note("acting<");
        outcomes
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        self.note("tool_call>");
        let outcome = next.run(cx, call).await;
        self.note("tool_call<");
        outcome
    }

    async fn after_turn(
        &self,
        _cx: &RunContext,
        _turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        self.note("after_turn");
        Ok(TurnDecision::default())
    }

    async fn on_compaction(
        &self,
        _: &RunContext,
        _: &Arc<Vec<MessageRef>>,
        _: &ContextUse,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        self.note("compaction");
        Ok(None)
    }

    fn on_event(&self, _cx: &RunContext, event: &Event) {
        match event {
            Event::RunStart { .. } => self.note("event:run_start"),
            Event::RunEnd(_) => self.note("event:run_end"),
            _ => {}
        }
    }
}
