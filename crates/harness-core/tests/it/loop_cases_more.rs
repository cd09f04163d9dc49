//! The cases of `cases/loop.md` that tools, queues and cancels make.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    DynamicTool, Event, Execution, Image, ModelError, RunInput, ToolContext, ToolOutput, run,
};
use serde_json::{Value, json};

use crate::stage::{
    assert_error, builder, echo, finish, finish_async, hanging, outline, ran, scripted, tool,
};

const HI: &str = r#"{"text": "hi"}"#;

/// Takes events until a tool starts.
async fn until_tool_start(handle: &mut harness_core::RunHandle<'_>) {
    while let Some(event) = handle.next().await {
        if let Event::ToolStart { .. } = event {
            return;
        }
    }
    panic!("no tool started");
}

#[test]
fn loop_29_a_steering_message_is_never_lost() {
    let dropped = Arc::default();
    let reply = Reply::call("c1", "hang", "{}").and_call("c2", "hang", "{}");
    let model = scripted([reply, Reply::text("yes")]);
    let config = builder(&model)
        .tool(hanging("hang", &dropped))
        .execution(Execution::Sequential)
        .build()
        .unwrap();
    let cancelled = block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        until_tool_start(&mut handle).await;
        handle.steer("also this").unwrap();
        handle.cancel();
        let control = handle.control();
        let outcome = handle.outcome().await.unwrap();
        assert!(control.steer("late").is_err());
        outcome
    });
    assert_eq!(cancelled.status.word(), "cancelled");
    let mut input = RunInput::default().with_history(cancelled.history);
    input.messages = cancelled.undelivered;
    finish(run(&config, input));
    let sent = outline(&model.requests()[1]);
    assert_eq!(
        sent,
        "user: go | assistant: call c1, call c2 | tool_results: result c1, result c2 | user: also this"
    );
}

#[test]
fn loop_31_32_the_same_failing_call_ends_with_an_honest_reason() {
    let reply = Reply::call("c", "fail", "{}");
    let model = Arc::new(ScriptedModel::new([reply]).last_forever());
    let fail = tool("fail", |_| {
        Err(harness_core::ToolError::failed("no such file"))
    });
    let config = builder(&model).tool(fail).build().unwrap();
    let ran = ran(&config, "go");
    assert_eq!(
        ran.status(),
        r#"Limit(RepeatedFailure { tool: "fail", times: 5 })"#
    );
    assert_eq!(model.requests().len(), 5);
}

/// The same call with the same good result is warned of; only the limit of turns ends it.
#[test]
fn loop_31_the_same_good_call_is_bounded_by_turns() {
    let model = Arc::new(ScriptedModel::new([Reply::call("c", "echo", HI)]).last_forever());
    let config = builder(&model)
        .tool(echo())
        .limits(crate::stage::limits(|l| l.max_turns = 30))
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.status(), "Limit(Turns { max: 30 })");
    assert_eq!(
        ran.warnings(),
        ["the model made the same call to `echo` 10 times in a row, with the same result"]
    );
}

#[test]
fn loop_33_polling_runs_on() {
    let replies = (0..12).map(|_| Reply::call("c", "poll", "{}"));
    let model = scripted(replies.chain([Reply::text("ready")]));
    let count = AtomicU32::new(0);
    let poll = tool("poll", move |_| {
        Ok(count.fetch_add(1, Ordering::Relaxed).to_string().into())
    });
    let ran = ran(&builder(&model).tool(poll).build().unwrap(), "go");
    assert_eq!(ran.word(), "finished");
    assert_eq!(ran.warnings(), [""; 0]);
    // The ids were all the same; each call got its own, and its own result.
    assert_eq!(ran.shown().last().map(String::as_str), Some("11"));
}

/// A tool that ends only when the one after it has ended.
fn reversed() -> DynamicTool {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..4)
        .map(|_| futures::channel::oneshot::channel::<()>())
        .unzip();
    let senders: Vec<_> = senders
        .into_iter()
        .map(|s| std::sync::Mutex::new(Some(s)))
        .collect();
    let receivers: Vec<_> = receivers
        .into_iter()
        .map(|r| std::sync::Mutex::new(Some(r)))
        .collect();
    senders[3].lock().unwrap().take().unwrap().send(()).unwrap();
    DynamicTool::new(
        "rev",
        "Ends in reverse.",
        json!({"type": "object"}),
        move |_: &ToolContext, args: Value| {
            let place = args["n"].as_u64().unwrap() as usize;
            let ready = receivers[place + 1].lock().unwrap().take().unwrap();
            let done = senders[place].lock().unwrap().take().unwrap();
            Box::pin(async move {
                ready.await?;
                let _ = done.send(());
                Ok(format!("result {place}").into())
            })
        },
    )
}

