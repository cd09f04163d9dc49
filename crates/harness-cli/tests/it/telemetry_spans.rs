//! Telemetry: which spans a run leaves, whose children they are, and which traces they go on from.

use serde_json::json;

use crate::collector::{Collector, Span, only, recorded, tree};
use crate::program::{Bed, Start};
use crate::server::{Answer, Server};
use crate::telemetry::play;
use crate::wire::{Reply, Wire};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn parent() -> String {
    format!("00-{TRACE}-{PARENT}-01")
}

/// A run against a service of models, which sends its spans to a collector.
fn ask(bed: &Bed, server: &Server, collector: &Collector, more: &[&str]) -> Start {
    let url = server.url();
    let arguments = [&["-m", "x/y", "--base-url", &url], more].concat();
    recorded(bed.run(&arguments), &collector.url())
}

fn bash(id: &str, command: &str) -> Answer {
    Answer::reply(
        Wire::Chat,
        &Reply::calls(id, "bash", &json!({ "command": command })),
    )
}

/// TEL-06: a run that is over in no time leaves all its spans.
#[test]
fn tel_06_all_spans_of_a_short_run_arrive() {
    let busy = Answer::Status(503, "retry-after: 1\r\n".into(), String::new());
    let server = Server::start([
        busy,
        bash("c1", "echo one"),
        Answer::reply(
            Wire::Chat,
            &Reply::calls("c2", "ls", &json!({})).and_calls("c3", "nope", &json!({})),
        ),
        Answer::says("Done."),
    ]);
    let (bed, collector) = (Bed::new(), Collector::accepting());
    let ended = ask(&bed, &server, &collector, &["hi"]).end().exits(0);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    let spans = collector.spans();
    insta::assert_snapshot!(tree(&spans));
    let mut failed: Vec<&str> = spans
        .iter()
        .filter(|span| span.0["status"]["code"] == 2)
        .map(Span::name)
        .collect();
    failed.sort_unstable();
    assert_eq!(failed, ["chat y", "harness.attempt", "harness.tool_call"]);
    let run = only(&spans, "harness.run");
    assert_eq!(run.attribute("harness.run.outcome"), Some("finished"));
    let retry = only(&spans, "harness.retry");
    assert_eq!(retry.attribute("harness.retry.reason"), Some("unavailable"));
}

/// TEL-06: however short, and however many.
#[test]
fn tel_06_each_of_many_short_runs_leaves_its_spans() {
    let collector = Collector::accepting();
    let bed = Bed::new();
    for round in 1..=5 {
        let start = recorded(play(&bed, &["--no-session"]), &collector.url());
        assert_eq!(start.end().exits(0).stderr, "");
        let spans = collector.spans();
        let runs = spans.iter().filter(|span| span.name() == "harness.run");
        assert_eq!(runs.count(), round);
        let told = only(&spans[..spans.len() / round], "harness.run.started");
        let all = spans.iter().filter(|span| span.trace() == told.trace());
        assert_eq!(all.count() * round, spans.len(), "{}", tree(&spans));
    }
}

/// Without telemetry nothing is told, whatever the environment says of propagation.
#[test]
fn services_and_commands_are_told_where_they_are_when_that_is_wanted() {
    let show = "echo [$TRACEPARENT] [$TRACESTATE]";
    for (propagators, recording, told) in [
        ("tracecontext", true, true),
        ("baggage, tracecontext", true, true),
        ("", true, false),
        ("none", true, false),
        ("tracecontext", false, false),
    ] {
        let server = Server::start([bash("c1", show), Answer::says("Done.")]);
        let (bed, collector) = (Bed::new(), Collector::accepting());
        let mut start = ask(&bed, &server, &collector, &["hi"]);
        if !recording {
            start = start.without_env("OTEL_EXPORTER_OTLP_ENDPOINT");
        }
        let ended = start.env("OTEL_PROPAGATORS", propagators).end().exits(0);
        assert_eq!(ended.stderr, "");
        let spans = collector.spans();
        assert_eq!(spans.is_empty(), !recording);
        let requests = server.requests();
        let results = Wire::Chat.results(&requests[1].body);
        let shown = results[0].1.lines().next().unwrap();
        if !told {
            assert_eq!(shown, "[] []", "{propagators:?}");
            for request in &requests {
                assert_eq!(request.header("traceparent"), None, "{propagators:?}");
                assert_eq!(request.header("tracestate"), None, "{propagators:?}");
            }
            continue;
        }
        let place = |span: &Span| format!("00-{}-{}-01", span.trace(), span.id());
        assert_eq!(
            shown,
            format!("[{}] []", place(only(&spans, "execute_tool bash")))
        );
        let mut chats: Vec<String> = spans
            .iter()
            .filter(|span| span.name() == "chat y")
            .map(place)
            .collect();
        let mut headers: Vec<&str> = requests
            .iter()
            .map(|request| request.header("traceparent").unwrap())
            .collect();
        chats.sort_unstable();
        headers.sort_unstable();
        assert_eq!(headers, chats);
    }
}

