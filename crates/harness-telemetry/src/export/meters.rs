//! Metrics.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{
    InstrumentKind, ManualReader, Pipeline, SdkMeterProvider, Temporality,
};

use super::queue::Queue;
use crate::metrics::{MetricSink, MetricValue};
use crate::schema::{Instrument, MetricSchema};
use crate::schemas::Schemas;

/// Takes the values of metrics, and makes an instrument of each when its first value comes.
#[derive(Debug)]
pub(super) struct Meters {
    schemas: Schemas,
    meter: Meter,
    instruments: RwLock<HashMap<&'static str, Made>>,
    queue: Arc<Queue>,
    /// The reader holds on to it only weakly.
    _provider: SdkMeterProvider,
}

#[derive(Clone, Debug)]
enum Made {
    Counter(Counter<f64>),
    Histogram(Histogram<f64>),
}

impl Meters {
    pub(super) fn new(
        schemas: Schemas,
        resource: Resource,
        reader: Reader,
        queue: Arc<Queue>,
    ) -> Self {
        let provider = SdkMeterProvider::builder()
            .with_resource(resource)
            .with_reader(reader)
            .build();
        let scope = InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Self {
            schemas,
            meter: provider.meter_with_scope(scope),
            instruments: RwLock::default(),
            queue,
            _provider: provider,
        }
    }

    fn instrument(&self, metric: &'static MetricSchema) -> Made {
        let known = self.instruments.read();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = known.get(metric.name) {
            return made.clone();
        }
        drop(known);
        let made = match metric.instrument {
            Instrument::Counter => Made::Counter(
                self.meter
                    .f64_counter(metric.name)
                    .with_description(metric.description.trim())
                    .with_unit(metric.unit)
                    .build(),
            ),
            Instrument::Histogram => Made::Histogram(
                self.meter
                    .f64_histogram(metric.name)
                    .with_description(metric.description.trim())
                    .with_unit(metric.unit)
                    .with_boundaries(metric.buckets.to_vec())
                    .build(),
            ),
        };
        let mut all = self.instruments.write();
        let all = all
            .as_mut()
            .map_or_else(|poisoned| &mut **poisoned.get_mut(), |all| &mut **all);
        all.entry(metric.name).or_insert(made).clone()
    }
}

impl MetricSink for Meters {
    fn record(
        &self,
        metric: &'static MetricSchema,
        value: f64,
        attributes: &[(&'static str, MetricValue<'_>)],
    ) {
        let sums = metric.instrument == Instrument::Counter;
        if self.schemas.metric(metric.name) != Some(metric)
            || !value.is_finite()
            || (sums && value < 0.0)
        {
            return;
        }
        let declared = |key| {
            metric
                .attributes
                .iter()
                .any(|attribute| attribute.key == key)
        };
        let attributes: Vec<KeyValue> = attributes
            .iter()
            .filter(|(key, _)| declared(*key))
            .map(|(key, value)| KeyValue::new(*key, exported(*value)))
            .collect();
        match self.instrument(metric) {
            Made::Counter(counter) => counter.add(value, &attributes),
            Made::Histogram(histogram) => histogram.record(value, &attributes),
        }
        self.queue.wake();
    }
}

fn exported(value: MetricValue<'_>) -> Value {
    match value {
        MetricValue::Text(text) => text.to_owned().into(),
        MetricValue::Int(number) => number.into(),
        MetricValue::Double(number) => number.into(),
        MetricValue::Bool(is) => is.into(),
    }
}

/// The reader, for the provider and for the exporter's thread, which collects when it wants to.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader(Arc<ManualReader>);

impl MetricReader for Reader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}
