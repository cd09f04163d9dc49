//! Spans that arrive: whole, in time, and as they were recorded.

use std::time::Duration;

use harness_telemetry::ai::{self, Chat, ChatEnd, ExecuteTool, InvokeAgent, ToolEnd};
use harness_telemetry::export::{BatchOptions, Exporter, OtlpTarget, Protocol};
use harness_telemetry::harness::{Progress, Run, RunEnd, Started, run};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::received::{Received, builder, keys, seen_by, text};
use crate::receiver_grpc::GrpcReceiver;
use crate::receiver_http::{Behaviour, HttpReceiver};

const LONG: Duration = Duration::from_mins(1);

/// A run with an agent, a request and a tool that fails.
fn small_run() {
    let run = run(Run { run: "r1" })
        .conversation("s1")
        .resumed(false)
        .start();
    run.started(Started {});
    run.progress(Progress { turn: 1 });
    let agent = InvokeAgent {
        agent: "helper",
        provider: "demo",
        model: "m1",
    };
    let agent = ai::invoke_agent(agent).parent(run.span()).start();
    let chat = Chat {
        provider: "demo",
        model: "m1",
    };
    let chat = ai::chat(chat).parent(agent.span()).temperature(0.5).start();
    chat.response_id("reply-1");
    chat.end(ChatEnd {
        input_tokens: Some(12),
        output_tokens: None,
        finish_reasons: &["stop", "length"],
    });
    let tool = ExecuteTool {
        tool: "bash",
        call_id: "c1",
    };
    let tool = ai::execute_tool(tool).parent(agent.span()).start();
    tool.end(ToolEnd { outcome: "failed" });
    agent.fail("timeout");
    run.end(RunEnd {
        outcome: "finished",
        turns: 1,
    });
}

