//! Trace events: a line each, and at the end sorted and in the lanes they belong to.

use std::io::{self, Write as _};
use std::path::Path;

use opentelemetry::Key;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;

use super::chrome_event::{ChromeEvent, Place, nanos};
use super::lanes::{Extent, GrowingLanes, Lanes};
use super::unfinished::UnfinishedFile;

#[derive(Debug)]
pub(super) struct ChromeLines {
    file: UnfinishedFile,
    lanes: GrowingLanes,
    /// When the first span began that came; zero in the times of the unfinished file.
    origin: Option<u64>,
    process: Option<String>,
    spans: Vec<Written>,
}

/// A span that is in the file.
#[derive(Debug)]
struct Written {
    extent: Extent,
    /// Where its lines are.
    offset: u64,
    length: usize,
}

impl ChromeLines {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut file = UnfinishedFile::create(path)?;
        file.append(b"[\n")?;
        Ok(Self {
            file,
            lanes: GrowingLanes::default(),
            origin: None,
            process: None,
            spans: Vec::new(),
        })
    }

    pub(super) fn write(&mut self, resource: &Resource, spans: &[SpanData]) -> io::Result<()> {
        let mut lines = Vec::new();
        if self.process.is_none() {
            let name = resource.get(&Key::from_static_str("service.name"));
            let name = name.map_or_else(|| "trace".to_owned(), |name| name.to_string());
            push(&mut lines, &ChromeEvent::process_name(&name)?)?;
            self.process = Some(name);
        }
        let first = spans.iter().map(|span| nanos(span.start_time)).min();
        let origin = *self.origin.get_or_insert(first.unwrap_or_default());
        let mut written = Vec::with_capacity(spans.len());
        for span in spans {
            let extent = extent(span);
            let known = self.lanes.count();
            let lane = self.lanes.place(extent.start, extent.end);
            if lane > known {
                push(&mut lines, &lane_name(lane)?)?;
            }
            let begin = lines.len();
            let place = Place {
                lane,
                start: extent.start,
                end: extent.end,
                origin,
            };
            for event in ChromeEvent::of_span(span, place)? {
                push(&mut lines, &event)?;
            }
            written.push(Written {
                extent,
                offset: self.file.length() + begin as u64,
                length: lines.len() - begin,
            });
        }
        self.file.append(&lines)?;
        self.spans.append(&mut written);
        Ok(())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        let extents: Vec<Extent> = self.spans.iter().map(|span| span.extent.clone()).collect();
        let lanes = Lanes::of(&extents);
        let origin = extents.iter().map(|extent| extent.start).min();
        let (spans, process) = (&self.spans, &self.process);
        self.file.replace(|lines, array| {
            array.write_all(b"[")?;
            let mut between: &[u8] = b"\n";
            let mut put = |event: &ChromeEvent<'_>| -> io::Result<()> {
                array.write_all(between)?;
                between = b",\n";
                serde_json::to_writer(&mut *array, event)?;
                Ok(())
            };
            if let Some(process) = process {
                put(&ChromeEvent::process_name(process)?)?;
            }
            for lane in 1..=lanes.count {
                put(&lane_name(lane)?)?;
            }
            for index in &lanes.order {
                let (Some(span), Some(lane)) = (spans.get(*index), lanes.of_each.get(*index))
                else {
                    continue;
                };
                let place = Place {
                    lane: *lane,
                    start: span.extent.start,
                    end: span.extent.end,
                    origin: origin.unwrap_or_default(),
                };
                let block = lines.read(span.offset, span.length)?;
                for text in block.split(|byte| *byte == b'\n') {
                    let text = text.strip_suffix(b",").unwrap_or(text);
                    if !text.is_empty() {
                        let mut event: ChromeEvent<'_> = serde_json::from_slice(text)?;
                        event.put(place)?;
                        put(&event)?;
                    }
                }
            }
            array.write_all(b"\n]\n")
        })
    }
}

fn extent(span: &SpanData) -> Extent {
    let start = nanos(span.start_time);
    Extent {
        trace: u128::from_be_bytes(span.span_context.trace_id().to_bytes()),
        span: u64::from_be_bytes(span.span_context.span_id().to_bytes()),
        parent: u64::from_be_bytes(span.parent_span_id.to_bytes()),
        start,
        end: nanos(span.end_time).max(start),
    }
}

fn lane_name(lane: usize) -> serde_json::Result<ChromeEvent<'static>> {
    let name = match lane {
        1 => "run".to_owned(),
        lane => format!("at the same time {}", lane - 1),
    };
    ChromeEvent::lane_name(lane, &name)
}

fn push(lines: &mut Vec<u8>, event: &ChromeEvent<'_>) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *lines, event)?;
    lines.extend_from_slice(b",\n");
    Ok(())
}