#[test]
fn loop_35_results_are_paired_by_id_in_call_order() {
    let three = || {
        Reply::call("a", "rev", r#"{"n": 0}"#)
            .and_call("b", "rev", r#"{"n": 1}"#)
            .and_call("c", "rev", r#"{"n": 2}"#)
    };
    let model = scripted([three(), Reply::text("done")]);
    let config = builder(&model).tool(reversed()).build().unwrap();
    let parallel = ran(&config, "go");
    let ended: Vec<&str> = parallel
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolEnd { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ended, ["c", "b", "a"]);
    let pairs: Vec<(String, String)> = parallel
        .results()
        .into_iter()
        .map(|result| (result.call_id, result.outcome.shown_text()))
        .collect();
    let expected = [("a", "result 0"), ("b", "result 1"), ("c", "result 2")];
    assert_eq!(
        pairs,
        expected.map(|(id, text)| (id.to_owned(), text.to_owned()))
    );

    // One sequential tool, or a sequential configuration: all run, one after another.
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noting = |name: &'static str| {
        let log = Arc::clone(&log);
        DynamicTool::new(name, "Notes.", json!({"type": "object"}), move |_, _| {
            let log = Arc::clone(&log);
            Box::pin(async move {
                log.lock().unwrap().push(format!("{name}>"));
                let mut polled = false;
                std::future::poll_fn(|cx| {
                    if std::mem::replace(&mut polled, true) {
                        return std::task::Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                })
                .await;
                log.lock().unwrap().push(format!("{name}<"));
                Ok(name.into())
            })
        })
    };
    let cases = [
        (
            Execution::Parallel,
            Execution::Parallel,
            ["one>", "two>", "one<", "two<"],
        ),
        (
            Execution::Parallel,
            Execution::Sequential,
            ["one>", "one<", "two>", "two<"],
        ),
        (
            Execution::Sequential,
            Execution::Parallel,
            ["one>", "one<", "two>", "two<"],
        ),
    ];
    for (whole, second, expected) in cases {
        let reply = Reply::call("c1", "one", "{}").and_call("c2", "two", "{}");
        let model = scripted([reply, Reply::text("done")]);
        let config = builder(&model)
            .tool(noting("one"))
            .tool(noting("two").execution(second))
            .execution(whole)
            .build()
            .unwrap();
        log.lock().unwrap().clear();
        assert_eq!(ran(&config, "go").shown(), ["one", "two"]);
        assert_eq!(*log.lock().unwrap(), expected);
    }
}

#[test]
fn loop_36_a_panicking_tool_is_a_failure_with_its_id() {
    let panicking: [DynamicTool; 3] = [
        tool("boom", |_| panic!("at once")),
        DynamicTool::new("boom", "", json!({"type": "object"}), |_, _| {
            Box::pin(async { panic!("at once") })
        }),
        tool("boom", |_| std::panic::panic_any(7)),
    ];
    for (boom, text) in panicking
        .into_iter()
        .zip(["at once", "at once", "no message"])
    {
        let reply = Reply::call("c1", "boom", "{}").and_call("c2", "echo", HI);
        let model = scripted([reply, Reply::text("done")]);
        let ran = ran(
            &builder(&model).tool(boom).tool(echo()).build().unwrap(),
            "go",
        );
        assert_eq!(ran.word(), "finished");
        let results = ran.results();
        assert_eq!(results[0].call_id, "c1");
        assert_error(&results[0].outcome, &format!("panicked: {text}"));
        assert_eq!(results[1].outcome.shown_text(), "hi");
    }
}

#[test]
fn loop_40_a_cancel_in_the_first_tool_leaves_a_history_to_go_on_with() {
    let dropped = Arc::default();
    let reply = Reply::call("c1", "hang", "{}").and_call("c2", "echo", HI);
    let model = scripted([reply, Reply::text("on")]);
    let config = builder(&model)
        .tool(hanging("hang", &dropped))
        .tool(echo())
        .execution(Execution::Sequential)
        .build()
        .unwrap();
    let ran = block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        until_tool_start(&mut handle).await;
        handle.cancel();
        handle.outcome().await.unwrap()
    });
    assert_eq!(ran.status.word(), "cancelled");
    assert!(dropped.load(Ordering::Relaxed));
    let input = RunInput::prompt("again").with_history(ran.history);
    assert_eq!(finish(run(&config, input)).outcome.answer(), "on");
}

#[test]
fn loop_41_dropping_the_run_drops_its_tools() {
    let dropped = Arc::new(AtomicBool::new(false));
    let model = scripted([Reply::call("c1", "hang", "{}")]);
    let config = builder(&model)
        .tool(hanging("hang", &dropped))
        .build()
        .unwrap();
    block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        until_tool_start(&mut handle).await;
        let control = handle.control();
        assert!(!dropped.load(Ordering::Relaxed));
        drop(handle);
        assert!(dropped.load(Ordering::Relaxed));
        assert!(control.steer("anyone?").is_err(), "nobody would deliver it");
    });
}

