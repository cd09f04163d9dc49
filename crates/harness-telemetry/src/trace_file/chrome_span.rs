//! A trace event, as programs write it.

use serde::de::Error;

use super::id::{SPAN, TRACE, id};
use super::otlp_span::{EVENTS, kind_of, why};
use super::scalar::Scalar;
use super::sink::Sink;
use crate::trace::{TraceEvent, TraceSpan, TraceValue};

/// An event of the Chrome format, as far as it was read.
#[derive(Default)]
pub(super) struct ChromeEvent {
    pub(super) phase: Option<Scalar>,
    pub(super) name: Option<Scalar>,
    pub(super) start: Option<Scalar>,
    pub(super) duration: Option<Scalar>,
    pub(super) arguments: Vec<(String, TraceValue)>,
}

/// Something that happened within a span that is elsewhere.
pub(super) struct Instant {
    trace_id: String,
    span_id: String,
    event: TraceEvent,
}

impl ChromeEvent {
    /// Hands it on, if it is a span or belongs to one. Other events (counters, names, begins without an end) are
    /// passed over.
    pub(super) fn put<E: Error>(self, sink: &mut Sink) -> Result<(), E> {
        let Some(Scalar::Text(phase)) = &self.phase else {
            return Ok(());
        };
        sink.known = true;
        match phase.as_str() {
            "X" => sink.push(self.span()),
            "i" | "I" => match self.instant() {
                Some(instant) => sink.push_instant(instant),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn span(mut self) -> TraceSpan {
        let failed = self.take_text("status").as_deref() == Some("error");
        let message = self.take_text("status_description");
        let start = match self.take_text("start_unix_nano") {
            Some(nanos) => Scalar::Text(nanos).nanos(),
            None => self.start.take().map(|it| it.micros()).unwrap_or_default(),
        };
        let duration = self.duration.take().map(|it| it.micros());
        let end = match self.take_text("end_unix_nano") {
            Some(nanos) => Scalar::Text(nanos).nanos(),
            None => start.saturating_add(duration.unwrap_or_default()),
        };
        let parent = self.take_text("parent_id").map(|text| id(&text, SPAN));
        let kind = self
            .take_text("kind")
            .map(|word| kind_of(&Scalar::Text(word)));
        let mut span = TraceSpan {
            trace_id: self.take_id("trace_id", TRACE),
            span_id: self.take_id("span_id", SPAN),
            parent: parent.filter(|parent| !parent.is_empty()),
            name: self.take_name(),
            kind: kind.unwrap_or_default(),
            start,
            end: end.max(start),
            error: None,
            attributes: self.arguments,
            events: Vec::new(),
        };
        if failed {
            span.error = Some(why(&span, message.as_deref()));
        }
        span
    }

    fn instant(mut self) -> Option<Instant> {
        let span_id = self.take_id("span_id", SPAN);
        if span_id.is_empty() {
            return None;
        }
        let time = match self.take_text("time_unix_nano") {
            Some(nanos) => Scalar::Text(nanos).nanos(),
            None => self.start.take().map(|it| it.micros()).unwrap_or_default(),
        };
        Some(Instant {
            trace_id: self.take_id("trace_id", TRACE),
            span_id,
            event: TraceEvent {
                name: self.take_name(),
                time,
                attributes: self.arguments,
            },
        })
    }

    fn take_name(&mut self) -> String {
        match self.name.take() {
            Some(Scalar::Text(name)) => name,
            _ => String::new(),
        }
    }

    /// Takes the text of an argument out.
    fn take_text(&mut self, key: &str) -> Option<String> {
        let is_it = |(name, value): &(String, TraceValue)| {
            name == key && matches!(value, TraceValue::Text(_))
        };
        let place = self.arguments.iter().position(is_it)?;
        match self.arguments.remove(place).1 {
            TraceValue::Text(text) => Some(text),
            _ => None,
        }
    }

    fn take_id(&mut self, key: &str, bytes: usize) -> String {
        self.take_text(key)
            .map(|text| id(&text, bytes))
            .unwrap_or_default()
    }
}

/// Puts what happened into the spans within which it did.
pub(super) fn attach(spans: &mut [TraceSpan], mut instants: Vec<Instant>) {
    if instants.is_empty() {
        return;
    }
    let mut places: Vec<usize> = (0..spans.len()).collect();
    places.sort_by(|one, other| key(spans, *one).cmp(&key(spans, *other)));
    instants.sort_by_key(|instant| instant.event.time);
    for instant in instants {
        let wanted = (instant.trace_id.as_str(), instant.span_id.as_str());
        let found = places.partition_point(|place| key(spans, *place) < wanted);
        let Some(span) = places.get(found).and_then(|place| spans.get_mut(*place)) else {
            continue;
        };
        if (span.trace_id.as_str(), span.span_id.as_str()) == wanted && span.events.len() < EVENTS {
            span.events.push(instant.event);
        }
    }
}

fn key(spans: &[TraceSpan], place: usize) -> (&str, &str) {
    spans
        .get(place)
        .map(|span| (span.trace_id.as_str(), span.span_id.as_str()))
        .unwrap_or_default()
}
