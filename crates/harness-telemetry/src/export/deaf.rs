//! A subscriber that sees nothing.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Sees nothing, and keeps nobody else from seeing.
///
/// `tracing` remembers of each place in the code whether any subscriber wants to see it, and while there is but one
/// in the process, it asks that of the thread which comes there first. A thread that had none would answer for all,
/// and the program would miss what its HTTP client tells. This one is registered, says of each place that it may be
/// wanted, which leaves the answer to the others, and wants nothing when it is asked.
pub(super) struct Deaf;

impl Subscriber for Deaf {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::always()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    /// Not to raise the level of the process.
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::OFF)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
