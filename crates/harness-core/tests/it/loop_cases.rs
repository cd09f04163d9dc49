//! The cases of `cases/loop.md` that a model's replies and its errors make. Each test bears its row's
//! name.

use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    AssistantPart, Event, Message, ModelError, ModelId, ModelInfo, RunInput, StopReason, run,
};

use crate::stage::{assert_error, builder, echo, finish, limits, outline, ran, scripted};

const HI: &str = r#"{"text": "hi"}"#;

fn cut_in_arguments() -> Reply {
    Reply::text("I will")
        .and_call("c1", "echo", r#"{"te"#)
        .then_cut()
}

/// A call whose stream was cut leaves neither the call nor a result, and is never executed.
#[test]
fn loop_02_a_half_streamed_call_leaves_no_trace() {
    let model = scripted([cut_in_arguments(), Reply::text("done")]);
    let config = builder(&model).tool(echo()).build().unwrap();
    let ran = ran(&config, "go");
    assert_eq!(ran.word(), "finished");
    assert_eq!(outline(&model.requests()[1]), "user: go");
    assert!(!ran.types().contains(&"tool_start".to_owned()));
}

#[test]
fn loop_05_failed_attempts_leave_no_calls() {
    let model = scripted([
        cut_in_arguments(),
        cut_in_arguments(),
        Reply::call("c1", "echo", HI),
        Reply::text("ok"),
    ]);
    let config = builder(&model).tool(echo()).build().unwrap();
    let ran = ran(&config, "go");
    let requests: Vec<String> = model.requests().iter().map(outline).collect();
    assert_eq!(
        requests,
        [
            "user: go",
            "user: go",
            "user: go",
            "user: go | assistant: call c1 | tool_results: result c1"
        ]
    );
    assert_eq!(ran.shown(), ["hi"]);
}

#[test]
fn loop_06_malformed_arguments_fail_their_own_call_only() {
    let junk = "x".repeat(5 * 1024 * 1024);
    let cases = [
        (r#"{"text": "a"#, "not valid JSON"),
        ("[1]", "an array"),
        ("null", "null"),
        (r#""x""#, "a string"),
        ("true", "a boolean"),
        ("7", "a number"),
        ("", "text"),
        (junk.as_str(), "not valid JSON"),
    ];
    for (arguments, problem) in cases {
        let reply = Reply::call("bad", "echo", arguments).and_call("good", "echo", HI);
        let model = scripted([reply, Reply::text("done")]);
        let config = builder(&model).tool(echo()).build().unwrap();
        let ran = ran(&config, "go");
        assert_eq!(ran.word(), "finished");
        let results = ran.results();
        assert_error(&results[0].outcome, problem);
        let shown = results[0].outcome.shown_text();
        assert!(
            shown.len() < 600,
            "the echo is short: {} bytes",
            shown.len()
        );
        assert_eq!(results[1].outcome.shown_text(), "hi");
        assert_eq!(model.requests().len(), 2);
    }
}

#[test]
fn loop_08_an_unreadable_call_is_answered_not_dropped() {
    let reply = Reply::call("c1", "echo", "{nonsense").stop(StopReason::ToolCalls);
    let model = scripted([reply, Reply::text("sorry")]);
    let config = builder(&model).tool(echo()).build().unwrap();
    let ran = ran(&config, "go");
    assert_error(&ran.results()[0].outcome, "not valid JSON");
    assert_eq!(
        outline(&model.requests()[1]),
        "user: go | assistant: call c1 | tool_results: result c1"
    );
}

#[test]
fn loop_11_empty_replies_are_not_sent_back() {
    let blank = Reply::text("  \n");
    let thought = Reply::new().and_thinking("hm", Some("sig"));
    let model = scripted([blank, thought, Reply::text("here")]);
    let ran = ran(&builder(&model).build().unwrap(), "go");
    assert_eq!(ran.outcome.answer(), "here");
    let requests: Vec<String> = model.requests().iter().map(outline).collect();
    assert_eq!(requests, ["user: go", "user: go", "user: go"]);
}

#[test]
fn loop_13_a_window_too_small_for_the_prompt_is_an_error() {
    for output in [None, Some(1_000)] {
        let mut info = ModelInfo::new(ModelId::new("test", "small"));
        info.context_window = Some(4_000);
        info.max_output_tokens = output;
        let model = std::sync::Arc::new(ScriptedModel::new([]).info(info));
        let config = builder(&model)
            .system_prompt("x".repeat(20_000))
            .build()
            .unwrap();
        let ran = ran(&config, "go");
        assert_eq!(ran.word(), "failed");
        assert!(
            ran.status()
                .contains("context window of test/small has 4000"),
            "{}",
            ran.status()
        );
        assert_eq!(model.requests().len(), 0);
    }
}

#[test]
fn loop_15_a_rate_limit_for_ever_is_given_up_and_named() {
    let refused = Reply::error(ModelError::RateLimited {
        status: Some(429),
        message: "slow down".to_owned(),
        retry_after: None,
    });
    let model = std::sync::Arc::new(ScriptedModel::new([refused]).last_forever());
    let ran = ran(&builder(&model).build().unwrap(), "go");
    assert_eq!(model.requests().len(), 5);
    let Some(Event::RunEnd(end)) = ran.events.last() else {
        unreachable!()
    };
    let error = end.error.as_ref().unwrap();
    assert_eq!(error.kind, "rate_limited");
    assert!(
        error.message.contains("429") && error.message.contains("5 attempts"),
        "{}",
        error.message
    );
}

#[test]
fn loop_18_calls_cut_by_the_output_limit_are_bounded() {
    // The arguments of the second happen to be whole; they may still not be all of it.
    for arguments in [r#"{"text": "a"#, HI] {
        let reply = Reply::call("c1", "echo", arguments).stop(StopReason::Length);
        let model = std::sync::Arc::new(ScriptedModel::new([reply]).last_forever());
        let config = builder(&model).tool(echo()).build().unwrap();
        let ran = ran(&config, "go");
        assert_eq!(ran.status(), "Limit(Output)");
        assert_eq!(model.requests().len(), 3);
        for result in ran.results() {
            assert_error(&result.outcome, "cut off by the output limit");
        }
    }
}

#[test]
fn loop_19_the_reason_for_a_stop_is_told() {
    let cases = [
        (StopReason::EndTurn, "Finished(EndTurn)", "finished"),
        (StopReason::Length, "Limit(Output)", "limit"),
        (StopReason::ContentFilter, "Failed(ContentFilter)", "failed"),
        (
            StopReason::Other("weird".into()),
            r#"Finished(Other("weird"))"#,
            "finished",
        ),
    ];
    for (stop, status, word) in cases {
        let model = scripted([Reply::text("an answer").stop(stop)]);
        let ran = ran(&builder(&model).build().unwrap(), "go");
        assert_eq!((ran.status().as_str(), ran.word()), (status, word));
        assert_eq!(ran.outcome.answer(), "an answer");
    }
}

#[test]
fn loop_20_arguments_are_checked_whatever_the_stop_reason_says() {
    let reply = Reply::call("c1", "echo", r#"{"text":"a"#).stop(StopReason::ToolCalls);
    let model = scripted([reply, Reply::text("done")]);
    let config = builder(&model).tool(echo()).build().unwrap();
    assert_error(&ran(&config, "go").results()[0].outcome, "not valid JSON");
}

/// The loop keeps thinking as it came; it makes none, and changes neither text nor signature.
#[test]
fn loop_22_23_thinking_goes_back_unchanged_or_not_at_all() {
    let long = "thought ".repeat(10_000);
    let replies = [
        Reply::new()
            .and_thinking(&long, Some("signed"))
            .and_call("c1", "echo", HI),
        // No thinking in this one: none is made up.
        Reply::call("c2", "echo", HI),
        Reply::text("done"),
    ];
    let model = scripted(replies);
    let config = builder(&model).tool(echo()).build().unwrap();
    let ran = ran(&config, "go");
    let thinking: Vec<(String, Option<String>)> = ran
        .outcome
        .history
        .iter()
        .filter_map(|message| match &**message {
            Message::Assistant(reply) => Some(reply.content.clone()),
            _ => None,
        })
        .flatten()
        .filter_map(|part| match part {
            AssistantPart::Thinking(thinking) => Some((thinking.text, thinking.signature)),
            _ => None,
        })
        .collect();
    assert_eq!(thinking, [(long, Some("signed".to_owned()))]);
    let sent = &model.requests()[2].messages;
    assert_eq!(sent[1], ran.outcome.history[1]);
}

#[test]
fn loop_26_the_reply_is_clamped_to_what_the_window_leaves() {
    let cases = [
        // (window, cap, bytes said, wanted) → asked for
        ((200_000, 128_000, 300_000, None), Some(93_700..=93_800)),
        ((200_000, 128_000, 30, None), None),
        ((200_000, 128_000, 30, Some(64_000)), Some(64_000..=64_000)),
        ((200_000, 8_000, 30, Some(64_000)), Some(8_000..=8_000)),
        // No room by the estimate: the provider has to say so, a reply of one token helps nobody.
        ((200_000, 128_000, 900_000, None), Some(1_024..=1_024)),
        (
            (u64::MAX, u64::MAX, 30, None),
            Some(u64::MAX - 4_096..=u64::MAX),
        ),
        ((u64::MAX, 8_000, 30, None), None),
    ];
    for ((window, cap, bytes, wanted), expected) in cases {
        let mut info = ModelInfo::new(ModelId::new("test", "scripted"));
        info.context_window = Some(window);
        info.max_output_tokens = Some(cap);
        let model = std::sync::Arc::new(ScriptedModel::new([Reply::text("ok")]).info(info));
        let mut config = builder(&model);
        if let Some(wanted) = wanted {
            config = config.max_output_tokens(wanted);
        }
        ran(&config.build().unwrap(), &"x".repeat(bytes));
        let asked = model.requests()[0].max_output_tokens;
        let right = match &expected {
            Some(range) => asked.is_some_and(|asked| range.contains(&asked)),
            None => asked.is_none(),
        };
        assert!(
            right,
            "{window} {cap} {bytes} {wanted:?}: {asked:?}, not {expected:?}"
        );
    }
}

/// The provider's own count replaces the estimate, and what a middleware hides is not counted.
#[test]
fn loop_26_the_estimate_learns_and_counts_what_is_shown() {
    let mut info = ModelInfo::new(ModelId::new("test", "scripted"));
    info.context_window = Some(100_000);
    info.max_output_tokens = Some(90_000);
    let replies = [
        Reply::call("c1", "echo", HI).usage(15_000, 10),
        Reply::text("done"),
    ];
    let model = std::sync::Arc::new(ScriptedModel::new(replies).info(info.clone()));
    let config = builder(&model).tool(echo()).build().unwrap();
    ran(&config, &"x".repeat(60_000));
    let asked: Vec<u64> = model
        .requests()
        .iter()
        .filter_map(|r| r.max_output_tokens)
        .collect();
    assert!(asked[0] < 80_000 && asked[1] > 83_000, "{asked:?}");

    let model = std::sync::Arc::new(ScriptedModel::new([Reply::text("done")]).info(info));
    let shorter = harness_core::from_fn::on_context("shorter", |_, _| {
        Box::pin(async { Ok(vec![Message::user("a summary").into()]) })
    });
    let config = builder(&model).middleware(shorter).build().unwrap();
    ran(&config, &"x".repeat(900_000));
    assert_eq!(model.requests()[0].max_output_tokens, None);
}

#[test]
fn loop_27_a_request_too_large_is_told_as_such_and_not_retried() {
    let refused = ModelError::RequestTooLarge {
        message: "one image of 30 MB".to_owned(),
    };
    let model = scripted([Reply::error(refused)]);
    let ran = ran(&builder(&model).build().unwrap(), "go");
    assert!(ran.status().contains("RequestTooLarge"), "{}", ran.status());
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn loop_45_results_survive_an_error_of_the_next_request() {
    let failure = ModelError::InvalidRequest {
        status: Some(400),
        message: "no".to_owned(),
    };
    let model = scripted([
        Reply::call("c1", "echo", HI),
        Reply::error(failure),
        Reply::text("on"),
    ]);
    let config = builder(&model).tool(echo()).build().unwrap();
    let failed = ran(&config, "go");
    assert_eq!(failed.word(), "failed");
    let input = RunInput::prompt("again").with_history(failed.outcome.history);
    finish(run(&config, input));
    assert_eq!(
        outline(&model.requests()[2]),
        "user: go | assistant: call c1 | tool_results: result c1 | user: again"
    );
}

#[test]
fn loop_47_a_cap_of_no_turns_is_a_configuration_error() {
    let model = scripted([Reply::call("c1", "echo", HI)]);
    let with = |turns| {
        builder(&model)
            .tool(echo())
            .limits(limits(|l| l.max_turns = turns))
            .build()
    };
    assert!(with(0).unwrap_err().to_string().contains("at least 1"));
    let ran = ran(&with(1).unwrap(), "go");
    assert_eq!(ran.status(), "Limit(Turns { max: 1 })");
    assert_eq!(model.requests().len(), 1);
}
