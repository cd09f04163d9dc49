//! What a session used.

use harness_core::Usage;

use super::clip::dollars;

/// What a session used, on all its branches.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Replies of models.
    pub(super) turns: u64,
    /// Calls that models asked for.
    pub(super) calls: u64,
    /// Calls that ended otherwise than done.
    pub(super) failed: u64,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
}

/// What something cost, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    known: f64,
    some_known: bool,
    some_unknown: bool,
}

impl Cost {
    pub(super) fn add(&mut self, cost: Option<f64>) {
        match cost {
            Some(cost) if cost.is_finite() => {
                self.known += cost;
                self.some_known = true;
            }
            _ => self.some_unknown = true,
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.known += other.known;
        self.some_known |= other.some_known;
        self.some_unknown |= other.some_unknown;
    }

    pub(super) fn is_complete(&self) -> bool {
        !self.some_unknown
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.some_known && !self.some_unknown
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        match (self.some_known, self.some_unknown) {
            (false, false) => "nothing".to_owned(),
            (false, true) => "unknown".to_owned(),
            (true, false) => dollars(self.known),
            (true, true) => format!("at least {}", dollars(self.known)),
        }
    }
}
