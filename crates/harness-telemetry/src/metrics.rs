//! Where measured values go.

use crate::schema::MetricSchema;

/// Takes values of metrics: an exporter, a test, or nobody.
pub trait MetricSink: Send + Sync {
    /// Takes one value. Must return at once.
    fn record(
        &self,
        metric: &'static MetricSchema,
        value: f64,
        attributes: &[(&'static str, MetricValue<'_>)],
    );
}

/// Forgets everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl MetricSink for NoMetrics {
    fn record(&self, _: &'static MetricSchema, _: f64, _: &[(&'static str, MetricValue<'_>)]) {}
}

/// The value of a metric's attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricValue<'a> {
    /// A text.
    Text(&'a str),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Yes or no.
    Bool(bool),
}
