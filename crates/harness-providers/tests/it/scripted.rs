//! The scripted model.

use std::sync::Arc;
use std::time::Duration;

use harness_core::{
    CancellationToken, Message, MessageRef, Model, ModelError, ModelRequest, StopReason,
    ToolOutcome,
};
use harness_providers::Scripted;

use crate::conversation::{results, tools};
use crate::line::{complete, line, run};

fn model(script: &str) -> Arc<dyn Model> {
    Arc::new(Scripted::from_json(script).unwrap())
}

fn ask(
    model: &Arc<dyn Model>,
    messages: &[MessageRef],
) -> Result<harness_core::AssistantMessage, ModelError> {
    run(complete(ModelRequest::new(
        Arc::clone(model),
        messages.to_vec(),
    )))
}

fn start() -> Vec<MessageRef> {
    vec![Message::user("Hello").into()]
}

/// Asks, and appends the reply and what answers it.
fn turn(model: &Arc<dyn Model>, history: &mut Vec<MessageRef>) -> String {
    let reply = ask(model, history).unwrap();
    let line = line(&Ok(reply.clone()));
    let calls: Vec<(String, String)> = reply
        .tool_calls()
        .map(|call| (call.id.clone(), call.name.clone()))
        .collect();
    history.push(Message::Assistant(reply).into());
    history.push(if calls.is_empty() {
        Message::user("next").into()
    } else {
        let all = calls
            .iter()
            .map(|(id, name)| (&**id, &**name, ToolOutcome::done(format!("ran {id}"))));
        results(all.collect())
    });
    line
}

#[test]
fn turns_are_played_in_order_and_the_end_is_an_error() {
    let model = model(
        r#"{"model":{"name":"tiny","context_window":8000,"thinking":["low"],"prices":{"input":1,"output":2}},
            "turns":[
              {"thinking":"hm","text":"Look.","calls":[{"tool":"ls","arguments":{"a":1}},{"tool":"x","id":"mine","arguments":"{bad"}],
               "usage":{"input_tokens":3,"output_tokens":4}},
              {"text":"${result:call_0_0}; ${result:mine}","stop":"length"},
              {"text":"again","repeat":2}]}"#,
    );
    assert_eq!(model.info().id.to_string(), "scripted/tiny");
    assert_eq!(model.info().context_window, Some(8000));
    let mut history = start();
    assert_eq!(
        turn(&model, &mut history),
        "thinking \"hm\" None | text \"Look.\" | ls#call_0_0 {\"a\":1} | x#mine {bad | tool_calls in \
         3 (read 0, written 0) out 4 (thinking 0)"
    );
    assert_eq!(
        turn(&model, &mut history),
        "text \"ran call_0_0; ran mine\" | length"
    );
    assert_eq!(turn(&model, &mut history), "text \"again\" | end_turn");
    assert_eq!(turn(&model, &mut history), "text \"again\" | end_turn");
    let error = ask(&model, &history).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the script is at its end: it has no turn 4 (3 are written)"
    );
    assert!(!error.is_retryable());
}

#[test]
fn the_conversation_says_which_turn_is_next() {
    let script = r#"{"turns":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"}]}"#;
    let first = model(script);
    let mut history = start();
    turn(&first, &mut history);
    turn(&first, &mut history);
    // Another process, the same conversation.
    let second = model(script);
    assert_eq!(ask(&second, &history).unwrap().text(), "c");
    // A branch from an earlier place.
    assert_eq!(ask(&second, &history[..3]).unwrap().text(), "b");
    // A compaction that kept the last reply.
    let mut compacted = vec![Message::user("summary").into()];
    compacted.extend_from_slice(&history[3..]);
    assert_eq!(ask(&second, &compacted).unwrap().text(), "c");
    // Another conversation beside it.
    assert_eq!(ask(&second, &start()).unwrap().text(), "a");
}

