//! Credentials stay where they belong.

use std::time::Duration;

use harness_telemetry::export::{ExportError, OtlpTarget, Protocol};
use harness_telemetry::harness::{Run, run};
use tonic::Code;

use crate::received::{builder, seen_by};
use crate::receiver_grpc::GrpcReceiver;
use crate::receiver_http::{Behaviour, HttpReceiver};

const LONG: Duration = Duration::from_mins(1);

const CANARY: &str = "canary-7c9e";

/// The collector answers with everything that it was sent.
fn check(target: OtlpTarget) {
    let target = target.header("authorization", format!("Bearer {CANARY}"));
    let builder = builder().otlp(target.clone()).otlp_metrics(target.clone());
    let settings = format!("{target:?} {builder:?}");
    assert!(!settings.contains(CANARY), "{settings}");
    assert!(settings.contains("authorization"), "{settings}");
    let exporter = builder.start().unwrap();
    seen_by(&exporter, || drop(run(Run { run: "r1" }).start()));
    let report = exporter.finish(LONG);
    assert_eq!(report.dropped, 1);
    let texts = format!("{report:?} {exporter:?}");
    assert!(!texts.contains(CANARY), "{texts}");
}

#[test]
fn tel_09_credentials_for_the_collector_are_in_no_text() {
    for status in [401, 500, 307] {
        let receiver = HttpReceiver::start(Behaviour::Status(status));
        let address = receiver.address;
        let endpoint = format!("http://me:{CANARY}@{address}/{CANARY}?key={CANARY}");
        check(OtlpTarget::new(Protocol::HttpProtobuf, endpoint));
        let request = receiver.received.requests().remove(0);
        assert!(request.contains(CANARY), "{request}");
    }
    let receiver = GrpcReceiver::start(Some(Code::Unauthenticated));
    check(OtlpTarget::for_traces(Protocol::Grpc, &receiver.base()));
    let closed = format!("http://me:{CANARY}@127.0.0.1:1/");
    check(OtlpTarget::for_traces(Protocol::HttpJson, &closed));
}

#[test]
fn a_target_that_cannot_work_is_told_without_its_secrets() {
    let http = |endpoint: &str| OtlpTarget::new(Protocol::HttpProtobuf, endpoint);
    let good = || http("http://localhost/v1/traces");
    let cases = [
        (
            http(&format!("localhost:4318/{CANARY}")),
            "the collector's address must begin with `http://` or `https://`",
        ),
        (
            http(&format!("http://{CANARY}:x/")),
            "the collector's address has no valid host and port",
        ),
        (
            OtlpTarget::new(Protocol::Grpc, format!("http://me:{CANARY}@localhost")),
            "the collector's address has a user name, which gRPC cannot send: use a header",
        ),
        (
            good().header("two words", CANARY),
            r#"the header "two words" for the collector has no valid name"#,
        ),
        (
            good().header("x", format!("{CANARY}\n")),
            r#"the header "x" for the collector has no valid value"#,
        ),
        (
            good().certificate(CANARY),
            "the collector's certificate 1 holds no `BEGIN CERTIFICATE` block",
        ),
        (
            good().timeout(Duration::ZERO),
            "a collector needs more than no time to answer",
        ),
    ];
    for (target, expected) in cases {
        let error: ExportError = builder().otlp_metrics(target).start().unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains(CANARY));
    }
}
