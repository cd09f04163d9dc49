//! What of the recorded spans is let through.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use opentelemetry::trace::Status;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::SpanData;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};

use crate::active::{DROPPED_BY_PANIC, DROPPED_EARLY};
use crate::schema::{AttributeSchema, Schema, SpanLevel, ValueType};
use crate::schemas::Schemas;
use crate::semconv::ERROR_TYPE;

/// Knows what the registered schemas declare, and lets nothing else through.
#[derive(Debug)]
pub(super) struct Gate {
    keys: HashMap<&'static str, Rule>,
    /// Target and name of each span and event.
    names: HashSet<(&'static str, &'static str)>,
    events: HashSet<&'static str>,
    level: LevelFilter,
    content: bool,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    /// `None`: schemas do not agree.
    kind: Option<ValueType>,
    sensitive: bool,
}

impl Gate {
    pub(super) fn new(schemas: &Schemas, content: bool) -> Self {
        let mut gate = Self {
            keys: HashMap::new(),
            names: HashSet::new(),
            events: HashSet::new(),
            level: LevelFilter::OFF,
            content,
        };
        gate.declare(ERROR_TYPE, ValueType::String, false);
        for schema in schemas.iter() {
            gate.add(schema);
        }
        gate
    }

    fn add(&mut self, schema: &'static Schema) {
        for span in schema.spans {
            self.names.insert((schema.name, span.id));
            self.level = self.level.max(match span.level {
                SpanLevel::Info => LevelFilter::INFO,
                SpanLevel::Debug => LevelFilter::DEBUG,
            });
            for fixed in span.always {
                self.declare(fixed.key, ValueType::String, false);
            }
            for attributes in [span.start, span.end, span.end_optional] {
                self.declare_all(attributes);
            }
            for event in span.events {
                self.names.insert((schema.name, event.name));
                self.events.insert(event.name);
                self.declare_all(event.attributes);
            }
        }
    }

    fn declare_all(&mut self, attributes: &'static [AttributeSchema]) {
        for attribute in attributes {
            self.declare(attribute.key, attribute.kind, attribute.sensitive);
        }
    }

    fn declare(&mut self, key: &'static str, kind: ValueType, sensitive: bool) {
        let rule = self.keys.entry(key).or_insert(Rule {
            kind: Some(kind),
            sensitive,
        });
        // What one schema calls content is content.
        rule.sensitive |= sensitive;
        rule.kind = rule.kind.filter(|known| *known == kind);
    }

    /// The most detailed level that anything declared has.
    pub(super) fn level(&self) -> LevelFilter {
        self.level
    }

    /// Whether this is a declared span or event.
    pub(super) fn lets_in(&self, metadata: &Metadata<'_>) -> bool {
        let level: &Level = metadata.level();
        *level <= self.level && self.names.contains(&(metadata.target(), metadata.name()))
    }

    /// Takes out of a span whatever is not declared, and gives the rest its declared types.
    pub(super) fn clean(&self, span: &mut SpanData) {
        // The machine's clock may have been set back meanwhile.
        span.end_time = span.end_time.max(span.start_time);
        self.clean_attributes(&mut span.attributes);
        let events = &mut span.events.events;
        events.retain(|event| self.events.contains(event.name.as_ref()));
        for event in events {
            self.clean_attributes(&mut event.attributes);
        }
        for link in &mut span.links.links {
            link.attributes.clear();
        }
        if let Status::Error { description } = &mut span.status
            && ![DROPPED_EARLY, DROPPED_BY_PANIC].contains(&description.as_ref())
        {
            *description = Cow::Borrowed("");
        }
    }

    fn clean_attributes(&self, attributes: &mut Vec<KeyValue>) {
        let mut clean: Vec<KeyValue> = Vec::with_capacity(attributes.len());
        for KeyValue { key, value, .. } in attributes.drain(..) {
            let Some(rule) = self.keys.get(key.as_str()) else {
                continue;
            };
            if rule.sensitive && !self.content {
                continue;
            }
            let Some(value) = typed(rule.kind, value) else {
                continue;
            };
            // What was recorded twice has the value of the last time.
            match clean.iter_mut().find(|known| known.key == key) {
                Some(known) => known.value = value,
                None => clean.push(KeyValue::new(key, value)),
            }
        }
        *attributes = clean;
    }
}

/// The value in its declared type. In `tracing`, lists are JSON texts, and unsigned numbers come out of its
/// layer as texts.
fn typed(kind: Option<ValueType>, value: Value) -> Option<Value> {
    match (kind, value) {
        (None, value)
        | (Some(ValueType::Bool), value @ Value::Bool(_))
        | (Some(ValueType::Int), value @ Value::I64(_))
        | (Some(ValueType::Double), value @ Value::F64(_))
        | (Some(ValueType::String), value @ Value::String(_))
        | (Some(ValueType::Strings), value @ Value::Array(Array::String(_))) => Some(value),
        (Some(ValueType::Int), Value::String(text)) => {
            let number: u64 = text.as_str().parse().ok()?;
            Some(Value::I64(i64::try_from(number).unwrap_or(i64::MAX)))
        }
        (Some(ValueType::Double), Value::I64(number)) => Some(Value::F64(number as f64)),
        (Some(ValueType::Strings), Value::String(text)) => {
            let list: Vec<String> = serde_json::from_str(text.as_str()).ok()?;
            let list = list.into_iter().map(StringValue::from).collect();
            Some(Value::Array(Array::String(list)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{SpanContext, SpanId, SpanKind};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};

    use super::*;

    #[test]
    fn no_span_ends_before_it_began_whatever_the_clock_did() {
        let start_time = SystemTime::UNIX_EPOCH + Duration::from_hours(2);
        let mut span = SpanData {
            span_context: SpanContext::empty_context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: "harness.run".into(),
            start_time,
            end_time: start_time - Duration::from_hours(1),
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        };
        Gate::new(&Schemas::built_in(), false).clean(&mut span);
        assert_eq!(span.end_time, start_time);
    }

    #[test]
    fn values_get_their_declared_type() {
        let strings = |texts: &[&str]| {
            let texts = texts
                .iter()
                .map(|text| StringValue::from((*text).to_owned()));
            Value::Array(Array::String(texts.collect()))
        };
        let cases = [
            (ValueType::Int, Value::from("12"), Some(Value::I64(12))),
            (
                ValueType::Int,
                Value::from("18446744073709551615"),
                Some(Value::I64(i64::MAX)),
            ),
            (ValueType::Int, Value::from("a dozen"), None),
            (ValueType::Int, Value::I64(-3), Some(Value::I64(-3))),
            (ValueType::Double, Value::I64(2), Some(Value::F64(2.0))),
            (ValueType::Bool, Value::from("true"), None),
            (
                ValueType::String,
                Value::from("[]"),
                Some(Value::from("[]")),
            ),
            (
                ValueType::Strings,
                Value::from(r#"["a","b"]"#),
                Some(strings(&["a", "b"])),
            ),
            (ValueType::Strings, Value::from("[]"), Some(strings(&[]))),
            (ValueType::Strings, Value::from("stop"), None),
        ];
        for (kind, value, expected) in cases {
            assert_eq!(
                typed(Some(kind), value.clone()),
                expected,
                "{kind:?} {value:?}"
            );
        }
    }
}
