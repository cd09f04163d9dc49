//! OTLP as JSON: a line for each batch, and at the end one document.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

use opentelemetry::Value;
use opentelemetry_proto::tonic::trace::v1::TracesData;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;

use super::unfinished::UnfinishedFile;

/// How each line begins.
const BEGIN: &[u8] = b"{\"resourceSpans\":[";
/// How each line ends.
const END: &[u8] = b"]}";

#[derive(Debug)]
pub(super) struct OtlpLines {
    file: UnfinishedFile,
}

impl OtlpLines {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: UnfinishedFile::create(path)?,
        })
    }

    pub(super) fn write(&mut self, resource: &Resource, spans: &[SpanData]) -> io::Result<()> {
        let resource = ResourceAttributesWithSchema::from(resource);
        let spans = spans.iter().cloned().map(without_none).collect();
        let data = TracesData {
            resource_spans: group_spans_by_resource_and_scope(spans, &resource),
        };
        let mut line = serde_json::to_vec(&data)?;
        if !(line.starts_with(BEGIN) && line.ends_with(END)) {
            return Err(io::Error::other("a batch has an unknown form"));
        }
        line.push(b'\n');
        self.file.append(&line)
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.file.replace(|lines, document| {
            document.write_all(BEGIN)?;
            let mut line = Vec::new();
            let mut between: &[u8] = b"";
            let length = lines.length();
            let mut reader = BufReader::new(lines.rewind()?);
            let mut read = 0;
            while read < length {
                line.clear();
                let count = reader.read_until(b'\n', &mut line)?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                read += count as u64;
                let spans = line.trim_ascii_end().strip_prefix(BEGIN);
                let Some(spans) = spans.and_then(|spans| spans.strip_suffix(END)) else {
                    return Err(io::Error::other("another program has changed the file"));
                };
                document.write_all(between)?;
                document.write_all(spans)?;
                between = b",\n";
            }
            document.write_all(END)?;
            document.write_all(b"\n")
        })
    }
}

/// JSON has no infinite numbers and none that is no number: they become texts.
fn without_none(mut span: SpanData) -> SpanData {
    let events = span.events.events.iter_mut();
    let attributes = span
        .attributes
        .iter_mut()
        .chain(events.flat_map(|event| event.attributes.iter_mut()));
    for attribute in attributes {
        if let Value::F64(number) = attribute.value
            && !number.is_finite()
        {
            attribute.value = Value::from(number.to_string());
        }
    }
    span
}