#[test]
fn a_failure_is_played_once_for_each_conversation() {
    let model = model(
        r#"{"turns":[
            {"error":{"kind":"rate_limited","status":429,"message":"slow","retry_after":0.5}},
            {"text":"half","calls":[{"tool":"ls","arguments":{"path":"."}}],"cut":true},
            {"text":"part","error":{"kind":"unavailable"}},
            {"text":"done"},
            {"text":"after"}]}"#,
    );
    let play = |messages: &[MessageRef]| -> Vec<String> {
        (0..4).map(|_| line(&ask(&model, messages))).collect()
    };
    let expected = [
        "rate_limited: the provider limits the rate of requests (status 429): slow",
        "stream_cut: the model's reply was cut off by the connection: it ended without saying that it \
         was complete",
        "unavailable: the provider failed: scripted",
        "text \"done\" | end_turn",
    ];
    let (one, other) = (start(), start());
    // Two conversations in turns: neither counts for the other.
    for expected in expected {
        assert_eq!(line(&ask(&model, &one)), expected);
        assert_eq!(line(&ask(&model, &other)), expected);
    }
    // Once it has succeeded, the same request starts anew.
    assert_eq!(play(&one), expected);
    let mut history = start();
    for _ in 0..3 {
        ask(&model, &history).unwrap_err();
    }
    turn(&model, &mut history);
    assert_eq!(ask(&model, &history).unwrap().text(), "after");
}

#[test]
fn a_name_for_the_conversation_counts_more_than_its_messages() {
    let model = model(r#"{"turns":[{"error":{"kind":"context_overflow"}},{"text":"ok"}]}"#);
    let ask = |key: &str, text: &str| {
        let messages = vec![Message::user(text).into()];
        let mut request = ModelRequest::new(Arc::clone(&model), messages);
        request.cache_key = Some(key.into());
        run(complete(request))
    };
    ask("a", "long").unwrap_err();
    ask("b", "long").unwrap_err();
    // Compacted: another message, the same conversation.
    assert_eq!(ask("a", "short").unwrap().text(), "ok");
    assert_eq!(ask("b", "long").unwrap().text(), "ok");
}

#[test]
fn demands_that_are_not_met_say_what_differed() {
    let check = |expect: &str, expected: Option<&str>| {
        let script = format!(r#"{{"turns":[{{"text":"ok","expect":{expect}}}]}}"#);
        let model = model(&script);
        let mut request = ModelRequest::new(
            Arc::clone(&model),
            vec![
                Message::user("Fix it").into(),
                crate::conversation::said(
                    &harness_core::ModelId::new("p", "other"),
                    vec![crate::conversation::call("c1", "ls", "{}")],
                ),
                results(vec![("c1", "ls", ToolOutcome::failed("no such folder"))]),
            ],
        );
        request.system = Some("Be brief.".into());
        request.tools = tools();
        let got = run(complete(request)).err().map(|error| error.to_string());
        assert_eq!(got.as_deref(), expected, "{expect}");
    };
    check(
        r#"{"last_user_contains":"Fix","system_contains":["Be","brief"],"tools":["ls","read"],"messages":3,
            "last_results":[{"tool":"ls","contains":"folder","is_error":true}]}"#,
        None,
    );
    check(
        r#"{"last_user_contains":"Mend","hint":"See the readme"}"#,
        Some(
            "scripted turn 0: the last user message should contain \"Mend\"; it is \"Fix it\\n\". See the readme",
        ),
    );
    check(
        r#"{"system_contains":"Hi"}"#,
        Some("scripted turn 0: the system prompt should contain \"Hi\"; it is \"Be brief.\""),
    );
    check(
        r#"{"tools":["ls"]}"#,
        Some("scripted turn 0: the tools should be [\"ls\"]; they are [\"ls\", \"read\"]"),
    );
    check(
        r#"{"messages":1}"#,
        Some("scripted turn 0: the request should hold 1 messages; it holds 3"),
    );
    check(
        r#"{"last_results":[]}"#,
        Some("scripted turn 0: the last message should hold 0 results; it holds 1"),
    );
    check(
        r#"{"last_results":[{"is_error":false}]}"#,
        Some("scripted turn 0: result 0 should be no error; it is \"no such folder\""),
    );
    check(
        r#"{"last_results":[{"tool":"read"}]}"#,
        Some("scripted turn 0: result 0 should be of `read`; it is of `ls`"),
    );
}

#[test]
fn requests_beside_the_conversation_do_not_move_it() {
    let model = model(
        r#"{"turns":[{"text":"a"},{"text":"b"}],
            "side":[{"when":{"last_user_contains":"Summarize"},"text":"A summary."}]}"#,
    );
    let mut history = start();
    turn(&model, &mut history);
    let summary = ask(&model, &[Message::user("Summarize this").into()]).unwrap();
    assert_eq!(
        (summary.text().as_str(), summary.response_id),
        ("A summary.", None)
    );
    assert_eq!(ask(&model, &history).unwrap().text(), "b");
}

