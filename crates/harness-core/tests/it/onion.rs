//! The order of middlewares, and how their hooks nest.

use std::sync::Arc;

use harness_core::test_support::{Recorder, Reply};
use harness_core::{Event, LoopConfig};

use crate::stage::{builder, echo, ran, scripted};

const HI: &str = r#"{"text": "hi"}"#;

/// Two turns, of which the first makes one call.
fn log(recorders: Vec<Recorder>) -> Vec<String> {
    let first = recorders[0].clone();
    let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
    let mut config = builder(&model).tool(echo());
    for recorder in recorders {
        config = config.middleware(recorder);
    }
    ran(&config.build().unwrap(), "go");
    first.log()
}

/// All eleven hooks of one middleware, in the order of a run.
#[test]
fn all_hooks_run() {
    let turn = [
        "a:turn>",
        "a:system_prompt",
        "a:context",
        "a:compaction",
        "a:reasoning>",
        "a:model_call>",
        "a:model_call<",
        "a:reasoning<",
    ];
    let acting = ["a:acting>", "a:tool_call>", "a:tool_call<", "a:acting<"];
    let expected: Vec<&str> = [
        &["a:event:run_start", "a:agent>"],
        &turn[..],
        &acting[..],
        &["a:after_turn", "a:turn<"],
        &turn[..],
        &[
            "a:after_turn",
            "a:turn<",
            "a:agent<finished",
            "a:event:run_end",
        ],
    ]
    .concat();
    assert_eq!(log(vec![Recorder::new("a")]), expected);
}

/// Larger is outer; ties keep the order of registration; before goes inwards, after outwards.
#[test]
fn order_and_nesting() {
    let base = Recorder::new("mid1");
    let recorders = vec![
        base.clone(),
        base.sharing("inner").order(-5),
        base.sharing("mid2"),
        base.sharing("outer").order(5),
    ];
    let log = log(recorders);
    let of = |hook: &str| -> Vec<&str> {
        let hook = format!(":{hook}");
        let first = log.iter().filter(|line| line.contains(&hook));
        first.map(|line| &line[..line.find(':').unwrap()]).collect()
    };
    let inwards = ["outer", "mid1", "mid2", "inner"];
    let outwards = ["inner", "mid2", "mid1", "outer"];
    for hook in [
        "agent>",
        "acting>",
        "tool_call>",
        "event:run_start",
        "event:run_end",
    ] {
        assert_eq!(of(hook), inwards, "{hook}");
    }
    for hook in ["agent<", "acting<", "tool_call<"] {
        assert_eq!(of(hook), outwards, "{hook}");
    }
    // These run in both turns.
    for hook in [
        "system_prompt",
        "context",
        "reasoning>",
        "model_call>",
        "after_turn",
    ] {
        assert_eq!(of(hook), [inwards, inwards].concat(), "{hook}");
    }
    for hook in ["reasoning<", "model_call<"] {
        assert_eq!(of(hook), [outwards, outwards].concat(), "{hook}");
    }
}

#[test]
fn the_configuration_lists_them_outermost_first() {
    let model = scripted([]);
    let config: LoopConfig = builder(&model)
        .middleware(Recorder::new("a"))
        .middleware(Recorder::new("b").order(1))
        .shared_middleware(Arc::new(Recorder::new("c")))
        .build()
        .unwrap();
    let names: Vec<&str> = config.middlewares().iter().map(|m| m.name()).collect();
    assert_eq!(names, ["b", "a", "c"]);
}

/// One attempt is one pass of `on_model_call`; one turn is one pass of `on_reasoning`.
#[test]
fn retries_pass_the_inner_hook_only() {
    let model = scripted([Reply::busy(), Reply::text(""), Reply::text("done")]);
    let recorder = Recorder::new("a");
    let config = builder(&model)
        .middleware(recorder.clone())
        .build()
        .unwrap();
    ran(&config, "go");
    let count = |what: &str| recorder.log().iter().filter(|line| *line == what).count();
    assert_eq!(count("a:reasoning>"), 1);
    assert_eq!(count("a:model_call>"), 3);
}

/// The calls that cannot be executed pass the chain too: an audit sees all of them.
#[test]
fn calls_that_fail_pass_the_chain() {
    let reply = Reply::call("c1", "none", "{}")
        .and_call("c2", "echo", "{")
        .and_call("c3", "echo", "{}");
    let model = scripted([reply, Reply::text("done")]);
    let recorder = Recorder::new("a");
    let config = builder(&model)
        .tool(echo())
        .middleware(recorder.clone())
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    let passed = recorder
        .log()
        .iter()
        .filter(|line| *line == "a:tool_call<")
        .count();
    assert_eq!(passed, 3);
    let told = ran
        .events
        .iter()
        .filter(|event| matches!(event, Event::ToolEnd { .. }));
    assert_eq!(told.count(), 3);
}
