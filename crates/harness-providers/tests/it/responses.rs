//! Replies over OpenAI Responses.

use crate::line::{line, reply, responses};
use crate::server::Answer;

fn stream(events: &[&str]) -> String {
    let event = |event: &&str| {
        let kind = event.split('"').nth(3).unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

const CREATED: &str =
    r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"incomplete_details":null,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3}}}}"#;
const USAGE: &str = " in 9 (read 4, written 0) out 5 (thinking 3)";

fn check(events: &[&str], expected: &str) {
    assert_eq!(
        line(&reply(responses, Answer::events(&stream(events)))),
        expected
    );
}

#[test]
fn prov_21_reasoning_items_are_kept_as_they_came() {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One."}],"encrypted_content":"ZW5j"}"#;
    check(
        &[
            CREATED,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One."}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}"#,
            &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"He"}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"y"}"#,
            r#"{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"Hey"}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"Hey"}]}}"#,
            r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"ls","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\""}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":":1}"}"#,
            r#"{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"a\":1}"}"#,
            r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"call_1","name":"ls","arguments":"{\"a\":1}"}}"#,
            COMPLETED,
        ],
        &format!(
            "thinking \"One.\\n\\nTwo.\" Some({item:?}) | text \"Hey\" | ls#call_1 {{\"a\":1}} | \
             tool_calls{USAGE}"
        ),
    );
}

#[test]
fn items_that_come_whole() {
    check(
        &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"c","name":"x","arguments":"{}"}}"#,
            COMPLETED,
        ],
        &format!("text \"Hi\" | x#c {{}} | tool_calls{USAGE}"),
    );
    let only_end = r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}}"#;
    check(&[only_end], "text \"Hi\" | end_turn");
}

#[test]
fn loop_19_why_a_model_stopped_is_kept() {
    let text =
        r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}"#;
    for (reason, expected) in [
        ("max_output_tokens", "length"),
        ("content_filter", "content_filter"),
        ("new_reason", "new_reason"),
    ] {
        let end = format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}}}}}}"#
        );
        check(&[text, &end], &format!("text \"a\" | {expected}"));
    }
    check(
        &[
            r#"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"No."}"#,
            COMPLETED,
        ],
        &format!("text \"No.\" | content_filter{USAGE}"),
    );
}

#[test]
fn errors_and_cut_streams() {
    for (event, expected) in [
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}"#,
            "unavailable: the provider failed: x",
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"x"}}}"#,
            "context_overflow: the conversation does not fit the model's context window: x",
        ),
        (
            r#"{"type":"error","code":"rate_limit_exceeded","message":"x"}"#,
            "rate_limited: the provider limits the rate of requests: x",
        ),
        (
            r#"{"error":{"message":"x","type":"server_error"}}"#,
            "unavailable: the provider failed: x",
        ),
        (
            r#"{"type":"response.in_progress"}"#,
            "stream_cut: the model's reply was cut off by the connection: it ended without saying that it was complete",
        ),
    ] {
        check(&[CREATED, event], expected);
    }
}

#[test]
fn a_server_that_does_not_stream() {
    let body = r#"{"id":"r","object":"response","status":"completed","error":null,"output":[{"type":"reasoning","id":"rs","summary":[]},{"type":"function_call","call_id":"c","name":"x","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":2}}"#;
    assert_eq!(
        line(&reply(
            responses,
            Answer::document("application/json", body)
        )),
        "thinking \"\" Some(\"{\\\"type\\\":\\\"reasoning\\\",\\\"id\\\":\\\"rs\\\",\\\"summary\\\":[]}\") \
         | x#c {} | tool_calls in 1 (read 0, written 0) out 2 (thinking 0)"
    );
}
