//! Proving that a narrowed set of hooks leaves nothing out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::BoxFuture;
use harness_prompt::SystemPrompt;

use crate::compaction::ContextUse;
use crate::context::{Caller, RunContext};
use crate::message::{AssistantMessage, AssistantPart, Message, StopReason, Text};
use crate::middleware::{ActiveCall, HookSet, Middleware, RunInput, TurnReport};
use crate::model::{Model, ModelId, ModelRequest, ModelResult};
use crate::next::{
    ActingEnd, AgentEnd, ModelEnd, NextActing, NextAgent, NextModel, NextReasoning, NextTool,
    NextTurn, OnRecord, ReasoningEnd, ToolEnd, TurnLayer,
};
use crate::outcome::{RunOutcome, RunStatus, ToolOutcome};
use crate::test_support::ScriptedModel;
use crate::turn_end::{TurnEnd, TurnStatus};
use crate::usage::Usage;

/// An innermost layer that counts how often it is reached and answers with something recognisable.
#[derive(Default)]
struct Sentinel {
    reached: AtomicU32,
}

impl Sentinel {
    fn reach<'f, T: Send + 'f>(&self, answer: T) -> BoxFuture<'f, T> {
        self.reached.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(answer))
    }

    fn take(&self) -> u32 {
        self.reached.swap(0, Ordering::Relaxed)
    }
}

fn reply() -> AssistantMessage {
    AssistantMessage {
        content: vec![AssistantPart::Text(Text {
            text: "sentinel".to_owned(),
        })],
        model: ModelId::new("test", "sentinel"),
        stop: StopReason::EndTurn,
        usage: None,
        response_id: None,
    }
}

impl AgentEnd for Sentinel {
    fn run<'f>(&'f self, _: &'f RunContext, input: RunInput) -> BoxFuture<'f, RunOutcome> {
        let before = input.history.len();
        let mut history = input.history;
        history.extend(
            input
                .messages
                .into_iter()
                .map(|user| Message::User(user).into()),
        );
        self.reach(RunOutcome {
            run_id: "sentinel".to_owned(),
            status: RunStatus::Finished(StopReason::EndTurn),
            history,
            history_before: before,
            usage: Usage::default(),
            cost: None,
            turns: 7,
            compactions: 0,
            undelivered: Vec::new(),
        })
    }
}

impl TurnLayer for Sentinel {
    fn run<'f>(&'f self, _: &'f RunContext, _: u32) -> BoxFuture<'f, TurnEnd> {
        self.reach(TurnEnd::new(TurnStatus::Ended))
    }
}

impl ReasoningEnd for Sentinel {
    fn run<'f>(&'f self, _: &'f RunContext, _: ModelRequest) -> BoxFuture<'f, ModelResult> {
        self.reach(Ok(reply()))
    }
}

impl ModelEnd for Sentinel {
    fn run<'f>(&'f self, _: &'f RunContext, _: ModelRequest) -> BoxFuture<'f, ModelResult> {
        self.reach(Ok(reply()))
    }
}

impl ActingEnd for Sentinel {
    fn run<'f>(
        &'f self,
        _: &'f RunContext,
        batch: Vec<ActiveCall>,
    ) -> BoxFuture<'f, Vec<ToolOutcome>> {
        let shown = batch
            .iter()
            .map(|call| ToolOutcome::done(call.arguments.to_string()));
        self.reach(shown.collect())
    }
}

impl OnRecord for Sentinel {
    fn decide<'f>(
        &'f self,
        _: &'f ActiveCall,
        _: &'f str,
        decide: BoxFuture<'f, serde_json::Value>,
    ) -> BoxFuture<'f, Option<serde_json::Value>> {
        Box::pin(async move { Some(decide.await) })
    }
}

impl ToolEnd for Sentinel {
    fn run<'f>(&'f self, _: &'f RunContext, call: ActiveCall) -> BoxFuture<'f, ToolOutcome> {
        self.reach(ToolOutcome::done(call.arguments.to_string()))
    }
}

