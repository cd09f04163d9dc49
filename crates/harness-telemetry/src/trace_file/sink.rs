//! Where spans go that are read.

use serde::de::Error;

use super::chrome_span::Instant;
use crate::trace::TraceSpan;

/// The most spans that are read.
pub(super) const MAX_SPANS: usize = 200_000;

/// What was found so far. It stays when the text ends in the middle.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) spans: Vec<TraceSpan>,
    pub(super) instants: Vec<Instant>,
    /// Whether something was there that only traces have.
    pub(super) known: bool,
    /// Whether there was more than is read.
    pub(super) full: bool,
    /// In how many objects and lists of a trace the reader is.
    pub(super) depth: usize,
}

impl Sink {
    pub(super) fn push<E: Error>(&mut self, span: TraceSpan) -> Result<(), E> {
        if self.spans.len() >= MAX_SPANS {
            return Err(self.overflow());
        }
        self.spans.push(span);
        Ok(())
    }

    pub(super) fn push_instant<E: Error>(&mut self, instant: Instant) -> Result<(), E> {
        if self.instants.len() >= MAX_SPANS {
            return Err(self.overflow());
        }
        self.instants.push(instant);
        Ok(())
    }

    fn overflow<E: Error>(&mut self) -> E {
        self.full = true;
        E::custom("too many spans")
    }
}
