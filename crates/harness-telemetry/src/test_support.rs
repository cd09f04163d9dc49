//! Spans in memory, and whether they keep to their schemas.

mod check;
mod recording;

pub use recording::{RecordedEvent, RecordedSpan, Recording};
