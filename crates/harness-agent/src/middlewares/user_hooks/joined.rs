//! What several hooks answered, as one answer.

use harness_core::HookDecision;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Answer;
use super::hook::Hook;

/// The answers of all hooks of one event, joined in the order of the files: a block is one, whoever else
/// allows; `ask` comes before `allow`; the last rewriting counts; contexts add up. As it is on record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Joined {
    /// Why it is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) block: Option<String>,
    /// How many hooks were asked.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) asked: u32,
    /// The first hook that blocks or ends the run, and its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<Word>,
    /// The hook that decided that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_by: Option<String>,
    /// Why it was decided like that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) updated_input: Option<Value>,
    /// The hook that rewrote the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rewritten_by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) context: Vec<String>,
    /// Why the run is to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cancelled: bool,
    /// What people are told, when it is told.
    #[serde(skip)]
    pub(super) warnings: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "that is how serde asks")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A decision, on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    Allow,
    Ask,
}

impl From<Word> for HookDecision {
    fn from(word: Word) -> Self {
        match word {
            Word::Allow => Self::Allow,
            Word::Ask => Self::Ask,
        }
    }
}

impl Joined {
    pub(super) fn new<'h>(answers: impl IntoIterator<Item = (&'h Hook, Answer)>) -> Self {
        let mut joined = Self::default();
        for (hook, answer) in answers {
            joined.take(hook, answer);
        }
        joined
    }

    fn take(&mut self, hook: &Hook, answer: Answer) {
        self.asked = self.asked.saturating_add(1);
        self.cancelled |= answer.cancelled;
        self.warnings.extend(answer.warning);
        self.context.extend(answer.context);
        if answer.updated_input.is_some() {
            self.updated_input = answer.updated_input;
            self.rewritten_by = Some(hook.label());
        }
        if (answer.stop.is_some() || answer.block.is_some()) && self.by.is_none() {
            self.by = Some((hook.label(), hook.file().display().to_string()));
        }
        if let Some(reason) = answer.stop {
            self.stop.get_or_insert(reason);
        }
        if let Some(reason) = answer.block {
            if let Some(all) = &mut self.block {
                all.push_str("; ");
                all.push_str(&reason);
            } else {
                self.block = Some(reason);
            }
        }
        if let Some((decision, reason)) = answer.decision {
            let word = match decision {
                HookDecision::Allow => Word::Allow,
                HookDecision::Ask => Word::Ask,
            };
            if self.decision.is_none_or(|known| word > known) {
                self.decision = Some(word);
                self.decided_by = Some(hook.label());
                self.reason = reason;
            }
        }
    }
}
