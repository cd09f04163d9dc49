//! Destinations in this process.

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;

/// A destination in this process, such as a file. It is called by the exporter's thread, batch by batch, in
/// the order in which spans ended; what it is given has passed the exporter's gate. While it works, everything
/// else waits: the queue may fill.
pub trait SpanSink: Send {
    /// Takes a batch. The error, a text in one line, is reported; the batch counts as dropped, and the next
    /// one is offered all the same.
    fn write(&mut self, resource: &Resource, spans: &[SpanData]) -> Result<(), String>;

    /// Ends: nothing comes after. Is called once, when the exporter finishes, also if no span ever came.
    fn finish(&mut self) -> Result<(), String>;
}
