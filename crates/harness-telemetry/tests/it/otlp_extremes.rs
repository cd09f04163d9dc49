//! Settings and answers that are as large as they can be, and subscribers with more than one layer.

use std::time::Duration;

use harness_telemetry::export::{BatchOptions, OtlpTarget, Protocol};
use harness_telemetry::harness::{Run, RunEnd, run};
use tracing_subscriber::layer::SubscriberExt;

use crate::received::{builder, seen_by};
use crate::receiver_http::{Behaviour, HttpReceiver};

const LONG: Duration = Duration::from_mins(1);

fn record(count: usize) {
    for _ in 0..count {
        let outcome = "finished";
        run(Run { run: "r1" })
            .start()
            .end(RunEnd { outcome, turns: 1 });
    }
}

fn target(receiver: &HttpReceiver) -> OtlpTarget {
    OtlpTarget::for_traces(Protocol::HttpProtobuf, &receiver.base())
}

#[test]
fn a_collector_that_wants_to_be_left_alone_for_ever_is_told_as_any_other() {
    for seconds in [u64::MAX, u64::MAX / 2, i64::MAX as u64, 3_600] {
        let receiver = HttpReceiver::start(Behaviour::Busy(seconds));
        let exporter = builder().otlp(target(&receiver)).start().unwrap();
        seen_by(&exporter, || record(3));
        let report = exporter.finish(LONG);
        assert_eq!((report.spans, report.dropped), (0, 3), "{seconds}");
        let error = report.error.unwrap();
        assert!(error.contains("HTTP status 503"), "{seconds}: {error}");
    }
}

#[test]
fn the_largest_settings_are_settings() {
    let all = [
        BatchOptions::default().queue(usize::MAX),
        BatchOptions::default().batch(usize::MAX),
        BatchOptions::default().delay(Duration::MAX),
        BatchOptions::default()
            .queue(0)
            .batch(0)
            .delay(Duration::ZERO),
    ];
    for batch in all {
        let receiver = HttpReceiver::start(Behaviour::Accept);
        let target = target(&receiver).timeout(Duration::MAX);
        let exporter = builder().otlp(target).batch(batch).start().unwrap();
        seen_by(&exporter, || record(1));
        let report = exporter.finish(LONG);
        assert_eq!(
            (report.spans, report.dropped),
            (1, 0),
            "{batch:?} {report:?}"
        );
    }
}

#[test]
fn of_two_exporters_in_one_subscriber_the_first_gets_the_spans_and_nothing_fails() {
    let receivers = [Behaviour::Accept, Behaviour::Accept].map(HttpReceiver::start);
    let [one, other] = receivers
        .each_ref()
        .map(|receiver| builder().otlp(target(receiver)).start().unwrap());
    let subscriber = tracing_subscriber::registry()
        .with(one.layer())
        .with(other.layer());
    tracing::subscriber::with_default(subscriber, || record(1));
    assert_eq!(one.finish(LONG).spans, 1);
    let report = other.finish(LONG);
    assert_eq!((report.spans, report.dropped), (0, 0));
    let error = report.error.unwrap();
    assert!(error.contains("another exporter"), "{error}");
}
