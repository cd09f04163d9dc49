//! Typed spans.
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
