//! Traces that go on elsewhere.

use std::time::Duration;

use harness_telemetry::export::{
    Exporter, OtlpTarget, Protocol, Sampling, continue_trace, trace_context, within_trace,
};
use harness_telemetry::harness::{Init, InitEnd, Run, init, run};
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::received::{builder, seen_by};
use crate::receiver_http::{Behaviour, HttpReceiver};

const LONG: Duration = Duration::from_mins(1);

const ABOVE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn exporter(sampling: Sampling) -> (HttpReceiver, Exporter) {
    let receiver = HttpReceiver::start(Behaviour::Accept);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp(target).sample(sampling).start().unwrap();
    (receiver, exporter)
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[test]
fn a_trace_goes_on_where_it_came_from() {
    let (receiver, exporter) = exporter(Sampling::default());
    let (parent, state) = seen_by(&exporter, || {
        let run = run(Run { run: "r1" }).start();
        assert!(!continue_trace(run.span(), "00-nothing", None));
        assert!(continue_trace(run.span(), ABOVE, Some("a=1,b=2")));
        let init = init(Init { version: "1" }).parent(run.span()).start();
        let place = trace_context(init.span()).unwrap();
        assert!(!continue_trace(run.span(), ABOVE, None), "it has a child");
        init.end(InitEnd {
            tools: 0,
            skills: 0,
            middlewares: 0,
        });
        place
    });
    exporter.finish(LONG);
    let init = receiver.received.wait_for("harness.init");
    let run = receiver.received.wait_for("harness.run");
    let place = |span: &Span| format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id));
    assert_eq!(parent, place(&init));
    assert_eq!(state.as_deref(), Some("a=1,b=2"));
    assert_eq!(init.parent_span_id, run.span_id);
    assert_eq!(hex(&run.parent_span_id), &ABOVE[36..52]);
    assert_eq!(hex(&run.trace_id), &ABOVE[3..35]);
    assert_eq!(run.trace_state, "a=1,b=2");
}

/// What has no parent of its own gets that one; what has one keeps it.
#[test]
fn all_that_a_future_does_goes_on_from_elsewhere() {
    for (above, goes_on) in [(ABOVE, true), ("00-nothing", false)] {
        let (receiver, exporter) = exporter(Sampling::default());
        seen_by(&exporter, || {
            let work = within_trace(above, None, async {
                let run = run(Run { run: "r1" }).start();
                tokio::task::yield_now().await;
                run.span()
                    .in_scope(|| drop(init(Init { version: "1" }).start()));
            });
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.build().unwrap().block_on(work);
        });
        exporter.finish(LONG);
        let init = receiver.received.wait_for("harness.init");
        let run = receiver.received.wait_for("harness.run");
        assert_eq!(init.parent_span_id, run.span_id);
        assert_eq!(hex(&run.parent_span_id) == ABOVE[36..52], goes_on);
        assert_eq!(hex(&run.trace_id) == ABOVE[3..35], goes_on);
    }
}

#[test]
fn what_is_decided_elsewhere_holds() {
    let (receiver, exporter) = exporter(Sampling::ParentAlwaysOn);
    seen_by(&exporter, || {
        let run = run(Run { run: "r1" }).start();
        let not_sampled = format!("{}00", &ABOVE[..ABOVE.len() - 2]);
        assert!(continue_trace(run.span(), &not_sampled, Some("no state")));
        assert_eq!(trace_context(run.span()), None);
    });
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped), (0, 0));
    assert!(receiver.received.requests().is_empty());
}

#[test]
fn a_span_that_nobody_exports_has_no_place() {
    let (_receiver, exporter) = exporter(Sampling::AlwaysOn);
    seen_by(&exporter, || {
        let other = tracing::info_span!("another");
        assert_eq!(trace_context(&other), None);
        assert!(!continue_trace(&other, ABOVE, None));
    });
    let run = run(Run { run: "r1" }).start();
    assert_eq!(trace_context(run.span()), None);
    assert!(!continue_trace(run.span(), ABOVE, None));
}
