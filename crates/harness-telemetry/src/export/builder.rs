//! The settings of an exporter.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanLimits};
use tokio::sync::{mpsc, watch};

use super::done::{Done, DoneGuard};
use super::gate::Gate;
use super::meters::{Meters, Reader};
use super::processor::Processor;
use super::queue::Queue;
use super::report::Tally;
use super::worker::Work;
use super::{BatchOptions, ExportError, Exporter, OtlpTarget, Sampling, SpanSink};
use crate::schemas::Schemas;

/// A run has one event for each turn, and may have more turns than the 128 events of the SDK's default.
const EVENTS_PER_SPAN: u32 = 1024;

/// The settings of an [`Exporter`]. Without a destination, nothing is exported.
#[must_use = "nothing is exported until `start`"]
pub struct ExporterBuilder {
    schemas: Schemas,
    resource: Vec<KeyValue>,
    content: bool,
    spans: Option<OtlpTarget>,
    metrics: Option<OtlpTarget>,
    batch: BatchOptions,
    sampling: Sampling,
    sinks: Vec<Box<dyn SpanSink>>,
}

impl ExporterBuilder {
    pub(super) fn new(schemas: Schemas) -> Self {
        Self {
            schemas,
            resource: vec![KeyValue::new("service.name", "unknown_service")],
            content: false,
            spans: None,
            metrics: None,
            batch: BatchOptions::default(),
            sampling: Sampling::default(),
            sinks: Vec::new(),
        }
    }

    /// Names the program: `service.name` and `service.version`.
    pub fn service(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.resource("service.name", name)
            .resource("service.version", version)
    }

    /// Says something about the program as a whole. The last value of a key counts.
    pub fn resource(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(KeyValue::new(key.into(), value.into()));
        self
    }

    /// Whether content (prompts, arguments, results) is exported, of those who record it. By default it is not.
    pub fn content(mut self, content: bool) -> Self {
        self.content = content;
        self
    }

    /// Sends spans to this collector.
    pub fn otlp(mut self, target: OtlpTarget) -> Self {
        self.spans = Some(target);
        self
    }

    /// Sends metrics to this collector: every 10 s, and at the end.
    pub fn otlp_metrics(mut self, target: OtlpTarget) -> Self {
        self.metrics = Some(target);
        self
    }

    /// Sets how many spans may wait, and how they are put together.
    pub fn batch(mut self, batch: BatchOptions) -> Self {
        self.batch = batch;
        self
    }

    /// Sets which traces are exported.
    pub fn sample(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Adds a destination in this process.
    pub fn sink(mut self, sink: Box<dyn SpanSink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Makes the exporter. No file is read, no thread started and nothing sent before there is something to
    /// export.
    pub fn start(self) -> Result<Exporter, ExportError> {
        for target in [&self.spans, &self.metrics].into_iter().flatten() {
            target.check()?;
        }
        let sampler = self.sampling.sampler()?;
        let resource = Resource::builder_empty()
            .with_detector(Box::new(TelemetryResourceDetector))
            .with_attributes(self.resource)
            .build();
        let batch = self.batch.within_bounds();

        let tally = Arc::new(Tally::default());
        let has_collector = self.spans.is_some();
        tally.has_collector.store(has_collector, Ordering::Relaxed);
        let has_sinks = !self.sinks.is_empty();
        tally.has_sinks.store(has_sinks, Ordering::Relaxed);
        let done = Done::new();
        let (sender, receiver) = mpsc::channel(batch.queue);
        let (finish, finishing) = watch::channel(None);
        let reader = self.metrics.is_some().then(Reader::default);
        let work = Work {
            receiver,
            finish: finishing,
            resource: resource.clone(),
            sinks: self.sinks,
            batch,
            spans: self.spans,
            metrics: self.metrics.zip(reader.clone()),
            tally: Arc::clone(&tally),
            done: DoneGuard(Arc::clone(&done)),
        };
        let queue = Arc::new(Queue::new(sender, finish, done, tally, work));

        let gate = Arc::new(Gate::new(&self.schemas, self.content));
        let limits = SpanLimits {
            max_events_per_span: EVENTS_PER_SPAN,
            ..SpanLimits::default()
        };
        // The SDK takes defaults for sampler, limits and resource from the environment. All are set here.
        let provider = SdkTracerProvider::builder()
            .with_sampler(sampler)
            .with_span_limits(limits)
            .with_resource(resource.clone())
            .with_span_processor(Processor {
                gate: Arc::clone(&gate),
                queue: Arc::clone(&queue),
            })
            .build();
        let meters = reader
            .map(|reader| Meters::new(self.schemas, resource, reader, Arc::clone(&queue)))
            .map(Arc::new);
        Ok(Exporter::new(provider, gate, queue, meters))
    }
}

impl fmt::Debug for ExporterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExporterBuilder")
            .field("resource", &self.resource)
            .field("content", &self.content)
            .field("otlp", &self.spans)
            .field("otlp_metrics", &self.metrics)
            .field("batch", &self.batch)
            .field("sample", &self.sampling)
            .field("sinks", &self.sinks.len())
            .finish_non_exhaustive()
    }
}