/// Records the small run with this target, and looks at what arrived.
fn check(target: OtlpTarget, received: &Received) {
    let exporter = builder()
        .resource("deployment.environment.name", "lab")
        .otlp(target)
        .start()
        .unwrap();
    seen_by(&exporter, small_run);
    let report = exporter.finish(LONG);
    assert_eq!(
        (report.spans, report.dropped, report.error.clone()),
        (4, 0, None)
    );
    assert_eq!(exporter.finish(LONG), report);

    let resource = received.resource();
    assert_eq!(text(&resource, "service.name"), r#""test""#);
    assert_eq!(text(&resource, "service.version"), r#""1.2.3""#);
    assert_eq!(text(&resource, "deployment.environment.name"), r#""lab""#);
    assert_eq!(text(&resource, "telemetry.sdk.language"), r#""rust""#);

    let run = received.wait_for("harness.run");
    let agent = received.wait_for("invoke_agent helper");
    let chat = received.wait_for("chat m1");
    let tool = received.wait_for("execute_tool bash");
    assert_eq!(received.spans().len(), 4);
    let place = |span: &Span| (span.trace_id.clone(), span.span_id.clone());
    let above = |span: &Span| (span.trace_id.clone(), span.parent_span_id.clone());
    assert!(run.parent_span_id.is_empty());
    assert_eq!(above(&agent), place(&run));
    assert_eq!(above(&chat), place(&agent));
    assert_eq!(above(&tool), place(&agent));
    assert_eq!(chat.kind, SpanKind::Client as i32);
    assert_eq!(agent.kind, SpanKind::Internal as i32);
    assert!(run.start_time_unix_nano <= chat.start_time_unix_nano);
    assert!(chat.start_time_unix_nano <= chat.end_time_unix_nano);
    assert!(chat.end_time_unix_nano <= run.end_time_unix_nano);

    let chat_keys = [
        ("gen_ai.operation.name", r#""chat""#),
        ("gen_ai.provider.name", r#""demo""#),
        ("gen_ai.request.model", r#""m1""#),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.response.finish_reasons", r#"["stop", "length"]"#),
        ("gen_ai.response.id", r#""reply-1""#),
        ("gen_ai.usage.input_tokens", "12"),
    ];
    assert_eq!(keys(&chat.attributes), chat_keys.map(|(key, _)| key));
    for (key, value) in chat_keys {
        assert_eq!(text(&chat.attributes, key), value, "{key}");
    }
    let events: Vec<&str> = run.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["harness.started", "harness.progress"]);
    assert!(run.events[0].attributes.is_empty());
    assert_eq!(text(&run.attributes, "harness.run.resumed"), "false");
    assert_eq!(text(&run.attributes, "harness.run.turns"), "1");
    assert_eq!(text(&run.events[1].attributes, "harness.turn"), "1");

    let status = |span: &Span| span.status.as_ref().map_or(0, |status| status.code);
    assert_eq!(status(&run), StatusCode::Unset as i32);
    assert_eq!(text(&run.attributes, "error.type"), "");
    for (span, error) in [(&tool, r#""failed""#), (&agent, r#""timeout""#)] {
        assert_eq!(status(span), StatusCode::Error as i32);
        assert_eq!(text(&span.attributes, "error.type"), error);
    }
}

#[test]
fn spans_arrive_over_http_as_protobuf() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    check(target.header("X-Team", "blue"), &receiver.received);
    let request = receiver.received.requests().remove(0);
    assert!(request.contains("\r\nx-team: blue\r\n"), "{request}");
    assert!(
        request.contains("\r\nuser-agent: harness-telemetry/"),
        "{request}"
    );
}

#[test]
fn spans_arrive_over_http_as_json() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpJson, &receiver.base());
    check(target, &receiver.received);
}

#[test]
fn spans_arrive_over_https() {
    let (receiver, certificate) = HttpReceiver::start_tls();
    let base = format!("https://localhost:{}", receiver.address.port());
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &base);
    check(target.certificate(certificate), &receiver.received);
}

#[test]
fn spans_arrive_over_grpc() {
    let receiver = GrpcReceiver::start(None);
    let target = OtlpTarget::for_traces(Protocol::Grpc, &receiver.base());
    check(target.header("X-Team", "blue"), &receiver.received);
    let request = receiver.received.requests().remove(0);
    assert!(request.contains(r#""x-team": "blue""#), "{request}");
}

#[test]
fn spans_arrive_over_grpc_with_tls() {
    let (receiver, certificate) = GrpcReceiver::start_tls();
    let base = format!("https://localhost:{}", receiver.address.port());
    let target = OtlpTarget::for_traces(Protocol::Grpc, &base);
    check(target.certificate(certificate), &receiver.received);
}

#[test]
fn tel_06_the_spans_of_a_short_program_are_all_delivered() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp(target).start().unwrap();
    seen_by(&exporter, || (0..300).for_each(|_| small_run()));
    let report = exporter.finish(LONG);
    assert_eq!(
        (report.spans, report.dropped, report.error),
        (1200, 0, None)
    );
    assert_eq!(receiver.received.spans().len(), 1200);
}

#[test]
fn tel_08_spans_that_are_dropped_end_as_errors() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp(target).start().unwrap();
    seen_by(&exporter, || {
        for _ in 0..1000 {
            drop(run(Run { run: "r1" }).start());
        }
    });
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped), (1000, 0));
    let spans = receiver.received.spans();
    assert_eq!(spans.len(), 1000);
    for span in spans {
        let status = span.status.unwrap();
        assert_eq!(status.code, StatusCode::Error as i32);
        assert_eq!(status.message, "dropped before its end");
        assert_eq!(text(&span.attributes, "error.type"), r#""dropped""#);
    }
}

/// What would be there after a kill: what ended, at the latest a batch's delay later.
#[test]
fn spans_arrive_while_the_run_goes_on() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let batch = BatchOptions::default().delay(Duration::from_millis(50));
    let exporter = builder().otlp(target).batch(batch).start().unwrap();
    seen_by(&exporter, || {
        let run = run(Run { run: "r1" }).start();
        for name in ["one", "two"] {
            let tool = ExecuteTool {
                tool: name,
                call_id: "c1",
            };
            let tool = ai::execute_tool(tool).parent(run.span()).start();
            tool.end(ToolEnd { outcome: "done" });
            let arrived = receiver.received.wait_for(&format!("execute_tool {name}"));
            assert!(!arrived.parent_span_id.is_empty());
        }
        run.end(RunEnd {
            outcome: "finished",
            turns: 1,
        });
    });
    assert_eq!(exporter.finish(LONG).spans, 3);
}

#[test]
fn finish_works_inside_of_a_runtime() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporters: Vec<Exporter> = (0..2)
        .map(|_| builder().otlp(target.clone()).start().unwrap())
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        for exporter in &exporters {
            seen_by(exporter, small_run);
        }
        assert_eq!(exporters[0].finish(LONG).spans, 4);
        assert_eq!(exporters[1].finish_async(LONG).await.spans, 4);
        assert_eq!(exporters[1].finish_async(LONG).await.spans, 4);
    });
}

#[test]
fn an_exporter_that_is_dropped_blocks_nobody_and_loses_nothing() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp(target).start().unwrap();
    seen_by(&exporter, small_run);
    drop(exporter);
    receiver.received.wait_for("harness.run");
}

#[test]
fn a_program_that_records_nothing_sends_nothing() {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder()
        .otlp(target.clone())
        .otlp_metrics(target)
        .start()
        .unwrap();
    seen_by(&exporter, || ());
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped, report.error), (0, 0, None));
    assert!(receiver.received.requests().is_empty());
}
