//! The values of trace events: any JSON.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::otlp_span::ATTRIBUTES;
use crate::trace::TraceValue;

/// A value; `None` for `null`.
pub(super) struct PlainValue(pub(super) Option<TraceValue>);

impl<'de> Deserialize<'de> for PlainValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(PlainValue)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Option<TraceValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Self::Value, E> {
        Ok(Some(TraceValue::Bool(yes)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(TraceValue::Int(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        let value = match i64::try_from(number) {
            Ok(number) => TraceValue::Int(number),
            Err(_) => TraceValue::Double(number as f64),
        };
        Ok(Some(value))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(TraceValue::Double(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(TraceValue::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while values.len() < ATTRIBUTES {
            let Some(value) = list.next_element::<PlainValue>()? else {
                return Ok(Some(TraceValue::List(values)));
            };
            values.extend(value.0);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some(TraceValue::List(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok(Some(TraceValue::Map(pairs(map)?)))
    }
}

fn pairs<'de, A: MapAccess<'de>>(mut map: A) -> Result<Vec<(String, TraceValue)>, A::Error> {
    let mut pairs = Vec::new();
    while pairs.len() < ATTRIBUTES {
        let Some((key, value)) = map.next_entry::<String, PlainValue>()? else {
            return Ok(pairs);
        };
        pairs.extend(value.0.map(|value| (key, value)));
    }
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(pairs)
}

/// Reads the arguments of an event: an object. What is none has no arguments.
pub(super) struct Arguments;

impl<'de> DeserializeSeed<'de> for Arguments {
    type Value = Vec<(String, TraceValue)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match PlainValue::deserialize(deserializer)?.0 {
            Some(TraceValue::Map(pairs)) => Ok(pairs),
            _ => Ok(Vec::new()),
        }
    }
}