#[test]
fn requests_that_break_the_rules_are_refused() {
    let model = model(r#"{"turns":[{"text":"a","repeat":"forever"}]}"#);
    let error = ask(&model, &[]).unwrap_err();
    assert!(
        error.to_string().starts_with("the request is not valid: "),
        "{error}"
    );
    let orphan = results(vec![("c1", "ls", ToolOutcome::done("x"))]);
    let error = ask(&model, &[Message::user("q").into(), orphan]).unwrap_err();
    assert!(
        !error.is_retryable() && error.to_string().contains("c1"),
        "{error}"
    );
}

#[test]
fn a_turn_for_ever_has_its_own_call_ids() {
    let model =
        model(r#"{"turns":[{"calls":[{"tool":"ls"},{"tool":"ls","id":"x"}],"repeat":"forever"}]}"#);
    let mut history = start();
    assert_eq!(
        turn(&model, &mut history),
        "ls#call_0_0 {} | ls#x {} | tool_calls"
    );
    assert_eq!(
        turn(&model, &mut history),
        "ls#call_1_0 {} | ls#x_1 {} | tool_calls"
    );
}

#[test]
fn a_delay_can_be_cancelled() {
    let model = model(r#"{"turns":[{"text":"a","delay_ms":60000}]}"#);
    run(async {
        let cancel = CancellationToken::new();
        let request = ModelRequest::new(Arc::clone(&model), start());
        let waiting = tokio::time::timeout(
            Duration::from_secs(5),
            model.complete(request, cancel.clone()),
        );
        let (result, ()) = tokio::join!(waiting, async {
            tokio::task::yield_now().await;
            cancel.cancel();
        });
        assert_eq!(result.unwrap().unwrap_err(), ModelError::Cancelled);
    });
}

#[test]
fn scripts_that_cannot_be_used_say_why() {
    for (script, expected) in [
        (r#"{"turns":[{"txt":"a"}]}"#, "unknown field `txt`"),
        ("{}", "missing field `turns`"),
        (
            r#"{"turns":[{"error":{"kind":"bad"}}]}"#,
            "there is no error of the kind `bad`",
        ),
        (r#"{"turns":[],"side":[{"text":"a"}]}"#, "needs a `when`"),
        (r#"{"turns":[{"when":{},"text":"a"}]}"#, "`when` belongs to"),
    ] {
        let error = Scripted::from_json(script).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = Scripted::from_file("/nowhere/script.json")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the script /nowhere/script.json cannot be used"),
        "{error}"
    );
}

#[test]
fn stop_reasons() {
    for (stop, expected) in [
        ("content_filter", StopReason::ContentFilter),
        ("odd", StopReason::Other("odd".to_owned())),
    ] {
        let model = model(&format!(r#"{{"turns":[{{"text":"a","stop":"{stop}"}}]}}"#));
        assert_eq!(ask(&model, &start()).unwrap().stop, expected);
    }
}
