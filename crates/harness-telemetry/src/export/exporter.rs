//! What is exported by, and how it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::registry::LookupSpan;

use super::gate::Gate;
use super::meters::Meters;
use super::only_layer::OnlyLayer;
use super::queue::Queue;
use super::{ExportReport, ExporterBuilder};
use crate::metrics::{MetricSink, NoMetrics};
use crate::schemas::Schemas;

/// A wait without an end has one all the same: a day.
pub(super) const LONGEST: Duration = Duration::from_hours(24);

/// Exports spans and metrics: see [the module](super). Dropping it neither waits nor stops anything: what its
/// layer still sees is exported; what is left when the process ends is lost.
#[derive(Debug)]
pub struct Exporter {
    provider: SdkTracerProvider,
    gate: Arc<Gate>,
    queue: Arc<Queue>,
    meters: Option<Arc<Meters>>,
    report: Mutex<Option<ExportReport>>,
}

impl Exporter {
    /// An exporter of what these schemas declare.
    pub fn builder(schemas: Schemas) -> ExporterBuilder {
        ExporterBuilder::new(schemas)
    }

    pub(super) fn new(
        provider: SdkTracerProvider,
        gate: Arc<Gate>,
        queue: Arc<Queue>,
        meters: Option<Arc<Meters>>,
    ) -> Self {
        Self {
            provider,
            gate,
            queue,
            meters,
            report: Mutex::new(None),
        }
    }

    /// What sees the spans: a layer for the program's `tracing` subscriber. It has a filter of its own, whose
    /// answers are cached: spans and events that no schema declares cost what they would cost without it.
    ///
    /// A span can belong to one exporter only. A second layer of this crate in the same subscriber sees nothing,
    /// and its exporter's report says so. A layer of `tracing-opentelemetry` that the program has of its own must
    /// be given a filter that keeps the targets of the schemas (`gen_ai`, `harness`) from it: else the two panic at
    /// the first of these spans.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let scope = InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let gate = Arc::clone(&self.gate);
        let level = gate.level();
        let second = Arc::new(AtomicBool::new(false));
        let only = OnlyLayer {
            queue: Arc::clone(&self.queue),
            second: Arc::clone(&second),
        };
        let filter = FilterFn::new(move |metadata| {
            gate.lets_in(metadata) && !second.load(Ordering::Relaxed)
        });
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer_with_scope(scope))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_level(false)
            .with_context_activation(false)
            .with_error_events_to_status(false)
            .with_error_events_to_exceptions(false)
            .with_error_fields_to_exceptions(false)
            .with_error_records_to_exceptions(false);
        only.and_then(spans)
            .with_filter(filter.with_max_level_hint(level))
    }

    /// What takes the metrics. Without a collector of metrics, it does nothing.
    pub fn metrics(&self) -> Arc<dyn MetricSink> {
        match &self.meters {
            Some(meters) => Arc::clone(meters) as Arc<dyn MetricSink>,
            None => Arc::new(NoMetrics),
        }
    }

    /// Ends the export: sends what is left, and blocks the thread until it is sent or given up, no longer than
    /// `within`, whatever a collector or a sink does. Spans that are still open are not exported; what ends
    /// later is dropped. Called again, it returns the same report at once.
    ///
    /// It may be called inside of an async runtime, whose thread it blocks meanwhile.
    pub fn finish(&self, within: Duration) -> ExportReport {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = &*report {
            return report.clone();
        }
        let deadline = self.close(within);
        if !self.queue.done().wait(deadline) {
            self.queue.late();
        }
        report.insert(self.queue.report()).clone()
    }

    /// The same as [`finish`](Self::finish) for a task of a `tokio` runtime, which needs its timer. Dropped
    /// before its end, the export goes on until `within` is over, and a second call waits for it.
    pub async fn finish_async(&self, within: Duration) -> ExportReport {
        if let Some(report) = &*self.report.lock().unwrap_or_else(PoisonError::into_inner) {
            return report.clone();
        }
        self.close(within);
        if !self.queue.done().wait_async(within.min(LONGEST)).await {
            self.queue.late();
        }
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.get_or_insert_with(|| self.queue.report()).clone()
    }

    /// Tells the thread to be done in this time, and says when it is over.
    fn close(&self, within: Duration) -> Instant {
        let within = within.min(LONGEST);
        let now = Instant::now();
        // The thread gets a little less, so that its last word comes in time.
        let margin = (within / 10).min(Duration::from_millis(50));
        self.queue.close(now + within.saturating_sub(margin));
        now + within
    }
}
