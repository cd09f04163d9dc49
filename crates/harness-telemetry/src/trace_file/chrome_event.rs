//! The events of the Chrome format, as they are written.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanId, SpanKind, Status};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::SpanData;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, json};

/// The process that all of it is in: the viewers want a number.
const PROCESS: u32 = 1;

/// One line of a file.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ChromeEvent<'a> {
    #[serde(rename = "ph")]
    phase: Cow<'a, str>,
    pid: u32,
    /// The lane it is drawn in.
    tid: usize,
    /// Microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    /// Microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cat: Option<Cow<'a, str>>,
    /// How far an instant reaches: `t`, its thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s: Option<Cow<'a, str>>,
    args: Cow<'a, RawValue>,
}

/// The time in an instant's arguments.
#[derive(Deserialize)]
struct InstantTime<'a> {
    time_unix_nano: Cow<'a, str>,
}

impl<'a> ChromeEvent<'a> {
    /// A span, and what happened within it.
    pub(super) fn of_span(span: &'a SpanData, place: Place) -> serde_json::Result<Vec<Self>> {
        let mut events = vec![Self {
            phase: "X".into(),
            pid: PROCESS,
            tid: place.lane,
            ts: None,
            dur: None,
            name: span.name.as_ref().into(),
            cat: category(span),
            s: None,
            args: Cow::Owned(to_raw_value(&span_arguments(span))?),
        }];
        for event in span.events.iter() {
            let time = nanos(event.timestamp);
            let mut arguments = arguments(&event.attributes);
            put_ids(&mut arguments, span);
            arguments.insert("time_unix_nano".to_owned(), time.to_string().into());
            events.push(Self {
                phase: "i".into(),
                pid: PROCESS,
                tid: place.lane,
                ts: None,
                dur: None,
                name: event.name.as_ref().into(),
                cat: category(span),
                s: Some("t".into()),
                args: Cow::Owned(to_raw_value(&arguments)?),
            });
        }
        for event in &mut events {
            event.put(place)?;
        }
        Ok(events)
    }

    /// The name of the process.
    pub(super) fn process_name(name: &str) -> serde_json::Result<Self> {
        Self::metadata("process_name", 0, name)
    }

    /// The name of a lane.
    pub(super) fn lane_name(lane: usize, name: &str) -> serde_json::Result<Self> {
        Self::metadata("thread_name", lane, name)
    }

    fn metadata(what: &'a str, lane: usize, name: &str) -> serde_json::Result<Self> {
        Ok(Self {
            phase: "M".into(),
            pid: PROCESS,
            tid: lane,
            ts: None,
            dur: None,
            name: what.into(),
            cat: None,
            s: None,
            args: Cow::Owned(to_raw_value(&json!({ "name": name }))?),
        })
    }

    /// Puts it into a lane.
    pub(super) fn put(&mut self, place: Place) -> serde_json::Result<()> {
        self.tid = place.lane;
        let micros = |nanos: u64| nanos.saturating_sub(place.origin) as f64 / 1_000.0;
        if self.phase == "X" {
            let start = place.start.max(place.origin);
            self.ts = Some(micros(start));
            self.dur = Some(place.end.saturating_sub(start) as f64 / 1_000.0);
        } else {
            let time: InstantTime<'_> = serde_json::from_str(self.args.get())?;
            self.ts = Some(micros(time.time_unix_nano.parse().unwrap_or(place.start)));
        }
        Ok(())
    }
}

/// Where a span is drawn. Times are in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) lane: usize,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The time that counts as zero.
    pub(super) origin: u64,
}

/// Nanoseconds since the epoch.
pub(super) fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn category(span: &SpanData) -> Option<Cow<'_, str>> {
    let scope = span.instrumentation_scope.name();
    (!scope.is_empty()).then(|| scope.into())
}

type Arguments = Map<String, serde_json::Value>;

fn span_arguments(span: &SpanData) -> Arguments {
    let mut map = arguments(&span.attributes);
    put_ids(&mut map, span);
    if span.parent_span_id != SpanId::INVALID {
        map.insert(
            "parent_id".to_owned(),
            span.parent_span_id.to_string().into(),
        );
    }
    let kind = match span.span_kind {
        SpanKind::Client => "client",
        SpanKind::Server => "server",
        SpanKind::Producer => "producer",
        SpanKind::Consumer => "consumer",
        SpanKind::Internal => "internal",
    };
    map.insert("kind".to_owned(), kind.into());
    match &span.status {
        Status::Unset => {}
        Status::Ok => {
            map.insert("status".to_owned(), "ok".into());
        }
        Status::Error { description } => {
            map.insert("status".to_owned(), "error".into());
            if !description.is_empty() {
                let description = description.as_ref().into();
                map.insert("status_description".to_owned(), description);
            }
        }
    }
    let (start, end) = (nanos(span.start_time), nanos(span.end_time));
    map.insert("start_unix_nano".to_owned(), start.to_string().into());
    map.insert("end_unix_nano".to_owned(), end.to_string().into());
    map
}

/// The ids come after the attributes: they count where names are the same.
fn put_ids(map: &mut Arguments, span: &SpanData) {
    let context = &span.span_context;
    map.insert("trace_id".to_owned(), context.trace_id().to_string().into());
    map.insert("span_id".to_owned(), context.span_id().to_string().into());
}

fn arguments(attributes: &[KeyValue]) -> Arguments {
    let pair = |it: &KeyValue| (it.key.as_str().to_owned(), value(&it.value));
    attributes.iter().map(pair).collect()
}

fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(yes) => (*yes).into(),
        Value::I64(number) => (*number).into(),
        Value::F64(number) => double(*number),
        Value::String(text) => text.as_str().into(),
        Value::Array(Array::Bool(list)) => list.clone().into(),
        Value::Array(Array::I64(list)) => list.clone().into(),
        Value::Array(Array::F64(list)) => list.iter().map(|it| double(*it)).collect(),
        Value::Array(Array::String(list)) => list.iter().map(StringValue::as_str).collect(),
        other => other.to_string().into(),
    }
}

/// JSON has no infinite numbers and none that is no number: they become texts.
fn double(number: f64) -> serde_json::Value {
    if number.is_finite() {
        number.into()
    } else {
        number.to_string().into()
    }
}
