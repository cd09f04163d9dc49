//! Replies over Chat Completions.

use futures::StreamExt;
use harness_core::ModelEvent;
use serde_json::json;

use crate::line::{chat, complete, events, fold, hello, line, reply, run};
use crate::server::{Answer, Server};

/// A stream of chunks, each given by its delta, or by the whole chunk.
fn stream(chunks: &[&str]) -> String {
    let event = |chunk: &&str| {
        let is_delta = chunk.starts_with('{')
            && !["choices", "usage", "error"]
                .iter()
                .any(|word| chunk[..10].contains(word));
        if is_delta {
            let data = format!("{{\"id\":\"r1\",\"choices\":[{{\"index\":0,\"delta\":{chunk}}}]}}");
            format!("data: {data}\n\n")
        } else {
            format!("data: {chunk}\n\n")
        }
    };
    chunks.iter().map(event).collect()
}

const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const CALLS: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

fn check(chunks: &[&str], expected: &str) {
    let got = line(&reply(chat, Answer::events(&stream(chunks))));
    assert_eq!(got, expected, "{chunks:#?}");
}

#[test]
fn text_thinking_and_usage() {
    check(
        &[
            r#"{"role":"assistant","content":""}"#,
            r#"{"reasoning_content":"Let me "}"#,
            r#"{"reasoning_content":"see."}"#,
            r#"{"content":"Hel"}"#,
            r#"{"content":"lo"}"#,
            STOP,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
            "[DONE]",
        ],
        "thinking \"Let me see.\" None | text \"Hello\" | end_turn in 9 (read 5, written 0) out 4 \
         (thinking 2)",
    );
}

#[test]
fn reasoning_under_its_other_name_and_content_in_parts() {
    check(
        &[
            r#"{"reasoning":"hm","reasoning_content":"hm"}"#,
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            STOP,
        ],
        "thinking \"hm\" None | text \"ab\" | end_turn",
    );
}

#[test]
fn prov_04_events_split_anywhere_lose_nothing() {
    let text = "Größe 😀 und Maß";
    let chunks: Vec<String> = text
        .chars()
        .map(|c| json!({ "content": c.to_string() }).to_string())
        .collect();
    let mut chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    chunks.push(STOP);
    chunks.push("[DONE]");
    let stream = stream(&chunks);
    for size in [1, 2, 3, 7, 64, 1000] {
        let reply = reply(chat, Answer::pieces(&stream, size)).unwrap();
        assert_eq!(reply.text(), text, "in pieces of {size}");
    }
}

#[test]
fn prov_04_an_event_that_cannot_be_read_is_an_error() {
    let broken = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choi\n\n";
    let error = reply(chat, Answer::events(broken)).unwrap_err();
    assert_eq!(error.word(), "stream_invalid");
    assert!(error.to_string().contains("{\"choi"), "{error}");
    assert!(error.is_retryable());
}

#[test]
fn prov_06_later_fragments_carry_only_the_index() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ls","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":":\".\"}"}}]}"#,
            CALLS,
            "[DONE]",
        ],
        r#"ls#c1 {"path":"."} | tool_calls"#,
    );
}

#[test]
fn prov_08_a_last_fragment_that_repeats_the_name_is_no_call() {
    for last in [
        r#"{"tool_calls":[{"index":0,"id":null,"function":{"name":"x","arguments":"}"}}]}"#,
        r#"{"tool_calls":[{"id":null,"function":{"name":"x","arguments":"}"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"","function":{"name":"x","arguments":"}"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"x","arguments":"}"}}]}"#,
    ] {
        check(
            &[
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"x","arguments":"{\"a\":1"}}]}"#,
                last,
                CALLS,
            ],
            r#"x#c1 {"a":1} | tool_calls"#,
        );
    }
}

#[test]
fn prov_09_indexes_that_start_late_or_have_gaps_make_no_empty_call() {
    check(
        &[
            r#"{"tool_calls":[{"index":1,"id":"c1","function":{"name":"x","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":3,"id":"c3","function":{"name":"y","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0}]}"#,
            CALLS,
        ],
        "x#c1 {} | y#c3 {} | tool_calls",
    );
}

#[test]
fn prov_13_a_call_without_reasoning_is_a_call() {
    check(
        &[
            r#"{"reasoning_content":"","tool_calls":[{"index":0,"id":"c","function":{"name":"x","arguments":"{}"}}]}"#,
            CALLS,
        ],
        "x#c {} | tool_calls",
    );
}

