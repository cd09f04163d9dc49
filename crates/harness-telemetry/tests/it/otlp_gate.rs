//! What does not get out.

use std::time::Duration;

use harness_telemetry::ai::{self, Chat, ChatEnd};
use harness_telemetry::export::{OtlpTarget, Protocol, Sampling};
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::received::{builder, keys, seen_by, text};
use crate::receiver_http::{Behaviour, HttpReceiver};

const LONG: Duration = Duration::from_mins(1);

/// One request with content, to which others have added what they like.
fn chat_with_more() {
    let chat = Chat {
        provider: "demo",
        model: "m1",
    };
    let chat = ai::chat(chat).input_messages("hush: question").start();
    let span = chat.span();
    span.set_attribute("http.request.header.authorization", "hush");
    span.set_attribute("exception.stacktrace", "hush");
    span.set_attribute("gen_ai.system_instructions", "hush: system");
    span.add_event(
        "exception",
        vec![KeyValue::new("exception.message", "hush")],
    );
    span.add_event(
        "harness.started",
        vec![
            KeyValue::new("hush", "hush"),
            KeyValue::new("error.type", "seen"),
        ],
    );
    span.record("otel.status_description", "hush");
    tracing::error!(target: "gen_ai", parent: span, error = "hush", "hush");
    tracing::info!(parent: span, "hush");
    tracing::info_span!(target: "gen_ai", parent: span, "hush").in_scope(|| {
        tracing::info_span!("GET", http.url = "https://hush").in_scope(|| ());
    });
    chat.output_messages("hush: answer");
    chat.end(ChatEnd {
        input_tokens: None,
        output_tokens: Some(u64::MAX),
        finish_reasons: &[],
    });
}

fn exported(content: bool) -> Span {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().content(content).otlp(target).start().unwrap();
    seen_by(&exporter, chat_with_more);
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped), (1, 0));
    receiver.received.spans().remove(0)
}

#[test]
fn what_is_not_declared_and_what_is_content_stays_here() {
    let span = exported(false);
    let text_of_it = format!("{span:?}");
    assert!(!text_of_it.contains("hush"), "{text_of_it}");
    let expected = [
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.usage.output_tokens",
    ];
    assert_eq!(keys(&span.attributes), expected);
    assert_eq!(
        text(&span.attributes, "gen_ai.response.finish_reasons"),
        "[]"
    );
    let most = i64::MAX.to_string();
    assert_eq!(text(&span.attributes, "gen_ai.usage.output_tokens"), most);
    assert_eq!(span.events.len(), 1);
    assert_eq!(keys(&span.events[0].attributes), ["error.type"]);
}

#[test]
fn content_gets_out_when_it_is_switched_on() {
    let span = exported(true);
    for (key, value) in [
        ("gen_ai.input.messages", r#""hush: question""#),
        ("gen_ai.output.messages", r#""hush: answer""#),
        ("gen_ai.system_instructions", r#""hush: system""#),
    ] {
        assert_eq!(text(&span.attributes, key), value);
    }
    assert_eq!(keys(&span.attributes).len(), 8);
}

#[test]
fn samplers_decide_by_trace() {
    for (sampling, exported) in [
        (Sampling::AlwaysOn, 1),
        (Sampling::AlwaysOff, 0),
        (Sampling::Ratio(1.0), 1),
        (Sampling::Ratio(0.0), 0),
        (Sampling::ParentAlwaysOn, 1),
        (Sampling::ParentAlwaysOff, 0),
        (Sampling::ParentRatio(0.0), 0),
    ] {
        let receiver = HttpReceiver::start(Behaviour::Accept);
        let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
        let exporter = builder().sample(sampling).otlp(target).start().unwrap();
        seen_by(&exporter, chat_with_more);
        let report = exporter.finish(LONG);
        assert_eq!(
            (report.spans, report.dropped),
            (exported, 0),
            "{sampling:?}"
        );
    }
    let error = builder().sample(Sampling::Ratio(1.5)).start().unwrap_err();
    let expected = "the ratio of sampled traces is 1.5; it must be between 0 and 1";
    assert_eq!(error.to_string(), expected);
}
