//! What a run and those that it started use together.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::context::RunContext;
use crate::limits::Limits;
use crate::outcome::LimitReached;
use crate::usage::Usage;

/// What runs have used: turns, tokens, money.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expense {
    /// Turns that were completed.
    pub turns: u32,
    /// Tokens.
    pub usage: Usage,
    /// US dollars; `None` where the prices of a model are not known.
    pub cost: Option<f64>,
}

impl Default for Expense {
    fn default() -> Self {
        Self {
            turns: 0,
            usage: Usage::default(),
            cost: Some(0.0),
        }
    }
}

impl Expense {
    /// Adds another one. A sum of which a part is not known is not known.
    pub fn add(&mut self, other: &Self) {
        self.turns = self.turns.saturating_add(other.turns);
        self.usage.add(&other.usage);
        self.cost = self.cost.zip(other.cost).map(|(sum, cost)| sum + cost);
    }

    /// The limit that it has reached, if there is one.
    pub(crate) fn reached(&self, limits: &Limits) -> Option<LimitReached> {
        if self.turns >= limits.max_turns {
            return Some(LimitReached::Turns {
                max: limits.max_turns,
            });
        }
        if let Some(max) = limits.max_tokens
            && self.usage.total() >= max
        {
            return Some(LimitReached::Tokens {
                max,
                used: self.usage.total(),
            });
        }
        if let (Some(max), Some(used)) = (limits.max_cost, self.cost)
            && used >= max
        {
            return Some(LimitReached::Cost { max, used });
        }
        None
    }
}

/// What counts in one run: what it uses itself, and what the runs use that were started within it.
///
/// A run sees what its children used when it looks at its limits, and that is on record then. Its children look
/// at the whole at once, so that many of them together cannot use more than there is.
#[derive(Debug)]
pub(crate) struct Spending {
    limits: Limits,
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    /// Its own, and that of all below it.
    all: Expense,
    /// What those below it used since the run looked last.
    unseen: Expense,
}

impl Spending {
    pub(crate) fn new(limits: Limits) -> Self {
        let sums = Mutex::default();
        Self { limits, sums }
    }

    fn sums(&self) -> std::sync::MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What those below it used since it was asked last, if they did.
    pub(crate) fn take_unseen(&self) -> Option<Expense> {
        let unseen = std::mem::take(&mut self.sums().unseen);
        (unseen != Expense::default()).then_some(unseen)
    }

    fn reached(&self) -> Option<LimitReached> {
        let all = self.sums().all;
        all.reached(&self.limits)
    }
}

impl RunContext {
    /// Counts what this run used, here and in all runs around it.
    pub(crate) fn spend(&self, expense: &Expense) {
        if let Some(spending) = self.spending() {
            spending.sums().all.add(expense);
        }
        for outer in std::iter::successors(self.parent(), |run| run.parent()) {
            if let Some(spending) = outer.spending() {
                let mut sums = spending.sums();
                sums.all.add(expense);
                sums.unseen.add(expense);
            }
        }
    }

    /// The limit of a run around this one that was reached, if there is one.
    pub(crate) fn outer_limit(&self) -> Option<LimitReached> {
        std::iter::successors(self.parent(), |run| run.parent())
            .filter_map(RunContext::spending)
            .find_map(Spending::reached)
            .map(|reached| LimitReached::Outer {
                reached: Box::new(reached),
            })
    }
}
