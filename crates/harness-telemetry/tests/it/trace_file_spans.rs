//! Spans that were made by hand.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness_telemetry::trace_file::{TraceFileWriter, TraceFormat};
use opentelemetry::trace::{
    Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tempfile::TempDir;

/// When the run began: milliseconds since the epoch.
pub(crate) const BEGIN: u64 = 1_790_000_000_000;

/// A time, in milliseconds after the beginning.
pub(crate) fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + since_epoch(millis)
}

pub(crate) fn since_epoch(millis: u64) -> Duration {
    // Not a whole number of microseconds, so that it shows where digits get lost.
    Duration::from_millis(BEGIN + millis) + Duration::from_nanos(7)
}

/// A span of the trace 1. The parent 0 is none.
pub(crate) fn span(id: u64, parent: u64, name: &str, from: u64, to: u64) -> SpanData {
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(1_u128 << 100),
            SpanId::from(id),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: SpanId::from(parent),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: name.to_owned().into(),
        start_time: at(from),
        end_time: at(to),
        attributes: vec![KeyValue::new("n", i64::try_from(id).unwrap())],
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: InstrumentationScope::builder("harness").build(),
    }
}

/// A run of two turns, in the order in which its spans end: tools of the first one at the same time, one of them with a
/// run of its own.
pub(crate) fn run() -> Vec<SpanData> {
    let mut first = span(4, 3, "chat m", 10, 300);
    first.span_kind = SpanKind::Client;
    let mut chunk = SpanEvents::default();
    chunk.events = vec![Event::new(
        "first_chunk",
        at(60),
        vec![KeyValue::new("size", 3)],
        0,
    )];
    first.events = chunk;
    let mut failed = span(6, 3, "execute_tool bash", 310, 900);
    failed.attributes = vec![
        KeyValue::new("error.type", "failed"),
        KeyValue::new("harness.tool.outcome", "failed"),
    ];
    failed.status = Status::error("");
    vec![
        first,
        span(5, 3, "execute_tool read", 320, 400),
        span(8, 7, "chat m", 350, 500),
        failed,
        span(7, 3, "execute_tool agent", 330, 1_000),
        span(3, 2, "harness.turn", 10, 1_000),
        span(10, 9, "chat m", 1_010, 1_500),
        span(9, 2, "harness.turn", 1_010, 1_500),
        span(2, 1, "invoke_agent a", 10, 1_500),
        span(1, 0, "harness.run", 10, 1_600),
    ]
}

pub(crate) fn resource() -> Resource {
    Resource::builder_empty()
        .with_attribute(KeyValue::new("service.name", "harness"))
        .build()
}

/// The text of a file with these batches.
pub(crate) fn written(format: TraceFormat, batches: &[&[SpanData]], finish: bool) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("it");
    let mut writer = TraceFileWriter::create(&path, format).unwrap();
    for batch in batches {
        writer.write(&resource(), batch).unwrap();
    }
    if finish {
        writer.finish().unwrap();
    }
    std::fs::read_to_string(path).unwrap()
}