#[test]
fn prov_20_several_calls_interleaved_or_whole_or_without_ids() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":""}},{"index":1,"id":"b","function":{"name":"y","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"{\"b\":"}},{"index":0,"function":{"arguments":"{\"a\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"2}"}}]}"#,
            CALLS,
        ],
        r#"x#a {"a":1} | y#b {"b":2} | tool_calls"#,
    );
    // Whole calls, each under the same index.
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}]}"#,
            CALLS,
        ],
        r#"x#a {} | x#b {"n":2} | tool_calls"#,
    );
    // Whole calls without index and id.
    check(
        &[
            r#"{"tool_calls":[{"function":{"name":"x","arguments":"{}"}},{"function":{"name":"x","arguments":{"n":2}}}]}"#,
            CALLS,
        ],
        r#"x#call_0 {} | x#call_1 {"n":2} | tool_calls"#,
    );
    // Only ids.
    check(
        &[
            r#"{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"n\""}}]}"#,
            r#"{"tool_calls":[{"id":"b","function":{"name":"y","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"id":"a","function":{"arguments":":1}"}}]}"#,
            CALLS,
        ],
        r#"x#a {"n":1} | y#b {} | tool_calls"#,
    );
}

#[test]
fn a_name_in_pieces_and_a_call_without_arguments() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"list_"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"files"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"now"}}]}"#,
            CALLS,
        ],
        "list_files#a {} | now#b  | tool_calls",
    );
}

#[test]
fn legacy_calls_and_unknown_things_are_passed_over() {
    check(
        &[
            r#"{"function_call":{"name":"x","arguments":"{}"},"audio":{"id":1},"annotations":[]}"#,
            r#"{"content":null,"tool_calls":null}"#,
            r#"{"content":"a","role":7}"#,
            r#"{"choices":[{"delta":null,"finish_reason":null}],"usage":"n/a","new":[1,{"a":2}]}"#,
            r#"{"choices":null}"#,
            STOP,
        ],
        "text \"a\" | end_turn",
    );
}

