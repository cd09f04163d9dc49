//! Traces as files: written while a run goes, and read again.
//!
//! # The formats
//!
//! | | while the run goes, and of a process that was killed | when it has ended |
//! |---|---|---|
//! | [`Otlp`](TraceFormat::Otlp) | one object `{"resourceSpans":[…]}` a line, as the file exporter of OpenTelemetry is specified to write | one object with all spans |
//! | [`Chrome`](TraceFormat::Chrome) | an array of events, an event a line, without its closing bracket | the array, sorted, with its bracket |
//!
//! # What viewers open
//!
//! What is known of them is from their sources and issues, not from trying each version of them:
//!
//! - Jaeger's "Upload" takes one JSON document with `resourceSpans`, and has its server turn it into spans, so that a
//!   Jaeger without its server cannot. Versions since 2024 take lines as well (`readJsonFile.tsx` and issue 2225 of
//!   `jaegertracing/jaeger-ui`; older ones say «Unexpected non-whitespace character after JSON»: issue 4949 of
//!   `jaegertracing/jaeger`). That is why a run's end makes one document of the lines.
//! - The collector's `otlpjsonfile` receiver takes lines; one document is a file of one line.
//! - Grafana's "Import trace" wants the key `batches`, as Tempo's interface has it, in the place of `resourceSpans`
//!   (`datasource.ts` of its data source for Tempo, and issue 106668 of `grafana/grafana`):
//!   `jq '{batches: .resourceSpans}'` makes such a file. [`Trace::read`] takes both.
//! - Perfetto (`ui.perfetto.dev`) and `chrome://tracing` take the array. The format's description says that its closing
//!   bracket is optional, and the importer of `chrome://tracing` adds one. Within a thread, spans must be one inside the
//!   other: Perfetto draws others wrongly (its FAQ, issues 878 and 4280 of `google/perfetto`), and those that begin
//!   together in the order of the file. So what overlaps is put on threads of its own, and the outer span comes first.
//!   While a run goes, the outer spans are not known yet: then every span has a thread that nothing else of that time
//!   is on, and the nesting is right at the end only.
//!
//! Times of the Chrome format are microseconds since the first span, since the viewers calculate in floating point, in
//! which times since 1970 lose their last digits. The full times are in the arguments.

mod at_most;
mod chrome_event;
mod chrome_lines;
mod chrome_span;
mod error;
mod format;
mod id;
mod lanes;
mod object;
mod otlp_lines;
mod otlp_span;
mod plain_value;
mod reader;
mod scalar;
mod sink;
mod span_sink;
mod unfinished;
mod writer;

pub use error::TraceFileError;
pub use format::TraceFormat;
pub use writer::TraceFileWriter;

#[cfg(doc)]
use crate::trace::Trace;
