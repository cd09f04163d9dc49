//! Narrowed sets of hooks: a set that leaves out what is implemented is found, and is not called.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::executor::block_on;
use harness_core::test_support::{ModelCallChain, Recorder, Reply, assert_hooks_honest};
use harness_core::{
    ActiveCall, Caller, Compaction, CompactionReason, ContextUse, Event, FailurePolicy, HookSet,
    Message, MessageRef, Middleware, MiddlewareError, Model, ModelError, ModelRequest, ModelResult,
    NextActing, NextAgent, NextModel, NextReasoning, NextTool, NextTurn, RunContext, RunInput,
    RunOutcome, SystemPrompt, ToolOutcome, TurnDecision, TurnEnd, TurnReport, async_trait,
};

use crate::stage::{builder, echo, ran, scripted};

/// Does something in the hooks `acts`, and says that it implements `says`.
struct Meddler {
    acts: HookSet,
    says: HookSet,
}

impl Meddler {
    fn acts(&self, hook: HookSet) -> bool {
        self.acts.contains(hook)
    }
}

#[async_trait]
impl Middleware for Meddler {
    fn name(&self) -> &'static str {
        "meddler"
    }

    fn hooks(&self) -> HookSet {
        self.says
    }

    async fn on_system_prompt(
        &self,
        _: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(if self.acts(HookSet::SYSTEM_PROMPT) {
            prompt.with_section("more", "more", "meddler")
        } else {
            prompt
        })
    }

    async fn on_context(
        &self,
        _: &RunContext,
        mut messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        if self.acts(HookSet::CONTEXT) {
            messages.push(Message::user("more").into());
        }
        Ok(messages)
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        let mut outcome = next.run(cx, input).await;
        if self.acts(HookSet::AGENT) {
            outcome.turns += 1;
        }
        outcome
    }

    async fn on_turn(&self, cx: &RunContext, turn: u32, next: NextTurn<'_>) -> TurnEnd {
        if self.acts(HookSet::TURN) {
            let _ = next.clone().run(cx, turn).await;
        }
        next.run(cx, turn).await
    }

    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        if self.acts(HookSet::REASONING) {
            let _ = next.clone().run(cx, request.clone()).await;
        }
        next.run(cx, request).await
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        if self.acts(HookSet::MODEL_CALL) {
            return Err(ModelError::Cancelled);
        }
        next.run(cx, request).await
    }

    async fn on_acting(
        &self,
        cx: &RunContext,
        batch: Vec<ActiveCall>,
        next: NextActing<'_>,
    ) -> Vec<ToolOutcome> {
        let mut outcomes = next.run(cx, batch).await;
        if self.acts(HookSet::ACTING) {
            outcomes.pop();
        }
        outcomes
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        let call = if self.acts(HookSet::TOOL_CALL) {
            call.with_arguments(serde_json::json!({"other": 1}))
        } else {
            call
        };
        next.run(cx, call).await
    }

    async fn after_turn(
        &self,
        _: &RunContext,
        _: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        Ok(if self.acts(HookSet::AFTER_TURN) {
            TurnDecision::stop("enough")
        } else {
            TurnDecision::go_on()
        })
    }

    async fn on_compaction(
        &self,
        _: &RunContext,
        history: &Arc<Vec<MessageRef>>,
        _: &ContextUse,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        let summary = vec![Message::user("all that was said").into()];
        let reason = CompactionReason::Manual;
        let shorter = Compaction::new(summary, history.len() - 1, reason);
        Ok(self.acts(HookSet::COMPACTION).then_some(shorter))
    }

    fn on_event(&self, _: &RunContext, _: &Event) {}
}

fn is_found(acts: HookSet, says: HookSet) -> bool {
    let check = assert_hooks_honest(Meddler { acts, says });
    block_on(AssertUnwindSafe(check).catch_unwind()).is_err()
}

/// Nothing can be seen of an observer, so nothing is claimed of it.
#[test]
fn the_check_finds_every_hook_that_is_left_out() {
    for hook in (HookSet::all() - HookSet::EVENT).iter() {
        assert!(
            is_found(hook, HookSet::all() - hook),
            "{hook:?} is left out"
        );
        assert!(is_found(hook, HookSet::empty()), "{hook:?} is left out");
        assert!(!is_found(hook, hook), "{hook:?} is said");
        assert!(!is_found(hook, HookSet::all()), "all is always right");
        assert!(!is_found(HookSet::empty(), HookSet::all() - hook));
    }
    assert!(!is_found(HookSet::empty(), HookSet::empty()));
}

/// What is left out is not called, so leaving out what is implemented disables it.
#[test]
fn what_is_left_out_is_not_called() {
    let model = scripted([
        Reply::call("c", "echo", r#"{"text": "hi"}"#),
        Reply::text("done"),
    ]);
    let config = builder(&model)
        .tool(echo())
        .middleware(Meddler {
            acts: HookSet::all(),
            says: HookSet::empty(),
        })
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!((ran.word(), ran.outcome.turns), ("finished", 2));
    assert_eq!(ran.shown(), ["hi"]);
}

#[test]
fn chains_are_filtered_and_sorted() {
    let recorder = Recorder::new("outer").order(1);
    let idle = || Meddler {
        acts: HookSet::empty(),
        says: HookSet::all() - HookSet::MODEL_CALL,
    };
    let chain = ModelCallChain::new(
        vec![
            Arc::new(idle()),
            Arc::new(recorder.sharing("inner")),
            Arc::new(idle()),
            Arc::new(recorder.clone()),
        ],
        Err(ModelError::Cancelled),
    );
    assert_eq!(chain.layers(), 2);
    let model: Arc<dyn Model> = scripted([]);
    let request = ModelRequest::new(model, vec![Message::user("hi").into()]);
    let result = block_on(chain.run(&RunContext::detached(Caller::default()), request));
    assert_eq!(result, Err(ModelError::Cancelled));
    assert_eq!(
        recorder.log(),
        [
            "outer:model_call>",
            "inner:model_call>",
            "inner:model_call<",
            "outer:model_call<"
        ]
    );
}

/// The defaults are the safe ones.
#[test]
fn a_middleware_that_says_nothing_is_called_everywhere_and_fails_closed() {
    let recorder = Recorder::new("r");
    assert_eq!(recorder.hooks(), HookSet::all());
    assert_eq!(recorder.on_failure(), FailurePolicy::FailClosed);
    assert_eq!(HookSet::all().iter().count(), 11);
}