#[test]
fn prov_17_null_token_counts_are_unknown() {
    for usage in [
        r#"{"choices":[],"usage":null}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":null,"completion_tokens":null}}"#,
        r#"{"choices":[],"usage":{}}"#,
    ] {
        check(
            &[r#"{"content":"a"}"#, STOP, usage, "[DONE]"],
            "text \"a\" | end_turn",
        );
    }
    let details = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":null,"prompt_tokens_details":null}}"#;
    check(
        &[r#"{"content":"a"}"#, STOP, details, "[DONE]"],
        "text \"a\" | end_turn in 3 (read 0, written 0) out 0 (thinking 0)",
    );
}

#[test]
fn prov_18_the_last_real_usage_counts() {
    let with =
        |usage: &str| format!(r#"{{"choices":[{{"delta":{{"content":"a"}}}}],"usage":{usage}}}"#);
    let chunks = [
        with("null"),
        with(r#"{"prompt_tokens":0,"completion_tokens":0}"#),
        with(r#"{"prompt_tokens":7,"completion_tokens":1}"#),
        with(r#"{"prompt_tokens":7,"completion_tokens":2}"#),
        with(r#"{"prompt_tokens":0,"completion_tokens":0}"#),
        with("null"),
    ];
    let mut chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    chunks.extend([STOP, "[DONE]"]);
    check(
        &chunks,
        "text \"aaaaaa\" | end_turn in 7 (read 0, written 0) out 2 (thinking 0)",
    );
}

#[test]
fn loop_19_why_a_model_stopped_is_kept() {
    for (word, expected) in [
        ("stop", "end_turn"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("something_new", "something_new"),
    ] {
        let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
        check(
            &[r#"{"content":"a"}"#, &end],
            &format!("text \"a\" | {expected}"),
        );
    }
    let calls = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"x","arguments":"{"}}]}"#;
    // Said in one way by some services, in another by others.
    check(&[calls, STOP], "x#c { | tool_calls");
    let length = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#;
    check(&[calls, length], "x#c { | length");
    check(
        &[r#"{"refusal":"No."}"#, STOP],
        "text \"No.\" | content_filter",
    );
}

#[test]
fn loop_20_incomplete_arguments_are_passed_on_as_they_are() {
    check(
        &[
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{\"path\":\"a"}}]}"#,
            CALLS,
        ],
        r#"read#c {"path":"a | tool_calls"#,
    );
}

#[test]
fn a_stream_is_complete_only_with_its_mark() {
    let text = r#"{"content":"a"}"#;
    check(&[text, "[DONE]"], "text \"a\" | end_turn");
    check(&[text, STOP], "text \"a\" | end_turn");
    for cut in [
        stream(&[text]),
        // In the middle of an event.
        format!(
            "{}data: {{\"choices\":[{{\"delta\":{{\"con",
            stream(&[text])
        ),
        String::new(),
    ] {
        let error = reply(chat, Answer::events(&cut)).unwrap_err();
        assert_eq!(error.word(), "stream_cut", "{cut}");
        assert!(error.is_retryable());
    }
    // The last event's blank line is missing, but it is whole.
    let end = stream(&[text, STOP]);
    let reply = reply(chat, Answer::events(end.trim_end())).unwrap();
    assert_eq!(reply.text(), "a");
}

#[test]
fn a_connection_that_breaks_in_the_middle_is_a_cut_stream() {
    let broken = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: \
                  chunked\r\n\r\n2d\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\r\n";
    let server = Server::start(vec![Answer::Raw(vec![broken.as_bytes().to_vec()])]);
    let error = run(complete(hello(chat(&server)))).unwrap_err();
    assert_eq!(error.word(), "stream_cut");
}

#[test]
fn errors_inside_the_stream() {
    let text = r#"{"content":"a"}"#;
    for (chunk, expected) in [
        (
            r#"{"error":{"message":"busy","type":"overloaded_error"}}"#,
            "unavailable",
        ),
        (
            r#"{"error":{"message":"slow","code":"rate_limit_exceeded"}}"#,
            "rate_limited",
        ),
        (
            r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
            "context_overflow",
        ),
        (
            r#"{"error":{"message":"upstream","code":502}}"#,
            "unavailable",
        ),
        (r#"{"error":"boom"}"#, "unavailable"),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":429,"message":"x"}}]}"#,
            "rate_limited",
        ),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            "unavailable",
        ),
    ] {
        let error = reply(chat, Answer::events(&stream(&[text, chunk]))).unwrap_err();
        assert_eq!(error.word(), expected, "{chunk}");
    }
    let named = format!("{}event: error\ndata: gone away\n\n", stream(&[text]));
    let error = reply(chat, Answer::events(&named)).unwrap_err();
    assert_eq!(error.to_string(), "the provider failed: gone away");
}

#[test]
fn what_came_before_an_error_is_given_out_first() {
    let answer = Answer::events(&stream(&[r#"{"content":"a"}"#, r#"{"error":"boom"}"#]));
    let server = Server::start(vec![answer]);
    run(async {
        let request = hello(chat(&server));
        let model = std::sync::Arc::clone(&request.model);
        let mut stream = model
            .stream(request, harness_core::CancellationToken::new())
            .await
            .unwrap();
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            seen.push(event);
        }
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(matches!(seen[1], Ok(ModelEvent::Text { .. })));
        assert!(seen[2].is_err());
    });
}

#[test]
fn a_server_that_does_not_stream() {
    let body = r#" {"id":"r","choices":[{"message":{"role":"assistant","content":"Hi","reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let got = line(&reply(chat, Answer::document("application/json", body)));
    assert_eq!(
        got,
        "thinking \"hm\" None | text \"Hi\" | x#c {} | tool_calls in 1 (read 0, written 0) out 2 \
         (thinking 0)"
    );
    // Under a wrong content type, in both directions.
    let got = reply(chat, Answer::document("text/event-stream", body)).unwrap();
    assert_eq!(got.text(), "Hi");
    let events = stream(&[r#"{"content":"a"}"#, STOP]);
    let got = reply(chat, Answer::document("application/json", &events)).unwrap();
    assert_eq!(got.text(), "a");
}

#[test]
fn answers_that_are_no_replies_name_their_type() {
    for (kind, body, expected) in [
        (
            "text/html; charset=utf-8",
            "<!DOCTYPE html><title>Log in</title>",
            "HTML page: Log in",
        ),
        ("application/json", "{\"ok\":true}", "{\"ok\":true}"),
        ("text/plain", "", "an empty answer"),
        ("application/json", "{\"choices\":[]", "{\"choices\":["),
    ] {
        let error = reply(chat, Answer::document(kind, body)).unwrap_err();
        assert_eq!(error.word(), "stream_invalid", "{body}");
        let text = error.to_string();
        assert!(text.contains(kind) && text.contains(expected), "{text}");
    }
    let error = reply(
        chat,
        Answer::document(
            "application/json",
            r#"{"error":{"message":"no such model","code":"model_not_found"}}"#,
        ),
    )
    .unwrap_err();
    assert_eq!(error.word(), "not_found");
}

#[test]
fn parts_are_numbered_by_appearance_and_the_reply_is_named() {
    let answer = Answer::events(&stream(&[
        r#"{"content":"a"}"#,
        r#"{"reasoning":"b"}"#,
        r#"{"content":"c"}"#,
        STOP,
    ]));
    let server = Server::start(vec![answer]);
    let events = run(events(hello(chat(&server)))).unwrap();
    assert_eq!(
        events[0],
        ModelEvent::Start {
            response_id: Some("r1".to_owned())
        }
    );
    let blocks: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Text { block, .. } | ModelEvent::Thinking { block, .. } => Some(*block),
            _ => None,
        })
        .collect();
    assert_eq!(blocks, [0, 1, 2]);
    assert_eq!(fold(events).unwrap().text(), "ac");
}

#[test]
fn a_long_line_is_refused() {
    let long = stream(&[&json!({ "content": "x".repeat(2000) }).to_string(), STOP]);
    let server = Server::start(vec![Answer::events(&long), Answer::events(&long)]);
    let options = harness_providers::HttpOptions::default().max_line_bytes(1000);
    let error = run(complete(hello(chat(&server).http(options)))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model's reply could not be read: a line of the event stream is longer than 1000 bytes"
    );
    assert_eq!(
        run(complete(hello(chat(&server)))).unwrap().text().len(),
        2000
    );
}
