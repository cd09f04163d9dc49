//! What the macro's code uses. Not for others.

pub use tracing;

use tracing::span::Id;

use crate::metrics::{MetricSink, MetricValue};
use crate::schema::MetricSchema;

/// Whose child a span becomes.
#[derive(Clone, Debug, Default)]
pub struct Parent(Option<Id>);

impl Parent {
    /// Of this span. One that nobody sees has no children: then it is that of the span the thread is in.
    pub fn of(span: &tracing::Span) -> Self {
        Self(span.id())
    }

    /// The one that was named.
    pub fn given(self) -> Option<Id> {
        self.0
    }
}

/// The key of a field. A rule that names no end attribute does not compile.
#[expect(clippy::panic, reason = "at compile time, this is the error")]
pub const fn key_of(field: &str, all: &[(&str, &'static str)]) -> &'static str {
    let mut index = 0;
    while index < all.len() {
        if same(all[index].0.as_bytes(), field.as_bytes()) {
            return all[index].1;
        }
        index += 1;
    }
    panic!("`error_when` names no required end attribute")
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Hands on a value, without the attributes that are not there.
pub fn record_metric<const N: usize>(
    sink: &dyn MetricSink,
    metric: &'static MetricSchema,
    value: f64,
    all: [(&'static str, Option<MetricValue<'_>>); N],
) {
    let mut attributes = [("", MetricValue::Bool(false)); N];
    let mut count = 0;
    for (key, value) in all {
        if let Some(value) = value {
            attributes[count] = (key, value);
            count += 1;
        }
    }
    sink.record(metric, value, &attributes[..count]);
}
