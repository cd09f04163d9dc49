//! Calls and runs in unusual places: before the first turn, outside of runs, within runs of the same caller.

use std::sync::Arc;

use futures::executor::block_on;
use harness_core::test_support::{Reply, ScriptedModel};
use harness_core::{
    AssistantMessage, AssistantPart, Caller, CancellationToken, DynamicTool, Message, ModelId,
    RunInput, RunOptions, StopReason, ToolCall, ToolOutput, TraceContext, call_tool, run_with,
};
use harness_telemetry::Schemas;
use harness_telemetry::export::{OtlpTarget, Protocol, W3cPropagation};
use harness_telemetry::middleware::Telemetry;
use harness_telemetry::test_support::Recording;
use serde_json::json;

use crate::received::{builder, seen_by};
use crate::receiver_http::{Behaviour, HttpReceiver};
use crate::runs::{recorded, tool};

#[test]
fn calls_that_a_resumed_run_makes_before_its_first_turn_have_a_place() {
    let model = Arc::new(ScriptedModel::new([Reply::text("done")]));
    let config = recorded(&model, &Telemetry::new("a"))
        .tool(tool("slow"))
        .build()
        .unwrap();
    let call = AssistantPart::ToolCall(ToolCall {
        id: "c1".to_owned(),
        name: "slow".to_owned(),
        arguments: "{}".to_owned(),
    });
    let open = Message::Assistant(AssistantMessage {
        content: vec![call],
        model: ModelId::new("test", "before"),
        stop: StopReason::ToolCalls,
        usage: None,
        response_id: None,
    });
    let mut input = RunInput::default().with_history(vec![Message::user("go").into(), open.into()]);
    input.resume = true;
    let recording = Recording::new(&Schemas::built_in());
    tracing::subscriber::with_default(recording.subscriber(), || {
        block_on(async {
            let mut handle = run_with(&config, input, RunOptions::default());
            while handle.next().await.is_some() {}
            handle.outcome().await.unwrap();
        });
    });
    assert_eq!(recording.of("harness.tool_call").len(), 1);
    assert_eq!(recording.problems(), [""; 0]);
}

#[test]
fn a_call_outside_of_a_run_has_a_place() {
    let model = Arc::new(ScriptedModel::new([]));
    let config = recorded(&model, &Telemetry::new("a"))
        .tool(tool("slow"))
        .build()
        .unwrap();
    let recording = Recording::new(&Schemas::built_in());
    tracing::subscriber::with_default(recording.subscriber(), || {
        let token = CancellationToken::new();
        block_on(call_tool(&config, Caller::default(), "slow", "{}", token)).unwrap();
    });
    assert_eq!(recording.of("harness.tool_call").len(), 1);
    assert_eq!(recording.problems(), [""; 0]);
}

/// What the caller says of its place in a trace is said of its own run, not of those within that go by its name.
#[test]
fn a_run_within_a_run_of_the_same_caller_is_its_child() {
    let telemetry = Telemetry::new("a").propagate(Arc::new(W3cPropagation::new()));
    let inner = Arc::new(ScriptedModel::new([Reply::text("found")]));
    let inner = recorded(&inner, &telemetry).build().unwrap();
    let delegate = DynamicTool::new(
        "delegate",
        "Asks.",
        json!({"type": "object"}),
        move |cx, _| {
            let inner = inner.clone();
            let caller = Caller {
                attributes: cx.run().attributes().clone(),
                ..Caller::default()
            };
            Box::pin(async move {
                let options = RunOptions {
                    caller,
                    ..RunOptions::default()
                };
                let mut handle = run_with(&inner, RunInput::prompt("find"), options);
                while handle.next().await.is_some() {}
                handle.outcome().await.unwrap();
                Ok(ToolOutput::text("ok"))
            })
        },
    );
    let outer = Arc::new(ScriptedModel::new([
        Reply::call("c", "delegate", "{}"),
        Reply::text("done"),
    ]));
    let outer = recorded(&outer, &telemetry).tool(delegate).build().unwrap();
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp(target).start().unwrap();
    let above = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    seen_by(&exporter, || {
        let caller = Caller::default();
        caller
            .attributes
            .insert(TraceContext::new(above, None).unwrap());
        let options = RunOptions {
            caller,
            ..RunOptions::default()
        };
        block_on(async {
            let mut handle = run_with(&outer, RunInput::prompt("go"), options);
            while handle.next().await.is_some() {}
            handle.outcome().await.unwrap();
        });
    });
    exporter.finish(std::time::Duration::from_mins(1));
    let spans = receiver.received.spans();
    let tool = spans
        .iter()
        .find(|span| span.name == "execute_tool delegate")
        .unwrap();
    let runs: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "harness.run")
        .collect();
    assert_eq!(runs.len(), 2);
    assert!(spans.iter().all(|span| span.trace_id == tool.trace_id));
    assert!(
        runs.iter().any(|run| run.parent_span_id == tool.span_id),
        "{runs:?}"
    );
}

/// Ids are made up elsewhere. What has the look of a text is not recorded as one.
#[test]
fn what_stands_in_the_place_of_an_id_is_recorded_only_if_it_looks_like_one() {
    let long = "c".repeat(5_000);
    let ids = [
        ("call_0-a.b|c:d/e+f=", "call_0-a.b|c:d/e+f="),
        ("the user said canary", "invalid"),
        ("canary\n", "invalid"),
        ("größe", "invalid"),
        (&*long, &long[..128]),
    ];
    for (id, recorded_as) in ids {
        let model = Arc::new(ScriptedModel::new([
            Reply::call(id, "slow", "{}"),
            Reply::text("done"),
        ]));
        let config = recorded(&model, &Telemetry::new("a"))
            .tool(tool("slow"))
            .build()
            .unwrap();
        let recording = Recording::new(&Schemas::built_in());
        tracing::subscriber::with_default(recording.subscriber(), || {
            block_on(async {
                let mut handle = run_with(&config, RunInput::prompt("go"), RunOptions::default());
                while handle.next().await.is_some() {}
                handle.outcome().await.unwrap();
            });
        });
        for name in ["harness.tool_call", "gen_ai.execute_tool"] {
            let span = &recording.of(name)[0];
            assert_eq!(span.attributes["gen_ai.tool.call.id"], recorded_as);
        }
    }
}
