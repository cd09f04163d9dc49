//! A trace file as a destination of an exporter.

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;

use super::TraceFileWriter;
use crate::export::SpanSink;

impl SpanSink for TraceFileWriter {
    fn write(&mut self, resource: &Resource, spans: &[SpanData]) -> Result<(), String> {
        Self::write(self, resource, spans)
            .map_err(|error| format!("the trace file cannot be written: {error}"))
    }

    fn finish(&mut self) -> Result<(), String> {
        Self::finish(self).map_err(|error| format!("the trace file cannot be finished: {error}"))
    }
}
