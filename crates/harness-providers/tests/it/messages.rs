//! Replies over Anthropic Messages.

use crate::line::{anthropic, line, reply};
use crate::server::Answer;

fn stream(events: &[&str]) -> String {
    let event = |event: &&str| {
        let kind = event.split('"').nth(3).unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn delta(stop: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{{"output_tokens":20}}}}"#
    )
}

fn check(events: &[&str], expected: &str) {
    assert_eq!(
        line(&reply(anthropic, Answer::events(&stream(events)))),
        expected
    );
}

const USAGE: &str = " in 115 (read 100, written 5) out 20 (thinking 0)";

#[test]
fn text_thinking_signatures_and_merged_usage() {
    check(
        &[
            START,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZW5j"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            &delta("end_turn"),
            STOP,
        ],
        &format!(
            "thinking \"Let me see\" Some(\"c2ln\") | thinking redacted \"\" Some(\"ZW5j\") | text \
             \"Hi\" | end_turn{USAGE}"
        ),
    );
}

#[test]
fn prov_20_three_calls_in_one_message() {
    let mut events = vec![START.to_owned()];
    for index in 0..3 {
        events.push(format!(r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"t{index}","name":"x","input":{{}}}}}}"#));
        events.push(format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":""}}}}"#));
        events.push(format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"{{\"n\":"}}}}"#));
        events.push(format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"{index}}}"}}}}"#));
        events.push(format!(
            r#"{{"type":"content_block_stop","index":{index}}}"#
        ));
    }
    events.push(delta("tool_use"));
    events.push(STOP.to_owned());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    check(
        &events,
        &format!(r#"x#t0 {{"n":0}} | x#t1 {{"n":1}} | x#t2 {{"n":2}} | tool_calls{USAGE}"#),
    );
}

#[test]
fn an_input_given_whole_and_one_never_given() {
    check(
        &[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"x","input":{"n":1}}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"y","input":{}}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            &delta("tool_use"),
            STOP,
        ],
        &format!(r#"x#a {{"n":1}} | y#b  | tool_calls{USAGE}"#),
    );
}

#[test]
fn unknown_parts_are_passed_over() {
    check(
        &[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"new_delta","x":1}}"#,
            r#"{"type":"new_event","x":[1]}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}"#,
            &delta("end_turn"),
            STOP,
        ],
        &format!("text \"Hi\" | end_turn{USAGE}"),
    );
}

#[test]
fn loop_19_why_a_model_stopped_is_kept() {
    for (word, expected) in [
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("stop_sequence", "end_turn"),
        ("pause_turn", "pause_turn"),
    ] {
        check(
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
                &delta(word),
                STOP,
            ],
            &format!("text \"a\" | {expected}{USAGE}"),
        );
    }
}

#[test]
fn only_message_stop_ends_a_message() {
    let events = stream(&[START, &delta("end_turn")]);
    let error = reply(anthropic, Answer::events(&events)).unwrap_err();
    assert_eq!(error.word(), "stream_cut");
}

#[test]
fn errors_inside_the_stream() {
    for (event, expected) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "unavailable: the provider failed: Overloaded",
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#,
            "rate_limited: the provider limits the rate of requests: slow",
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#,
            "context_overflow: the conversation does not fit the model's context window: prompt is too long: 2 > 1",
        ),
    ] {
        check(&[START, event], expected);
    }
}

#[test]
fn a_server_that_does_not_stream() {
    let body = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"x","input":{"n":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#;
    assert_eq!(
        line(&reply(
            anthropic,
            Answer::document("application/json", body)
        )),
        "thinking \"hm\" Some(\"s\") | text \"Hi\" | x#t {\"n\":1} | tool_calls in 3 (read 0, \
         written 0) out 4 (thinking 0)"
    );
}

#[test]
fn prov_17_null_usage() {
    check(
        &[
            r#"{"type":"message_start","message":{"id":"m","usage":null}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":null}}"#,
            STOP,
        ],
        "text \"a\" | end_turn",
    );
}
