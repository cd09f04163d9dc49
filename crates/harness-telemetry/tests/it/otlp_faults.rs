//! Collectors that are down, slow, refusing or endless. A run notices none of it.

use std::time::{Duration, Instant};

use harness_telemetry::export::{BatchOptions, ExportReport, OtlpTarget, Protocol};
use harness_telemetry::harness::{Run, run};
use tonic::Code;

use crate::received::{builder, seen_by};
use crate::receiver_grpc::GrpcReceiver;
use crate::receiver_http::{Behaviour, HttpReceiver};

/// What a program gives at its end.
const ASKED: Duration = Duration::from_millis(500);

/// What a loaded machine may need for it.
const BOUND: Duration = Duration::from_secs(3);

const LONG: Duration = Duration::from_mins(1);

fn record(count: usize) {
    for _ in 0..count {
        drop(run(Run { run: "r1" }).start());
    }
}

/// Ten spans with this target: neither recording them nor the end takes long, and all are reported lost.
fn check_lost(target: OtlpTarget) -> String {
    let exporter = builder().otlp(target).start().unwrap();
    let began = Instant::now();
    seen_by(&exporter, || record(10));
    let report = exporter.finish(ASKED);
    let took = began.elapsed();
    assert!(took < BOUND, "{took:?}");
    assert_eq!((report.spans, report.dropped), (0, 10));
    let error = report.error.clone().unwrap();
    assert!(!error.contains('\n'), "{error}");
    assert_eq!(exporter.finish(LONG), report);
    error
}

fn check_behaviour(behaviour: Behaviour, error: &str) {
    let receiver = HttpReceiver::start(behaviour);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let expected = format!("the collector at {}{error}", receiver.base());
    assert_eq!(check_lost(target), expected, "{behaviour:?}");
}

#[test]
fn tel_01_a_collector_that_cannot_be_reached_does_not_hold_the_exit() {
    let closed = "http://127.0.0.1:1";
    for protocol in [Protocol::HttpProtobuf, Protocol::HttpJson, Protocol::Grpc] {
        let error = check_lost(OtlpTarget::for_traces(protocol, closed));
        let expected = format!("the collector at {closed}: Connection refused");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn tel_03_attempts_do_not_outlast_the_end() {
    check_behaviour(
        Behaviour::Status(503),
        ": HTTP status 503 Service Unavailable",
    );
    let receiver = GrpcReceiver::start(Some(Code::Unavailable));
    let error = check_lost(OtlpTarget::for_traces(Protocol::Grpc, &receiver.base()));
    let expected = format!(
        "the collector at {}: gRPC status Unavailable",
        receiver.base()
    );
    assert_eq!(error, expected);
}

#[test]
fn tel_04_one_slow_attempt_does_not_outlast_the_end() {
    let late = " did not take everything in time";
    check_behaviour(Behaviour::Hang, late);
    check_behaviour(Behaviour::Drip, late);
    // One that accepts connections and speaks no gRPC.
    let receiver = HttpReceiver::start(Behaviour::Hang);
    check_lost(OtlpTarget::for_traces(Protocol::Grpc, &receiver.base()));
}

#[test]
fn a_collector_that_refuses_is_not_asked_again() {
    for (status, text) in [
        (500, "500 Internal Server Error"),
        (400, "400 Bad Request"),
        (401, "401 Unauthorized"),
        (403, "403 Forbidden"),
        (307, "307 Temporary Redirect"),
    ] {
        let receiver = HttpReceiver::start(Behaviour::Status(status));
        let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
        let exporter = builder().otlp(target).start().unwrap();
        seen_by(&exporter, || record(3));
        let report = exporter.finish(LONG);
        assert_eq!((report.spans, report.dropped), (0, 3));
        let expected = format!("the collector at {}: HTTP status {text}", receiver.base());
        assert_eq!(report.error, Some(expected));
        assert_eq!(receiver.received.requests().len(), 1, "{status}");
    }
    let receiver = GrpcReceiver::start(Some(Code::Unauthenticated));
    check_lost(OtlpTarget::for_traces(Protocol::Grpc, &receiver.base()));
    assert_eq!(receiver.received.requests().len(), 1);
}

#[test]
fn an_answer_without_an_end_is_not_read_to_its_end() {
    check_behaviour(Behaviour::Endless, ": answers without an end");
}

#[test]
fn a_collector_that_is_busy_for_a_moment_gets_everything() {
    for status in [429, 502, 503, 504] {
        let receiver = HttpReceiver::start(Behaviour::StatusFirst(status, 2));
        let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
        let batch = BatchOptions::default().delay(Duration::ZERO);
        let exporter = builder().otlp(target).batch(batch).start().unwrap();
        seen_by(&exporter, || record(1));
        let report = exporter.finish(LONG);
        assert_eq!((report.spans, report.dropped, report.error), (1, 0, None));
        assert_eq!(receiver.received.requests().len(), 3);
    }
}

#[test]
fn a_collector_that_stays_busy_is_asked_a_few_times() {
    let receiver = HttpReceiver::start(Behaviour::Status(503));
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp(target).start().unwrap();
    seen_by(&exporter, || record(1));
    assert_eq!(exporter.finish(LONG).dropped, 1);
    assert_eq!(receiver.received.requests().len(), 4);
}

#[test]
fn spans_that_a_collector_refuses_count_as_dropped() {
    let receiver = HttpReceiver::start(Behaviour::Refuse(2));
    for protocol in [Protocol::HttpProtobuf, Protocol::HttpJson] {
        let target = OtlpTarget::for_traces(protocol, &receiver.base());
        let exporter = builder().otlp(target).start().unwrap();
        seen_by(&exporter, || record(5));
        let ExportReport {
            spans,
            dropped,
            error,
            ..
        } = exporter.finish(LONG);
        assert_eq!((spans, dropped), (3, 2));
        let expected = format!("the collector at {}: refused 2 values", receiver.base());
        assert_eq!(error, Some(expected));
    }
}

#[test]
fn a_full_queue_drops_and_counts() {
    let receiver = HttpReceiver::start(Behaviour::Wait);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let batch = BatchOptions::default()
        .queue(8)
        .batch(4)
        .delay(Duration::ZERO);
    let exporter = builder()
        .otlp(target.timeout(LONG))
        .batch(batch)
        .start()
        .unwrap();
    seen_by(&exporter, || {
        record(1);
        receiver.received.wait_for_requests(1);
        record(999);
    });
    receiver.received.release();
    let report = exporter.finish(LONG);
    assert_eq!(report.spans + report.dropped, 1000);
    assert_eq!(report.spans, receiver.received.spans().len() as u64);
    // One under way, two queues of 8, a batch of 4 between them.
    assert!((9..=21).contains(&report.spans), "{report:?}");
}

#[test]
fn a_batch_that_gets_no_answer_makes_room_for_the_next() {
    let receiver = HttpReceiver::start(Behaviour::Hang);
    let target = OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base());
    let batch = BatchOptions::default().delay(Duration::ZERO);
    let target = target.timeout(Duration::from_millis(50));
    let exporter = builder().otlp(target).batch(batch).start().unwrap();
    seen_by(&exporter, || {
        for count in 1..=3 {
            record(1);
            receiver.received.wait_for_requests(count);
        }
    });
    let error = exporter.finish(LONG).error.unwrap();
    assert!(error.ends_with(": did not answer within 50ms"), "{error}");
}
