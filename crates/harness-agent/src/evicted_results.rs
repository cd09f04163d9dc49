//! Which results of a conversation gave way, and to what.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use harness_core::{MessageRef, OutputPart, ToolOutcome, ToolResults};

/// Beyond so many, those whose results are gone are forgotten.
const MANY: usize = 4_096;

/// Messages of results, each with the one that is shown in its place.
///
/// The results themselves are not held, so that a conversation that forgets them frees their memory.
#[derive(Debug, Default)]
pub(crate) struct EvictedResults {
    /// By the id of the first call.
    by_call: HashMap<String, Vec<Evicted>>,
    count: usize,
}

#[derive(Debug)]
struct Evicted {
    outcomes: Vec<Weak<ToolOutcome>>,
    digest: u64,
    shown: MessageRef,
}

impl EvictedResults {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What is shown in place of a message.
    ///
    /// A message is known again by its outcomes in memory, or else by its content: somebody may make
    /// the messages anew for every turn.
    pub(crate) fn shown(&self, results: &ToolResults) -> Option<&MessageRef> {
        let first = results.results.first()?;
        let known = self.by_call.get(&first.call_id)?;
        let same = known.iter().find(|one| one.is_of(results)).or_else(|| {
            let digest = digest(results);
            known.iter().find(|one| one.digest == digest)
        });
        same.map(|one| &one.shown)
    }

    /// Shows a message in place of another from now on.
    pub(crate) fn put(&mut self, results: &ToolResults, shown: MessageRef) {
        let Some(first) = results.results.first() else {
            return;
        };
        if self.count >= MANY {
            self.forget();
        }
        let outcomes = results.results.iter();
        self.count += 1;
        self.by_call
            .entry(first.call_id.clone())
            .or_default()
            .push(Evicted {
                outcomes: outcomes.map(|one| Arc::downgrade(&one.outcome)).collect(),
                digest: digest(results),
                shown,
            });
    }

    fn forget(&mut self) {
        self.by_call.retain(|_, known| {
            known.retain(|one| one.outcomes.iter().any(|one| one.strong_count() > 0));
            !known.is_empty()
        });
        self.count = self.by_call.values().map(Vec::len).sum();
    }
}

impl Evicted {
    fn is_of(&self, results: &ToolResults) -> bool {
        let outcomes = results.results.iter().map(|one| Arc::as_ptr(&one.outcome));
        self.outcomes.iter().map(Weak::as_ptr).eq(outcomes)
    }
}

fn digest(results: &ToolResults) -> u64 {
    let mut hasher = DefaultHasher::new();
    for result in &results.results {
        (&result.call_id, &result.name).hash(&mut hasher);
        std::mem::discriminant(&*result.outcome).hash(&mut hasher);
        if let ToolOutcome::Done(output) | ToolOutcome::Failed(output) = &*result.outcome {
            for part in &output.parts {
                match part {
                    OutputPart::Text(text) => text.text.hash(&mut hasher),
                    OutputPart::Image(image) => image.data.hash(&mut hasher),
                    _ => {}
                }
            }
        }
    }
    hasher.finish()
}
