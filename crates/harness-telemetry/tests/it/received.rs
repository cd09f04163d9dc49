//! What a collector got.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use harness_telemetry::Schemas;
use harness_telemetry::export::{Exporter, ExporterBuilder};
use harness_telemetry::test_support::Recording;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use tracing_subscriber::layer::SubscriberExt;

/// Longer than any machine needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a collector got. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Received(Arc<(Mutex<Inner>, Condvar)>);

#[derive(Default)]
struct Inner {
    spans: Vec<Span>,
    resource: Vec<KeyValue>,
    metrics: Vec<Metric>,
    requests: Vec<String>,
    released: bool,
}

impl Received {
    pub(crate) fn add_request(&self, text: String) {
        self.0.0.lock().unwrap().requests.push(text);
        self.0.1.notify_all();
    }

    pub(crate) fn add_spans(&self, request: ExportTraceServiceRequest) {
        let mut inner = self.0.0.lock().unwrap();
        for resource in request.resource_spans {
            inner.resource = resource.resource.unwrap().attributes;
            for scope in resource.scope_spans {
                assert_eq!(scope.scope.unwrap().name, "harness-telemetry");
                inner.spans.extend(scope.spans);
            }
        }
        self.0.1.notify_all();
    }

    pub(crate) fn add_metrics(&self, request: ExportMetricsServiceRequest) {
        let mut inner = self.0.0.lock().unwrap();
        let scopes = request.resource_metrics.into_iter();
        let scopes = scopes.flat_map(|resource| resource.scope_metrics);
        inner.metrics.extend(scopes.flat_map(|scope| scope.metrics));
        self.0.1.notify_all();
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.0.0.lock().unwrap().spans.clone()
    }

    pub(crate) fn resource(&self) -> Vec<KeyValue> {
        self.0.0.lock().unwrap().resource.clone()
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        self.0.0.lock().unwrap().metrics.clone()
    }

    /// The heads of the requests, one text each.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.0.lock().unwrap().requests.clone()
    }

    /// The span of this name, as soon as it is there.
    pub(crate) fn wait_for(&self, name: &str) -> Span {
        self.wait(|inner| inner.spans.iter().find(|span| span.name == name).cloned())
    }

    /// Lets a collector go on that waits for it.
    pub(crate) fn release(&self) {
        self.0.0.lock().unwrap().released = true;
        self.0.1.notify_all();
    }

    pub(crate) fn wait_for_release(&self) {
        self.wait(|inner| inner.released.then_some(()));
    }

    pub(crate) fn wait_for_requests(&self, count: usize) {
        self.wait(|inner| (inner.requests.len() >= count).then_some(()));
    }

    fn wait<T>(&self, mut find: impl FnMut(&Inner) -> Option<T>) -> T {
        let inner = self.0.0.lock().unwrap();
        let mut found = None;
        let waited = self.0.1.wait_timeout_while(inner, PATIENCE, |inner| {
            found = find(inner);
            found.is_none()
        });
        drop(waited.unwrap());
        found.expect("it did not arrive")
    }
}

/// An exporter's settings for tests: the schemas of the house, a name.
pub(crate) fn builder() -> ExporterBuilder {
    Exporter::builder(Schemas::built_in()).service("test", "1.2.3")
}

/// Runs this while the exporter sees the thread's spans.
pub(crate) fn seen_by<T>(exporter: &Exporter, work: impl FnOnce() -> T) -> T {
    // So that threads without a subscriber do not decide for this one.
    drop(Recording::new(&Schemas::built_in()).subscriber());
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    tracing::subscriber::with_default(subscriber, work)
}

/// An attribute as text: `"a"`, `1`, `["a", "b"]`; empty if it is not there.
pub(crate) fn text(attributes: &[KeyValue], key: &str) -> String {
    let mut all = attributes.iter().filter(|attribute| attribute.key == key);
    let found = all.next().and_then(|attribute| attribute.value.as_ref());
    assert!(all.next().is_none(), "`{key}` is there twice");
    found.map_or(String::new(), value_text)
}

fn value_text(value: &AnyValue) -> String {
    match value.value.as_ref().unwrap() {
        Value::StringValue(text) => format!("{text:?}"),
        Value::IntValue(number) => number.to_string(),
        Value::DoubleValue(number) => format!("{number:?}"),
        Value::BoolValue(is) => is.to_string(),
        Value::ArrayValue(list) => {
            let texts: Vec<String> = list.values.iter().map(value_text).collect();
            format!("[{}]", texts.join(", "))
        }
        other => panic!("a value of an unexpected type: {other:?}"),
    }
}

/// The keys of attributes, in alphabetical order.
pub(crate) fn keys(attributes: &[KeyValue]) -> Vec<&str> {
    let mut keys: Vec<&str> = attributes.iter().map(|a| a.key.as_str()).collect();
    keys.sort_unstable();
    keys
}
