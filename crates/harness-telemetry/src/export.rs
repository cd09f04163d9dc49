//! Export: where ended spans and metrics go.
//!
//! An [`Exporter`] is made of values, by [`Exporter::builder`]; nothing is read from the environment. Its
//! [layer](Exporter::layer) is added to the program's `tracing` subscriber, its
//! [metrics](Exporter::metrics) are given to those who record. Without an exporter, spans and metrics cost
//! next to nothing and go nowhere.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use harness_telemetry::Schemas;
//! use harness_telemetry::export::{Exporter, OtlpTarget, Protocol};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let collector = "http://localhost:4318";
//! let exporter = Exporter::builder(Schemas::built_in())
//!     .service("shop", "1.0.0")
//!     .otlp(OtlpTarget::for_traces(Protocol::HttpProtobuf, collector))
//!     .otlp_metrics(OtlpTarget::for_metrics(Protocol::HttpProtobuf, collector))
//!     .start()?;
//! tracing::subscriber::set_global_default(tracing_subscriber::registry().with(exporter.layer()))?;
//! // The program's work.
//! let report = exporter.finish(Duration::from_millis(500));
//! if report.dropped > 0 {
//!     eprintln!("{} spans were lost", report.dropped);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What a collector can do to a run
//!
//! Nothing. A span that ends is handed to a queue of bounded length; when that is full, the span is dropped
//! and counted. One thread of the exporter's own takes from the queue, writes to [sinks](SpanSink) and sends
//! to the collector, tries again a few times if that may help, and gives up. [`Exporter::finish`] sends what
//! is left, for as long as its caller allows, whatever the collector does, and reports what was delivered,
//! what was not, and the first error. The thread starts when there is something to export.
//!
//! Spans are exported when they end, in batches: at the latest [a second](BatchOptions::delay) after. What a
//! process had ended before that is safe even if the process is killed.
//!
//! # What is let through
//!
//! Spans, events and attributes that a registered schema declares, and `error.type`. Attributes that a schema
//! marks as sensitive only with [`ExporterBuilder::content`]. What anybody else records, on whichever span,
//! never gets to a sink or to a collector.

mod batch;
mod builder;
#[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
mod client;
mod context;
mod deaf;
#[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
mod delivery;
mod done;
mod error;
mod exporter;
mod gate;
#[cfg(feature = "otlp-grpc")]
mod grpc_client;
#[cfg(feature = "otlp-http")]
mod http_client;
mod meters;
mod only_layer;
mod processor;
#[cfg(feature = "middleware")]
mod propagation;
mod queue;
mod report;
mod sampling;
mod sink;
mod target;
#[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
mod tls;
mod worker;

pub use batch::BatchOptions;
pub use builder::ExporterBuilder;
pub use context::{continue_trace, trace_context};
pub use error::ExportError;
pub use exporter::Exporter;
#[cfg(feature = "middleware")]
pub use propagation::W3cPropagation;
pub use report::ExportReport;
pub use sampling::Sampling;
pub use sink::SpanSink;
pub use target::{OtlpTarget, Protocol};
