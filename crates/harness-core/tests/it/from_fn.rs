//! The adapters for single functions, one for each hook, and the decisions after a turn.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    FailurePolicy, HookSet, Middleware, ModelId, ModelInfo, ThinkingLevel, ToolRef, TurnDecision,
    from_fn,
};

use crate::stage::{builder, counting, echo, outline, outline_of, ran, scripted};

const HI: &str = r#"{"text": "hi"}"#;

/// Each adapter says which hook it is, and is called there.
#[test]
fn each_hook_has_an_adapter() {
    let log: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let note = |what| {
        let log = Arc::clone(&log);
        move || log.lock().unwrap().push(what)
    };
    let mut middlewares: Vec<(HookSet, Arc<dyn Middleware>)> = Vec::new();
    macro_rules! onion {
        ($($hook:ident => $set:ident),* $(,)?) => {$(
            let noted = note(stringify!($hook));
            middlewares.push((HookSet::$set, Arc::new(from_fn::$hook(
                stringify!($hook),
                move |cx, input, next| {
                    noted();
                    Box::pin(async move { next.run(cx, input).await })
                },
            ))));
        )*};
    }
    macro_rules! fold {
        ($($hook:ident => $set:ident),* $(,)?) => {$(
            let noted = note(stringify!($hook));
            middlewares.push((HookSet::$set, Arc::new(from_fn::$hook(
                stringify!($hook),
                move |_, input| {
                    noted();
                    Box::pin(async move { Ok(input) })
                },
            ))));
        )*};
    }
    onion! {
        on_agent => AGENT, on_turn => TURN, on_reasoning => REASONING, on_model_call => MODEL_CALL,
        on_acting => ACTING, on_tool_call => TOOL_CALL,
    }
    fold! { on_system_prompt => SYSTEM_PROMPT, on_context => CONTEXT }
    let noted = note("after_turn");
    let after_turn = from_fn::after_turn("after_turn", move |_, _| {
        noted();
        Box::pin(async { Ok(TurnDecision::go_on()) })
    });
    middlewares.push((HookSet::AFTER_TURN, Arc::new(after_turn)));
    let noted = note("on_event");
    let on_event = from_fn::on_event("on_event", move |_, _| noted());
    middlewares.push((HookSet::EVENT, Arc::new(on_event)));
    let noted = note("on_compaction");
    let on_compaction = from_fn::on_compaction("on_compaction", move |_, _, _| {
        noted();
        Box::pin(async { Ok(None) })
    });
    middlewares.push((HookSet::COMPACTION, Arc::new(on_compaction)));
    assert_eq!(middlewares.len(), HookSet::all().iter().count());

    let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
    let mut config = builder(&model).tool(echo());
    for (hooks, middleware) in &middlewares {
        assert_eq!(middleware.hooks(), *hooks);
        assert_eq!(middleware.order(), 0);
        assert_eq!(middleware.on_failure(), FailurePolicy::FailClosed);
        config = config.shared_middleware(Arc::clone(middleware));
    }
    assert_eq!(ran(&config.build().unwrap(), "go").word(), "finished");
    for (_, middleware) in &middlewares {
        assert!(
            log.lock().unwrap().contains(&middleware.name()),
            "{}",
            middleware.name()
        );
    }
}

#[test]
fn order_and_policy_can_be_set() {
    let middleware = from_fn::on_event("x", |_, _| {}).order(7);
    assert_eq!(Middleware::order(&middleware), 7);
    let middleware = from_fn::after_turn("x", |_, _| Box::pin(async { Ok(TurnDecision::go_on()) }))
        .on_failure(FailurePolicy::FailOpen);
    assert_eq!(Middleware::on_failure(&middleware), FailurePolicy::FailOpen);
}

/// A middleware that decides after the first turn only.
fn once(name: &str, decision: TurnDecision) -> impl Middleware + use<> {
    from_fn::after_turn(name, move |_, turn| {
        let decision = if turn.turn == 1 {
            decision.clone()
        } else {
            TurnDecision::go_on()
        };
        Box::pin(async { Ok(decision) })
    })
}

#[test]
fn the_first_that_stops_is_named_and_messages_are_kept() {
    let model = scripted([Reply::call("c", "echo", HI)]);
    let config = builder(&model)
        .tool(echo())
        .middleware(once("a", TurnDecision::message("from a")))
        .middleware(once("b", TurnDecision::stop("enough")))
        .middleware(once("c", TurnDecision::stop("too much")))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.status(), r#"Stopped { by: "b", reason: "enough" }"#);
    assert_eq!(
        outline_of(&ran.outcome.history),
        "user: go | assistant: call c | tool_results: result c | user: from a"
    );
}

#[test]
fn of_several_values_the_last_wins_and_messages_add_up() {
    let mut info = ModelInfo::new(ModelId::new("test", "second"));
    info.thinking = vec![ThinkingLevel::Low, ThinkingLevel::High];
    let second = Arc::new(
        ScriptedModel::new([Reply::call("d", "count", "{}"), Reply::text("done")]).info(info),
    );
    let unused: Arc<ScriptedModel> = scripted([]);
    let count = Arc::new(AtomicU32::new(0));
    let tools: Vec<ToolRef> = vec![counting("count", &count).into()];
    let first = scripted([Reply::text("would have ended")]);
    let a = TurnDecision::message("from a")
        .with_model(unused)
        .with_tools(Vec::new())
        .with_thinking(ThinkingLevel::Low);
    let b = TurnDecision::message("from b")
        .with_model(Arc::clone(&second) as _)
        .with_tools(tools)
        .with_thinking(ThinkingLevel::Max);
    let config = builder(&first)
        .tool(echo())
        .middleware(once("a", a))
        .middleware(once("b", b))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.word(), "finished");
    let requests = second.requests();
    assert_eq!(
        outline(&requests[0]),
        "user: go | assistant: would have ended | user: from a | user: from b"
    );
    assert_eq!(
        requests[0].thinking,
        ThinkingLevel::High,
        "fitted to what the model knows"
    );
    let names: Vec<&str> = requests[0]
        .tools
        .iter()
        .map(|spec| spec.name.as_str())
        .collect();
    assert_eq!(names, ["count"]);
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn blank_messages_do_not_keep_a_run_going() {
    let model = scripted([Reply::text("done")]);
    let config = builder(&model)
        .middleware(once("a", TurnDecision::message(" \n")))
        .build()
        .unwrap();
    assert_eq!(ran(&config, "go").word(), "finished");
}

#[test]
fn tools_that_cannot_be_are_a_configuration_error() {
    let model = scripted([Reply::text("done")]);
    let decision = TurnDecision::go_on().with_tools(vec![echo(), echo()]);
    let config = builder(&model)
        .middleware(once("a", decision))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert!(
        ran.status().contains("two tools named `echo`"),
        "{}",
        ran.status()
    );
}
