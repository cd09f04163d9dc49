//! What the macro's code uses. Not for others.

pub use tracing;

use tracing::field::Value;
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

/// Records consecutive fields, of which the first is this one. A look-up of each by its name would cost more than
/// all the rest.
pub fn record_end<const N: usize>(span: &tracing::Span, first: usize, values: [&dyn Value; N]) {
    let Some(metadata) = span.metadata() else {
        return;
    };
    let fields = metadata.fields();
    let mut rest = fields.iter().skip(first);
    let named = values.map(|value| (rest.next(), value));
    let mut pairs = [const { None }; N];
    for (pair, (field, value)) in pairs.iter_mut().zip(&named) {
        *pair = field.as_ref().map(|field| (field, Some(*value)));
    }
    // There are as many as the macro declared.
    if let Some(first) = pairs.first().copied().flatten() {
        let pairs = pairs.map(|pair| pair.unwrap_or(first));
        span.record_all(&fields.value_set(&pairs));
    }
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
