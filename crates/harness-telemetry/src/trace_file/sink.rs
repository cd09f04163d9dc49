//! Where spans go that are read.

use serde::de::Error;

use super::chrome_span::Instant;
use super::error::TraceFileError;
use crate::trace::TraceSpan;

/// The most spans that are read.
const MAX_SPANS: usize = 200_000;

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
    /// Adds what another document has.
    pub(super) fn add(&mut self, other: Self) -> Result<(), TraceFileError> {
        let Self {
            mut spans,
            mut instants,
            known,
            ..
        } = other;
        self.known |= known;
        self.spans.append(&mut spans);
        self.instants.append(&mut instants);
        if self.spans.len().max(self.instants.len()) > MAX_SPANS || other.full {
            return Err(Self::too_many());
        }
        Ok(())
    }

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

    /// That there was more than is read.
    pub(super) fn too_many() -> TraceFileError {
        TraceFileError::TooManySpans { limit: MAX_SPANS }
    }

    fn overflow<E: Error>(&mut self) -> E {
        self.full = true;
        E::custom("too many spans")
    }
}
