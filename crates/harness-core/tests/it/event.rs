//! Events as JSON: what a program that reads them can rely on.

use std::sync::Arc;
use std::time::Duration;

use harness_core::test_support::{ManualClock, Reply};
use harness_core::{ModelError, RunInput, RunOptions, StopReason, run_with};

use crate::stage::{builder, echo, finish, scripted};

/// One of each.
#[test]
fn events_as_json() {
    let limited = ModelError::RateLimited {
        status: Some(429),
        message: "slow down".to_owned(),
        retry_after: Some(Duration::from_millis(1_500)),
    };
    let clock = Arc::new(ManualClock::new());
    let ticking = Arc::clone(&clock);
    let slow = harness_core::DynamicTool::new(
        "slow",
        "",
        serde_json::json!({"type": "object"}),
        move |cx, _| {
            ticking.advance(Duration::from_micros(2_500));
            cx.progress("half");
            Box::pin(async { Ok("whole".into()) })
        },
    );
    let model = scripted([
        Reply::error(limited),
        Reply::new()
            .and_thinking("hm", Some("sig"))
            .and_text("ok")
            .and_call("c1", "slow", r#"{"a": 1}"#)
            .usage(10, 3),
        Reply::text("done").stop(StopReason::Other("paused".to_owned())),
    ]);
    let warning = harness_core::from_fn::after_turn("w", |_, _| {
        Box::pin(async { Err(std::io::Error::other("no disk").into()) })
    })
    .on_failure(harness_core::FailurePolicy::FailOpen);
    let config = builder(&model)
        .clock(clock)
        .tool(slow)
        .tool(echo())
        .middleware(warning)
        .build()
        .unwrap();
    let mut options = RunOptions::default();
    options.caller.session = Some("s1".to_owned());
    let ran = finish(run_with(&config, RunInput::prompt("go"), options));
    let lines: Vec<String> = ran
        .events
        .iter()
        .map(|event| serde_json::to_string(event).unwrap())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn ends_as_json() {
    let end = |reply: Reply| {
        let model = scripted([reply]);
        let ran = crate::stage::ran(&builder(&model).build().unwrap(), "go");
        serde_json::to_string(ran.events.last().unwrap()).unwrap()
    };
    let refused = ModelError::Authentication {
        status: 401,
        message: "no such key".to_owned(),
    };
    let ends = [
        end(Reply::text("half").stop(StopReason::Length)),
        end(Reply::error(refused)),
        end(Reply::error(ModelError::Cancelled)),
        end(Reply::text("no").stop(StopReason::ContentFilter)),
    ];
    insta::assert_snapshot!(ends.join("\n"));
}
