//! The hook around a turn: it sees how each one ended, gives values to what is inside, and changes nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::executor::block_on;
use harness_core::test_support::Reply;
use harness_core::{
    CancellationToken, ModelError, RunInput, RunOptions, StopReason, ToolOutput, from_fn, run_with,
};

use crate::stage::{builder, echo, limits, ran, scripted, tool};

const HI: &str = r#"{"text": "hi"}"#;

/// A hook that notes how each turn ended.
fn watcher(log: &Arc<Mutex<Vec<String>>>) -> impl harness_core::Middleware + use<> {
    let log = Arc::clone(log);
    from_fn::on_turn("watcher", move |cx, turn, next| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            let end = next.run(cx, turn).await;
            log.lock()
                .unwrap()
                .push(format!("{turn} {}", end.status().word()));
            end
        })
    })
}

#[test]
fn each_end_of_a_turn_is_told() {
    let busy = || {
        Reply::error(ModelError::Quota {
            status: Some(402),
            message: "no money".to_owned(),
        })
    };
    let cut = || Reply::text("half").stop(StopReason::Length);
    let cases: [(&str, Vec<Reply>, &[&str]); 4] = [
        (
            "finished",
            vec![Reply::call("c", "echo", HI), Reply::text("done")],
            &["1 continues", "2 ended"],
        ),
        (
            "failed",
            vec![Reply::call("c", "echo", HI), busy()],
            &["1 continues", "2 failed"],
        ),
        ("limit", vec![cut()], &["1 ended"]),
        (
            "cancelled",
            vec![Reply::call("c", "stop", HI), Reply::text("done")],
            &["1 continues"],
        ),
    ];
    for (word, replies, expected) in cases {
        let log = Arc::new(Mutex::new(Vec::new()));
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let config = builder(&scripted(replies))
            .tool(echo())
            .tool(tool("stop", move |_| {
                stop.cancel();
                Ok(ToolOutput::text("stopping"))
            }))
            .middleware(watcher(&log))
            .build()
            .unwrap();
        let options = RunOptions {
            cancellation: Some(cancel),
            ..RunOptions::default()
        };
        let mut handle = run_with(&config, RunInput::prompt("go"), options);
        let outcome = block_on(async {
            while handle.next().await.is_some() {}
            handle
                .outcome()
                .await
                .unwrap_or_else(harness_core::RunError::into_outcome)
        });
        assert_eq!(outcome.status.word(), word);
        assert_eq!(*log.lock().unwrap(), expected, "{word}");
    }
}

#[test]
fn a_turn_is_made_once_also_if_it_is_run_twice() {
    let model = scripted([Reply::text("done")]);
    let twice = from_fn::on_turn("twice", |cx, turn, next| {
        Box::pin(async move {
            let first = next.clone().run(cx, turn).await;
            let second = next.run(cx, turn).await;
            assert_eq!(first, second);
            second
        })
    });
    let config = builder(&model).middleware(twice).build().unwrap();
    assert_eq!(ran(&config, "go").word(), "finished");
    assert_eq!(model.requests().len(), 1);
}

/// The end of an earlier turn is no way to leave a later one out; neither is a future that is never polled.
#[test]
fn no_turn_can_be_left_out() {
    let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
    let kept = Arc::new(Mutex::new(None));
    let lazy = from_fn::on_turn("lazy", move |cx, turn, next| {
        let kept = Arc::clone(&kept);
        Box::pin(async move {
            drop(next.clone().run(cx, turn));
            let before = kept.lock().unwrap().clone();
            if let Some(end) = before {
                return end;
            }
            let end = next.run(cx, turn).await;
            *kept.lock().unwrap() = Some(end.clone());
            end
        })
    });
    let config = builder(&model).tool(echo()).middleware(lazy).build();
    assert_eq!(ran(&config.unwrap(), "go").word(), "finished");
    assert_eq!(model.requests().len(), 2);
}