/// Runs each hook that `middleware` says it does not implement, and panics if one of them does
/// anything: changes what goes in or comes out, does not pass on, or passes on more than once.
///
/// [`Middleware::on_event`] changes nothing by nature, so nothing can be seen of it.
pub async fn assert_hooks_honest(middleware: impl Middleware) {
    let declared = middleware.hooks();
    let name = middleware.name().to_owned();
    let middleware: Arc<dyn Middleware> = Arc::new(middleware);
    let chain = [Arc::clone(&middleware)];
    let cx = RunContext::detached(Caller::default());
    let end = Sentinel::default();
    let expect = |hook: HookSet, passed: bool| {
        assert!(
            passed,
            "the middleware `{name}` implements {hook:?} and does not say so in `hooks`"
        );
    };
    let missing = |hook: HookSet| !declared.contains(hook);

    if missing(HookSet::SYSTEM_PROMPT) {
        let prompt = SystemPrompt::new("sentinel");
        let after = middleware.on_system_prompt(&cx, prompt.clone()).await;
        expect(
            HookSet::SYSTEM_PROMPT,
            after.is_ok_and(|after| after == prompt),
        );
    }
    if missing(HookSet::CONTEXT) {
        let messages = vec![Message::user("sentinel").into()];
        let after = middleware.on_context(&cx, messages.clone()).await;
        expect(HookSet::CONTEXT, after.is_ok_and(|after| after == messages));
    }
    if missing(HookSet::AGENT) {
        let outcome = NextAgent::new(&chain, &end)
            .run(&cx, RunInput::prompt("sentinel"))
            .await;
        let same = outcome.history == vec![Message::user("sentinel").into()] && outcome.turns == 7;
        expect(HookSet::AGENT, same && end.take() == 1);
    }
    if missing(HookSet::TURN) {
        let ended = NextTurn::new(&chain, &end).run(&cx, 1).await;
        let same = *ended.status() == TurnStatus::Ended;
        expect(HookSet::TURN, same && end.take() == 1);
    }
    let model: Arc<dyn Model> = Arc::new(ScriptedModel::new([]));
    if missing(HookSet::COMPACTION) {
        let history = Arc::new(vec![Message::user("sentinel").into(); 3]);
        let mut used = ContextUse::new(Arc::clone(&model), 1_000_000);
        used.overflow = true;
        let given = middleware.on_compaction(&cx, &history, &used).await;
        expect(
            HookSet::COMPACTION,
            given.is_ok_and(|given| given.is_none()),
        );
    }
    let request = ModelRequest::new(model, vec![Message::user("sentinel").into()]);
    if missing(HookSet::REASONING) {
        let result = NextReasoning::new(&chain, &end)
            .run(&cx, request.clone())
            .await;
        expect(HookSet::REASONING, result == Ok(reply()) && end.take() == 1);
    }
    if missing(HookSet::MODEL_CALL) {
        let result = NextModel::new(&chain, &end).run(&cx, request).await;
        expect(
            HookSet::MODEL_CALL,
            result == Ok(reply()) && end.take() == 1,
        );
    }
    let call = ActiveCall {
        id: "call_1".to_owned(),
        name: "sentinel".to_owned(),
        arguments: Arc::new(serde_json::json!({"sentinel": true})),
        spec: None,
        problem: None,
        tool: None,
        index: 0,
    };
    let shown = ToolOutcome::done(call.arguments.to_string());
    if missing(HookSet::ACTING) {
        let outcomes = NextActing::new(&chain, &end)
            .run(&cx, vec![call.clone()])
            .await;
        expect(
            HookSet::ACTING,
            outcomes == vec![shown.clone()] && end.take() == 1,
        );
    }
    if missing(HookSet::TOOL_CALL) {
        let outcome = NextTool::new(&chain, &end).run(&cx, call).await;
        expect(HookSet::TOOL_CALL, outcome == shown && end.take() == 1);
    }
    if missing(HookSet::AFTER_TURN) {
        expect(HookSet::AFTER_TURN, is_idle(&*middleware, &cx).await);
    }
}

/// Whether it decides nothing after a turn.
async fn is_idle(middleware: &dyn Middleware, cx: &RunContext) -> bool {
    let report = TurnReport {
        turn: 1,
        reply: Arc::new(reply()),
        results: None,
    };
    let decision = middleware.after_turn(cx, &report).await;
    decision.is_ok_and(|decision| {
        decision.stop.is_none()
            && decision.model.is_none()
            && decision.tools.is_none()
            && decision.thinking.is_none()
            && decision.messages.is_empty()
    })
}
