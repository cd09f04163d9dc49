//! A whole run at a collector, over HTTP and over gRPC: three turns with parallel calls, a retry, and a run that a
//! tool starts. The tree is compared whole: names, kinds, parents, attributes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{DynamicTool, RunInput, SystemPrompt, ToolOutput, run};
use harness_telemetry::export::{Exporter, OtlpTarget, Protocol};
use harness_telemetry::middleware::Telemetry;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::json;

use crate::received::{Received, builder, seen_by, text};
use crate::receiver_grpc::GrpcReceiver;
use crate::receiver_http::{Behaviour, HttpReceiver};
use crate::runs::{recorded, tool};

const LONG: Duration = Duration::from_mins(1);

fn three_turns() {
    let child = Arc::new(ScriptedModel::new([Reply::text("found").usage(5, 1)]));
    let child = recorded(&child, &Telemetry::new("finder")).build().unwrap();
    let delegate = DynamicTool::new(
        "delegate",
        "Asks another.",
        json!({"type": "object"}),
        move |_, _| {
            let child = child.clone();
            Box::pin(async move {
                let mut handle = run(&child, RunInput::prompt("find it"));
                while handle.next().await.is_some() {}
                Ok(ToolOutput::text(handle.outcome().await.unwrap().answer()))
            })
        },
    );
    let model = Arc::new(ScriptedModel::new([
        Reply::call("a", "slow", "{}")
            .and_call("b", "fast", "{}")
            .usage(10, 2),
        Reply::busy(),
        Reply::call("c", "delegate", "{}").usage(20, 2),
        Reply::text("done").usage(30, 2),
    ]));
    let config = recorded(&model, &Telemetry::new("coder"))
        .system_prompt(SystemPrompt::new("Be good."))
        .tool(tool("slow"))
        .tool(tool("fast"))
        .tool(delegate)
        .build()
        .unwrap();
    block_on(async {
        let mut handle = run(&config, RunInput::prompt("go"));
        while handle.next().await.is_some() {}
        assert_eq!(handle.outcome().await.unwrap().status.word(), "finished");
    });
}

/// A span and its attributes in one line. Times are of no interest, and ids of runs are random.
fn line(span: &Span) -> String {
    let kind = if span.kind == SpanKind::Client as i32 {
        "client"
    } else {
        "internal"
    };
    let mut attributes = BTreeMap::new();
    for attribute in &span.attributes {
        let key = attribute.key.as_str();
        let value = match key {
            "gen_ai.response.time_to_first_chunk" | "harness.retry.delay" => "…".to_owned(),
            _ => text(&span.attributes, key),
        };
        attributes.insert(key, value);
    }
    let attributes: Vec<String> = attributes
        .into_iter()
        .map(|(key, value)| format!(" {key}={value}"))
        .collect();
    let events: Vec<String> = span
        .events
        .iter()
        .map(|event| format!(" +{}", event.name))
        .collect();
    format!(
        "{} ({kind}){}{}",
        span.name,
        attributes.concat(),
        events.concat()
    )
}

fn tree(spans: &[Span]) -> String {
    fn write(text: &mut String, spans: &[Span], parent: &[u8], depth: usize) {
        let mut children: Vec<&Span> = spans
            .iter()
            .filter(|span| span.parent_span_id == parent)
            .collect();
        // Of two that began at once, the one with the smaller call id.
        children.sort_by_key(|span| (span.start_time_unix_nano, line(span)));
        for span in children {
            writeln!(text, "{:1$}{2}", "", depth * 2, line(span)).unwrap();
            write(text, spans, &span.span_id, depth + 1);
        }
    }
    let mut text = String::new();
    write(&mut text, spans, &[], 0);
    text
}

fn check(target: OtlpTarget, received: &Received) {
    let exporter: Exporter = builder().otlp(target).start().unwrap();
    seen_by(&exporter, three_turns);
    let report = exporter.finish(LONG);
    assert_eq!((report.dropped, report.error.clone()), (0, None));
    let spans = received.spans();
    assert_eq!(report.spans as usize, spans.len());
    let traces: std::collections::BTreeSet<_> = spans.iter().map(|span| &span.trace_id).collect();
    assert_eq!(traces.len(), 1);
    let tree = tree(&spans);
    assert_eq!(tree, include_str!("otlp_runs.txt"));
}

#[test]
fn a_run_over_http() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    check(target, &receiver.received);
}

#[test]
fn a_run_over_grpc() {
    let receiver = GrpcReceiver::start(None);
    let target = OtlpTarget::for_traces(Protocol::Grpc, &receiver.base());
    check(target, &receiver.received);
}
