//! What one text delta costs the client, in processor time of its thread: reading from the socket,
//! decoding, parsing, handing out.

#![expect(
    clippy::expect_used,
    reason = "without a server there is nothing to measure"
)]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark's result is what it prints"
)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use futures::StreamExt;
use harness_core::{CancellationToken, Message, Model, ModelEvent, ModelRequest};
use harness_providers::{Anthropic, OpenAi};

const DELTAS: usize = 20_000;
const ROUNDS: usize = 20;

fn chat_stream() -> String {
    let event = |n: usize| {
        let n = n % 100;
        format!(
            r#"data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","choices":[{{"index":0,"delta":{{"content":"word{n} "}},"finish_reason":null}}]}}"#
        ) + "\n\n"
    };
    let stop = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    (0..DELTAS).map(event).collect::<String>() + stop + "\n\ndata: [DONE]\n\n"
}

fn responses_stream() -> String {
    let event = |n: usize| {
        let word = n % 100;
        format!(
            r#"data: {{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"sequence_number":{n},"delta":"word{word} "}}"#
        ) + "\n\n"
    };
    let stop = r#"data: {"type":"response.completed","response":{"status":"completed"}}"#;
    named(event, "response.output_text.delta") + stop + "\n\n"
}

fn messages_stream() -> String {
    let event = |n: usize| {
        let n = n % 100;
        format!(
            r#"data: {{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"word{n} "}}}}"#
        ) + "\n\n"
    };
    let stop = r#"data: {"type":"message_stop"}"#;
    named(event, "content_block_delta") + stop + "\n\n"
}

fn named(event: impl Fn(usize) -> String, name: &str) -> String {
    let head = format!("event: {name}\n");
    (0..DELTAS).map(|n| head.clone() + &event(n)).collect()
}

fn serve(events: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
        );
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = vec![0; 64 * 1024];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// Nanoseconds of processor time that this thread has used.
fn thread_nanos() -> u64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or(0)
}

fn measure(name: &str, model: &Arc<dyn Model>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let mut best = u64::MAX;
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            let request = ModelRequest::new(Arc::clone(model), vec![Message::user("q").into()]);
            let start = thread_nanos();
            let mut stream = model
                .stream(request, CancellationToken::new())
                .await
                .expect("an answer");
            let (mut deltas, mut bytes) = (0, 0);
            while let Some(event) = stream.next().await {
                if let ModelEvent::Text { delta, .. } = event.expect("an event") {
                    deltas += 1;
                    bytes += delta.len();
                }
            }
            assert_eq!(deltas, DELTAS);
            assert!(bytes > DELTAS);
            best = best.min(thread_nanos() - start);
        }
    });
    println!("{name}: {:.0} ns a delta", best as f64 / DELTAS as f64);
}

fn main() {
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let chat = OpenAi::chat("m", "").base_url(at(serve(chat_stream())));
    measure("openai-chat", &chat.into());
    let responses = OpenAi::responses("m", "").base_url(at(serve(responses_stream())));
    measure("openai-responses", &responses.into());
    let messages = Anthropic::messages("m", "").base_url(at(serve(messages_stream())));
    measure("anthropic", &messages.into());
}