#[test]
fn loop_42_a_failed_call_keeps_its_one_result_on_resume() {
    let fail = tool("fail", |_| {
        Err(harness_core::ToolError::failed("try again"))
    });
    let model = scripted([
        Reply::call("c1", "fail", "{}"),
        Reply::text("gave up"),
        Reply::text("on"),
    ]);
    let config = builder(&model).tool(fail).build().unwrap();
    let first = ran(&config, "go").outcome.history;
    let input = RunInput::prompt("again").with_history(first.clone());
    let second = finish(run(&config, input)).outcome.history;
    assert_eq!(second[..first.len()], first);
    assert!(
        second
            .iter()
            .zip(&first)
            .all(|(now, before)| now.same(before))
    );
}

#[test]
fn loop_43_a_result_of_several_parts_is_one_result() {
    let image = Image {
        media_type: "image/png".to_owned(),
        data: "AAAA".into(),
    };
    let parts = tool("parts", move |_| {
        let mut output = ToolOutput::text("one");
        output.parts.extend(ToolOutput::text("two").parts);
        Ok(output.with_image(image.clone()))
    });
    let broken = tool("broken", |_| {
        Err(std::io::Error::other("protocol error").into())
    });
    let silent = tool("silent", |_| Ok(ToolOutput::default()));
    let reply = Reply::call("c1", "parts", "{}")
        .and_call("c2", "broken", "{}")
        .and_call("c3", "silent", "{}");
    let model = scripted([reply, Reply::text("done")]);
    let config = builder(&model)
        .tool(parts)
        .tool(broken)
        .tool(silent)
        .build()
        .unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.shown(), ["one\ntwo", "protocol error", "(no output)"]);
    assert_eq!(ran.results()[0].outcome.shown().len(), 3);
}

#[test]
fn errors_of_a_provider_end_the_run_with_their_own_name() {
    let message = String::new;
    let cases = [
        (
            ModelError::Quota {
                status: Some(402),
                message: message(),
            },
            "quota",
        ),
        (
            ModelError::Authentication {
                status: 401,
                message: message(),
            },
            "authentication",
        ),
        (
            ModelError::NotFound {
                url: message(),
                message: message(),
            },
            "not_found",
        ),
        (
            ModelError::ContextOverflow { message: message() },
            "context_overflow",
        ),
        (
            ModelError::InvalidRequest {
                status: Some(422),
                message: message(),
            },
            "invalid_request",
        ),
        (
            ModelError::Other {
                message: message(),
                retryable: false,
            },
            "other",
        ),
    ];
    for (error, word) in cases {
        let model = scripted([Reply::error(error)]);
        let config = builder(&model).build().unwrap();
        let ran = block_on(finish_async(run(&config, RunInput::prompt("go"))));
        let Some(Event::RunEnd(end)) = ran.events.last() else {
            unreachable!()
        };
        assert_eq!(end.error.as_ref().unwrap().kind, word);
        assert_eq!(model.requests().len(), 1, "{word} is not retried");
    }
}
