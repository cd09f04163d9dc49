//! A span of OTLP, as programs write it as JSON.

use serde::Deserialize;

use super::at_most::AtMost;
use super::id::{SPAN, TRACE, optional_id};
use super::scalar::Scalar;
use crate::trace::{TraceEvent, TraceKind, TraceSpan, TraceValue};

/// The most attributes of a span, and items of a list.
pub(super) const ATTRIBUTES: usize = 1_000;
/// The most events of a span.
pub(super) const EVENTS: usize = 1_000;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OtlpSpan {
    #[serde(alias = "trace_id")]
    trace_id: Option<String>,
    #[serde(alias = "span_id")]
    span_id: Option<String>,
    #[serde(alias = "parent_span_id")]
    parent_span_id: Option<String>,
    name: Option<String>,
    kind: Option<Scalar>,
    #[serde(alias = "start_time_unix_nano")]
    start_time_unix_nano: Option<Scalar>,
    #[serde(alias = "end_time_unix_nano")]
    end_time_unix_nano: Option<Scalar>,
    attributes: Attributes,
    events: AtMost<OtlpEvent, EVENTS>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: Option<Scalar>,
    message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OtlpEvent {
    name: Option<String>,
    #[serde(alias = "time_unix_nano")]
    time_unix_nano: Option<Scalar>,
    attributes: Attributes,
}

type Attributes = AtMost<Attribute, ATTRIBUTES>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attribute {
    key: Option<String>,
    value: Option<OtlpValue>,
}

/// One of these is there.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OtlpValue {
    #[serde(rename = "stringValue", alias = "string_value")]
    text: Option<String>,
    #[serde(rename = "intValue", alias = "int_value")]
    int: Option<Scalar>,
    #[serde(rename = "doubleValue", alias = "double_value")]
    double: Option<Scalar>,
    #[serde(rename = "boolValue", alias = "bool_value")]
    bool: Option<bool>,
    #[serde(rename = "arrayValue", alias = "array_value")]
    list: Option<Values<OtlpValue>>,
    #[serde(rename = "kvlistValue", alias = "kvlist_value")]
    map: Option<Values<Attribute>>,
    #[serde(rename = "bytesValue", alias = "bytes_value")]
    bytes: Option<String>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Values<T> {
    #[serde(default)]
    values: AtMost<T, ATTRIBUTES>,
}

impl OtlpSpan {
    pub(super) fn into_span(self) -> TraceSpan {
        let attributes = pairs(self.attributes);
        let start = self.start_time_unix_nano.map(|time| time.nanos());
        let end = self.end_time_unix_nano.map(|time| time.nanos());
        let start = start.unwrap_or_default();
        let mut span = TraceSpan {
            trace_id: optional_id(self.trace_id.as_deref(), TRACE),
            span_id: optional_id(self.span_id.as_deref(), SPAN),
            parent: Some(optional_id(self.parent_span_id.as_deref(), SPAN))
                .filter(|parent| !parent.is_empty()),
            name: self.name.unwrap_or_default(),
            kind: self.kind.map(|kind| kind_of(&kind)).unwrap_or_default(),
            start,
            // One that has not ended, and one whose clock was set back.
            end: end.unwrap_or_default().max(start),
            error: None,
            attributes,
            events: self.events.0.into_iter().map(event).collect(),
        };
        if let Some(status) = self.status
            && status.code.is_some_and(|code| is_error(&code))
        {
            span.error = Some(why(&span, status.message.as_deref()));
        }
        span
    }
}

/// Why a span failed that did.
pub(super) fn why(span: &TraceSpan, message: Option<&str>) -> String {
    let message = message.filter(|message| !message.trim().is_empty());
    let why = message.or_else(|| span.text(crate::semconv::ERROR_TYPE));
    why.unwrap_or("error").to_owned()
}

fn is_error(code: &Scalar) -> bool {
    match code {
        Scalar::Text(word) if word.eq_ignore_ascii_case("STATUS_CODE_ERROR") => true,
        code => code.whole() == Some(2),
    }
}

pub(super) fn kind_of(kind: &Scalar) -> TraceKind {
    match (kind.whole().map(u64::try_from), kind) {
        (Some(Ok(number)), _) => TraceKind::of_number(number),
        (_, Scalar::Text(word)) => TraceKind::of_word(word),
        _ => TraceKind::default(),
    }
}

fn event(event: OtlpEvent) -> TraceEvent {
    TraceEvent {
        name: event.name.unwrap_or_default(),
        time: event
            .time_unix_nano
            .map(|time| time.nanos())
            .unwrap_or_default(),
        attributes: pairs(event.attributes),
    }
}

/// Those attributes that have a key and a value.
fn pairs(attributes: Attributes) -> Vec<(String, TraceValue)> {
    let pair = |attribute: Attribute| Some((attribute.key?, value(attribute.value?)?));
    attributes.0.into_iter().filter_map(pair).collect()
}

fn value(value: OtlpValue) -> Option<TraceValue> {
    if let Some(text) = value.text.or(value.bytes) {
        return Some(TraceValue::Text(text));
    }
    if let Some(number) = value.int {
        let whole = number.whole().and_then(|whole| i64::try_from(whole).ok());
        return match whole {
            Some(whole) => Some(TraceValue::Int(whole)),
            None => number.number().map(TraceValue::Double),
        };
    }
    if let Some(number) = value.double {
        return number.number().map(TraceValue::Double);
    }
    if let Some(yes) = value.bool {
        return Some(TraceValue::Bool(yes));
    }
    if let Some(list) = value.list {
        let values = list.values.0.into_iter().filter_map(self::value);
        return Some(TraceValue::List(values.collect()));
    }
    let map = value.map?;
    Some(TraceValue::Map(pairs(map.values)))
}
