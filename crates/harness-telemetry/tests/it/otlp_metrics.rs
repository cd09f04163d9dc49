//! Metrics that arrive.

use std::time::Duration;

use harness_telemetry::ai::{InputTokens, OperationDuration};
use harness_telemetry::export::{OtlpTarget, Protocol};
use harness_telemetry::{
    AttributeValue, Instrument, MetricSchema, MetricSink, MetricValue, NoMetrics,
};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point;

use crate::received::{Received, builder, keys, text};
use crate::receiver_grpc::GrpcReceiver;
use crate::receiver_http::{Behaviour, HttpReceiver};

const LONG: Duration = Duration::from_mins(1);

static OTHER: MetricSchema = MetricSchema {
    name: "other",
    description: "Is not registered.",
    unit: "1",
    instrument: Instrument::Counter,
    buckets: &[],
    attributes: &[],
};

fn record(sink: &dyn MetricSink) {
    for (value, error) in [(0.015, None), (3.0, None), (500.0, Some("timeout"))] {
        let attributes = OperationDuration {
            operation: "chat",
            provider: "demo",
            model: "m1",
            error,
        };
        attributes.record(sink, value);
    }
    for value in [10.0, 32.0, -1.0, f64::NAN] {
        let attributes = InputTokens {
            provider: "demo",
            model: "m1",
        };
        attributes.record(sink, value);
    }
    sink.record(&OTHER, 1.0, &[]);
    assert_eq!("a".metric(), Some(MetricValue::Text("a")));
}

fn check(target: OtlpTarget, received: &Received) {
    let exporter = builder().otlp_metrics(target).start().unwrap();
    record(&*exporter.metrics());
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped, report.error), (0, 0, None));
    let mut metrics = received.metrics();
    metrics.sort_by(|one, other| one.name.cmp(&other.name));
    let [tokens, duration] = &metrics[..] else {
        panic!("{metrics:?}");
    };
    assert_eq!(tokens.name, "gen_ai.client.inference.usage.input_tokens");
    assert_eq!(tokens.unit, "{token}");
    let Some(Data::Sum(sum)) = &tokens.data else {
        panic!("{tokens:?}");
    };
    assert!(sum.is_monotonic);
    assert_eq!(sum.data_points.len(), 1);
    let point = &sum.data_points[0];
    assert_eq!(point.value, Some(number_data_point::Value::AsDouble(42.0)));
    assert_eq!(text(&point.attributes, "gen_ai.provider.name"), r#""demo""#);

    assert_eq!(duration.name, "gen_ai.client.operation.duration");
    assert_eq!(duration.unit, "s");
    assert_eq!(duration.description, "How long requests to models take.");
    let Some(Data::Histogram(histogram)) = &duration.data else {
        panic!("{duration:?}");
    };
    assert_eq!(histogram.data_points.len(), 2);
    let good = |attributes: &[_]| text(attributes, "error.type").is_empty();
    for point in &histogram.data_points {
        assert_eq!(point.explicit_bounds.len(), 14);
        assert_eq!(point.bucket_counts.len(), 15);
        if good(&point.attributes) {
            assert_eq!((point.count, point.sum), (2, Some(3.015)));
            assert_eq!(point.bucket_counts[1], 1);
            assert_eq!(point.bucket_counts[9], 1);
        } else {
            assert_eq!(keys(&point.attributes).len(), 4);
            assert_eq!(point.bucket_counts[14], 1);
        }
    }
}

#[test]
fn metrics_arrive_over_http() {
    for protocol in [Protocol::HttpProtobuf, Protocol::HttpJson] {
        let receiver = HttpReceiver::start(Behaviour::Accept);
        let target = OtlpTarget::for_metrics(protocol, &receiver.base());
        check(target, &receiver.received);
    }
}

#[test]
fn metrics_arrive_over_grpc() {
    let receiver = GrpcReceiver::start_metrics();
    let target = OtlpTarget::for_metrics(Protocol::Grpc, &receiver.base());
    check(target, &receiver.received);
}

#[test]
fn metrics_that_are_lost_are_told() {
    let receiver = HttpReceiver::start(Behaviour::Status(401));
    let target = OtlpTarget::for_metrics(Protocol::HttpProtobuf, &receiver.base());
    let exporter = builder().otlp_metrics(target).start().unwrap();
    record(&*exporter.metrics());
    let report = exporter.finish(LONG);
    assert_eq!(report.dropped, 0);
    let error = report.error.unwrap();
    assert!(error.ends_with("HTTP status 401 Unauthorized"), "{error}");
}

#[test]
fn without_a_collector_nobody_counts() {
    let exporter = builder().start().unwrap();
    record(&*exporter.metrics());
    record(&NoMetrics);
    let report = exporter.finish(LONG);
    assert_eq!((report.spans, report.dropped, report.error), (0, 0, None));
}
