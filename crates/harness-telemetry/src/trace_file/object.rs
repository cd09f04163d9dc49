//! The objects and lists of a trace, whichever program wrote them: read one after the other, without holding them.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::chrome_span::ChromeEvent;
use super::otlp_span::OtlpSpan;
use super::plain_value::Arguments;
use super::sink::Sink;

/// Reads an object of OTLP down to its spans, a trace event, or a list of these.
pub(super) struct Object<'a>(pub(super) &'a mut Sink);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.depth += 1;
        deserializer.deserialize_any(ObjectVisitor(&mut *self.0))?;
        self.0.depth -= 1;
        Ok(())
    }
}

/// What one document has.
impl<'de> Deserialize<'de> for Sink {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut sink = Self::default();
        Object(&mut sink).deserialize(deserializer)?;
        Ok(sink)
    }
}

struct ObjectVisitor<'a>(&'a mut Sink);

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of a trace")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Object(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let sink = self.0;
        let mut event = ChromeEvent::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "resourceSpans"
                | "resource_spans"
                | "batches"
                | "scopeSpans"
                | "scope_spans"
                | "instrumentationLibrarySpans"
                | "traceEvents" => {
                    sink.known = true;
                    map.next_value_seed(Object(&mut *sink))?;
                }
                // Tempo puts the document into one more.
                "trace" => map.next_value_seed(Object(&mut *sink))?,
                "spans" => map.next_value_seed(Spans(&mut *sink))?,
                "ph" => event.phase = map.next_value()?,
                "name" => event.name = map.next_value()?,
                "ts" => event.start = map.next_value()?,
                "dur" => event.duration = map.next_value()?,
                "args" => event.arguments = map.next_value_seed(Arguments)?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        event.put(sink)
    }
}

/// Reads a list of spans.
struct Spans<'a>(&'a mut Sink);

impl<'de> DeserializeSeed<'de> for Spans<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Spans<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of spans")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(span) = list.next_element::<OtlpSpan>()? {
            self.0.push(span.into_span())?;
        }
        Ok(())
    }
}