/// Given up half-way, and begun again: the run ends as cancelled, with a history that can go on.
#[test]
fn a_turn_that_is_given_up_is_not_made_again() {
    let model = scripted([Reply::call("c", "echo", HI), Reply::text("done")]);
    let impatient = from_fn::on_turn("impatient", |cx, turn, next| {
        Box::pin(async move {
            {
                let mut begun = next.clone().run(cx, turn);
                let _ = futures::poll!(&mut begun);
            }
            next.run(cx, turn).await
        })
    });
    let slow = from_fn::on_system_prompt("slow", |_, prompt| {
        Box::pin(async move {
            futures::pending!();
            Ok(prompt)
        })
    });
    let config = builder(&model)
        .tool(echo())
        .middleware(impatient)
        .middleware(slow)
        .build();
    assert_eq!(ran(&config.unwrap(), "go").word(), "cancelled");
    assert!(model.requests().is_empty());
}

/// A value of one layer is seen by those inside, in every hook and by the tools, and by nobody else.
#[test]
fn values_are_seen_inside() {
    struct Number(u32);
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let log = Arc::clone(&log);
        move |cx: &harness_core::RunContext| {
            let number = cx.value::<Number>().map(|number| number.0);
            log.lock().unwrap().push((what, number));
        }
    };
    let giving = from_fn::on_turn("giving", |cx, turn, next| {
        Box::pin(async move { next.run(&cx.with_value(Number(turn)), turn).await })
    });
    let over = from_fn::on_tool_call("over", |cx, call, next| {
        Box::pin(async move { next.run(&cx.with_value(Number(40)), call).await })
    });
    let in_agent = note("agent");
    let agent = from_fn::on_agent("agent", move |cx, input, next| {
        in_agent(cx);
        Box::pin(async move { next.run(cx, input).await })
    });
    let in_context = note("context");
    let context = from_fn::on_context("context", move |cx, messages| {
        in_context(cx);
        Box::pin(async move { Ok(messages) })
    });
    let in_after = note("after");
    let after = from_fn::after_turn("after", move |cx, _| {
        in_after(cx);
        Box::pin(async { Ok(harness_core::TurnDecision::go_on()) })
    });
    let in_tool = note("tool");
    let look = harness_core::DynamicTool::new(
        "look",
        "Looks.",
        serde_json::json!({"type": "object"}),
        move |cx, _| {
            in_tool(cx.run());
            Box::pin(async { Ok(ToolOutput::text("seen")) })
        },
    );
    let model = scripted([Reply::call("c", "look", "{}"), Reply::text("done")]);
    let config = builder(&model)
        .tool(look)
        .middleware(agent)
        .middleware(giving)
        .middleware(over)
        .middleware(context)
        .middleware(after)
        .build()
        .unwrap();
    ran(&config, "go");
    let expected = [
        ("agent", None),
        ("context", Some(1)),
        ("tool", Some(40)),
        ("after", Some(1)),
        ("context", Some(2)),
        ("after", Some(2)),
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}

/// The limit of time reaches a turn through the layers around it.
#[test]
fn a_turn_that_takes_too_long_is_given_up() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let forever = harness_core::DynamicTool::new(
        "wait",
        "Waits for ever.",
        serde_json::json!({"type": "object"}),
        |cx, _| {
            let cancelled = cx.cancellation().clone();
            Box::pin(async move {
                cancelled.cancelled().await;
                Ok(ToolOutput::text("given up"))
            })
        },
    );
    let model = scripted([Reply::call("c", "wait", "{}"), Reply::text("done")]);
    let config = builder(&model)
        .tool(forever)
        .middleware(watcher(&log))
        .limits(limits(|limits| {
            limits.max_time = Some(Duration::from_secs(1));
        }))
        .build()
        .unwrap();
    let status = ran(&config, "go");
    assert_eq!(status.word(), "limit");
    assert_eq!(*log.lock().unwrap(), ["1 continues"]);
}