/// A run goes on from the place in a trace that its caller was told, and tells its own.
#[test]
fn a_run_goes_on_from_the_trace_of_the_environment() {
    let server = Server::start([
        bash("c1", "echo [$TRACEPARENT] [$TRACESTATE]"),
        Answer::says("Done."),
    ]);
    let (bed, collector) = (Bed::new(), Collector::accepting());
    let ended = ask(&bed, &server, &collector, &["hi"])
        .env("OTEL_PROPAGATORS", "tracecontext")
        .env("TRACEPARENT", parent())
        .env("TRACESTATE", "vendor=1,other=two")
        .end()
        .exits(0);
    assert_eq!(ended.stderr, "");
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace() == TRACE), "{spans:#?}");
    let command = only(&spans, "harness.command run");
    assert_eq!(command.parent(), PARENT);
    for request in server.requests() {
        assert_eq!(request.header("tracestate"), Some("vendor=1,other=two"));
        let told = request.header("traceparent").unwrap();
        assert!(told.starts_with(&format!("00-{TRACE}-")), "{told}");
    }
    let results = Wire::Chat.results(&server.requests()[1].body);
    let tool = only(&spans, "execute_tool bash").id();
    let shown = format!("[00-{TRACE}-{tool}-01] [vendor=1,other=two]");
    assert!(results[0].1.starts_with(&shown), "{results:?}");
}

/// Where the caller's trace is not recorded, the run's is not; where it is no place, it is not looked at.
#[test]
fn a_trace_of_the_environment_that_is_none_is_ignored() {
    let unsampled = format!("00-{TRACE}-{PARENT}-00");
    let upper = parent().to_uppercase();
    for (value, goes_on, recorded_at_all) in [
        (parent().as_str(), true, true),
        (unsampled.as_str(), true, false),
        ("", false, true),
        ("foo", false, true),
        (&upper, false, true),
        (&format!("{}-x", parent()), false, true),
        (&format!("00-{TRACE}-0000000000000000-01"), false, true),
        (&format!("00-{}-{PARENT}-01", "0".repeat(32)), false, true),
        (&format!("ff-{TRACE}-{PARENT}-01"), false, true),
    ] {
        let (bed, collector) = (Bed::new(), Collector::accepting());
        let start = recorded(play(&bed, &[]), &collector.url()).env("TRACEPARENT", value);
        let ended = start.end().exits(0);
        assert_eq!(ended.stderr, "", "{value}");
        let spans = collector.spans();
        assert_eq!(spans.is_empty(), !recorded_at_all, "{value}");
        if let Some(run) = spans
            .iter()
            .find(|span| span.name() == "harness.command run")
        {
            let expected = if goes_on { PARENT } else { "" };
            assert_eq!(run.parent(), expected, "{value}");
            assert_eq!(run.trace() == TRACE, goes_on, "{value}");
        }
    }
}

/// What is kept of a conversation is a part of its run, in the first run as in the one that goes on.
#[test]
fn writes_of_sessions_are_below_the_run_that_makes_them() {
    let server = Server::start([
        bash("c1", "echo one"),
        Answer::says("One."),
        Answer::says("Two."),
    ]);
    let bed = Bed::new();
    let mut conversations = Vec::new();
    for (name, more) in [
        ("first", &["hi"][..]),
        ("continue", &["--continue", "more"]),
    ] {
        let collector = Collector::accepting();
        let ended = ask(&bed, &server, &collector, more).end().exits(0);
        assert_eq!(ended.stderr, "");
        let spans = collector.spans();
        insta::assert_snapshot!(name, tree(&spans));
        let of = |name: &str| {
            let id = only(&spans, name).attribute("gen_ai.conversation.id");
            id.unwrap().to_owned()
        };
        assert_eq!(of("harness.run"), of("invoke_agent harness"));
        conversations.push(of("harness.run"));
    }
    assert_eq!(conversations[0], conversations[1]);
}
