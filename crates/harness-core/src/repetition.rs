//! Noticing that a model goes round in circles.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::batch::Batch;
use crate::context::RunContext;
use crate::event::Event;
use crate::message::ToolResults;
use crate::outcome::{LimitReached, RunStatus, ToolOutcome};

/// After how many identical calls with identical results a warning is sent.
const WARN_AFTER: u32 = 10;

/// Counts identical calls.
///
/// Only failures end a run. A success may be repeated for good reason (waiting for something outside),
/// so it only makes a warning; the limit of turns bounds it.
#[derive(Default)]
pub(crate) struct Repetition {
    /// Failures since the last success, by call and result.
    failures: HashMap<u64, u32>,
    /// The last single success, and how often it came in a row.
    success: Option<(String, String, Arc<ToolOutcome>)>,
    successes: u32,
}

impl Repetition {
    /// Takes in the results of a batch; `Some` if they end the run.
    pub(crate) fn see(
        &mut self,
        cx: &RunContext,
        batch: &Batch<'_>,
        results: &ToolResults,
        max_failures: u32,
    ) -> Option<RunStatus> {
        for (call, result) in batch.calls().iter().zip(&results.results) {
            if result.outcome.is_error() {
                let mut hasher = DefaultHasher::new();
                (&call.name, &call.arguments, result.outcome.shown_text()).hash(&mut hasher);
                let times = self.failures.entry(hasher.finish()).or_insert(0);
                *times += 1;
                if *times >= max_failures {
                    let tool = call.name.clone();
                    return Some(RunStatus::Limit(LimitReached::RepeatedFailure {
                        tool,
                        times: *times,
                    }));
                }
                continue;
            }
            self.failures.clear();
            let same = self
                .success
                .as_ref()
                .is_some_and(|(name, arguments, outcome)| {
                    *name == call.name && *arguments == call.arguments && *outcome == result.outcome
                });
            if same {
                self.successes += 1;
                if self.successes == WARN_AFTER {
                    cx.emit(Event::Warning {
                        message: format!(
                            "the model made the same call to `{}` {WARN_AFTER} times in a row, with \
                             the same result",
                            call.name
                        ),
                    });
                }
            } else {
                let outcome = Arc::clone(&result.outcome);
                self.success = Some((call.name.clone(), call.arguments.clone(), outcome));
                self.successes = 1;
            }
        }
        None
    }
}
