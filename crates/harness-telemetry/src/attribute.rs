//! What an attribute's value may be.

use std::fmt;

use tracing::Value;
use tracing::field::{DebugValue, debug};

use crate::metrics::MetricValue;
use crate::schema::ValueType;

/// A type that an attribute can have: texts, numbers, yes or no, lists of texts, and an [`Option`] of
/// each.
pub trait AttributeValue {
    /// The type, in the words of the schema.
    const TYPE: ValueType;
    /// Whether there is always a value.
    const REQUIRED: bool = true;
    /// The same for `tracing`.
    type Field<'a>: Value
    where
        Self: 'a;

    /// The same for `tracing`.
    fn field(&self) -> Self::Field<'_>;

    /// The same for a metric; `None`: it is not there.
    fn metric(&self) -> Option<MetricValue<'_>>;

    /// Whether it is this text.
    fn is_text(&self, text: &str) -> bool {
        matches!(self.metric(), Some(MetricValue::Text(own)) if own == text)
    }
}

macro_rules! plain {
    ($($type:ty, $kind:ident, $as:ident => $metric:expr;)*) => {$(
        impl AttributeValue for $type {
            const TYPE: ValueType = ValueType::$kind;
            type Field<'a> = $type where Self: 'a;

            fn field(&self) -> $type {
                *self
            }

            fn metric(&self) -> Option<MetricValue<'_>> {
                let $as = *self;
                Some($metric)
            }
        }
    )*};
}

plain! {
    bool, Bool, is => MetricValue::Bool(is);
    f64, Double, number => MetricValue::Double(number);
    i64, Int, number => MetricValue::Int(number);
    u64, Int, number => MetricValue::Int(i64::try_from(number).unwrap_or(i64::MAX));
    u32, Int, number => MetricValue::Int(i64::from(number));
}

impl AttributeValue for &str {
    const TYPE: ValueType = ValueType::String;
    type Field<'a>
        = &'a str
    where
        Self: 'a;

    fn field(&self) -> &str {
        self
    }

    fn metric(&self) -> Option<MetricValue<'_>> {
        Some(MetricValue::Text(self))
    }
}

impl AttributeValue for usize {
    const TYPE: ValueType = ValueType::Int;
    type Field<'a> = u64;

    fn field(&self) -> u64 {
        *self as u64
    }

    fn metric(&self) -> Option<MetricValue<'_>> {
        Some(MetricValue::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
    }
}

impl AttributeValue for &[&str] {
    const TYPE: ValueType = ValueType::Strings;
    type Field<'a>
        = DebugValue<List<'a>>
    where
        Self: 'a;

    fn field(&self) -> DebugValue<List<'_>> {
        debug(List(self))
    }

    fn metric(&self) -> Option<MetricValue<'_>> {
        None
    }
}

impl<T: AttributeValue> AttributeValue for Option<T> {
    const TYPE: ValueType = T::TYPE;
    const REQUIRED: bool = false;
    type Field<'a>
        = Option<T::Field<'a>>
    where
        Self: 'a;

    fn field(&self) -> Self::Field<'_> {
        self.as_ref().map(T::field)
    }

    fn metric(&self) -> Option<MetricValue<'_>> {
        self.as_ref().and_then(T::metric)
    }
}

/// A list of texts, which `tracing` does not have: as JSON.
pub struct List<'a>(&'a [&'a str]);

impl fmt::Debug for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}
