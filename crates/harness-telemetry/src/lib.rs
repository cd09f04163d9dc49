//! Spans that cannot be recorded wrongly, and are cheap enough to be recorded always.
//!
//! A [`schema!`] declares spans: their names, attributes, events, who may be whose parent, when one counts as
//! failed. Out of each span it makes a *typed starter*: what is required is a field of a struct, so that leaving it
//! out, or giving another type, does not compile. A span that was started ends once, with what there is to say at
//! the end; dropped before, it ends as an error that says so. Two schemas are built in: [`AI`] is what the
//! OpenTelemetry conventions for generative AI define, [`HARNESS`] what an agent harness does beside that.
//!
//! ```
//! use harness_telemetry::ai;
//!
//! let span = ai::chat(ai::Chat { provider: "openai", model: "gpt-5" }).stream(true).start();
//! span.response_id("resp_7");
//! span.end(ai::ChatEnd {
//!     input_tokens: Some(812),
//!     output_tokens: Some(44),
//!     finish_reasons: &["stop"],
//! });
//! ```
//!
//! The decision behind it: a starter makes a span of [`tracing`](https://docs.rs/tracing), not one of an
//! OpenTelemetry library. So a program that has a subscriber sees the spans as it sees its others, one without pays
//! some nanoseconds, and this crate alone brings nothing but `tracing` and `serde`. The price: `tracing` has no
//! lists, so that those travel as JSON text until they are exported, and a span is exported only once nobody holds
//! it.
//!
//! What is more is a feature each:
//!
//! - `middleware`: [`middleware::Telemetry`] records the runs of an agent built on `harness-core`;
//! - `otlp-http`, `otlp-grpc`: [`export`] sends spans and metrics to a collector;
//! - `trace-file`: [`trace_file`] writes traces for viewers, [`trace`] reads them again;
//! - `test-support`: [`test_support`] keeps spans in memory and finds what breaks a schema.
//!
//! # Privacy
//!
//! Attributes that are content, that is prompts, replies, arguments and results, are marked as sensitive in their
//! schema. They are not recorded unless a [`ContentCapture`](middleware::ContentCapture) says so, which masks what
//! looks like a secret and bounds the rest; and not exported unless
//! [`content`](export::ExporterBuilder::content) says so as well. What else is exported are names of tools, skills,
//! models and middlewares, counts, times, and digests of what is to be compared. An exporter lets through what a
//! schema declares, and nothing that somebody else put on a span.

#[doc(hidden)]
#[path = "macro_support.rs"]
pub mod __private;
mod active;
pub mod ai;
mod attribute;
#[cfg(feature = "export")]
pub mod export;
pub mod harness;
mod macros;
mod metrics;
#[cfg(feature = "middleware")]
pub mod middleware;
mod schema;
mod schemas;
pub mod semconv;
#[cfg(feature = "test-support")]
pub mod test_support;
#[cfg(feature = "trace-file")]
pub mod trace;
#[cfg(feature = "trace-file")]
pub mod trace_file;

pub use active::{Active, DROPPED};
pub use ai::AI;
pub use attribute::AttributeValue;
pub use harness::HARNESS;
pub use metrics::{MetricSink, MetricValue, NoMetrics};
pub use schema::{
    AttributeSchema, Cardinality, ErrorRule, EventSchema, FixedAttribute, Instrument, MetricSchema,
    Schema, SpanKind, SpanLevel, SpanSchema, ValueType,
};
pub use schemas::{SchemaError, Schemas};
