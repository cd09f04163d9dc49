//! The span of loading a skill.

use harness_skills::Activation;
use harness_telemetry::harness::{Skill, SkillEnd, skill};

/// A skill that is being loaded.
pub(crate) struct SkillSpan(skill::Span);

impl SkillSpan {
    /// `by` is who asked: `model`, `user`.
    pub(crate) fn start(name: &str, by: &str) -> Self {
        Self(skill(Skill { skill: name, by }).start())
    }

    /// It could not be loaded.
    pub(crate) fn failed(self) {
        self.0.end(SkillEnd { outcome: "failed" });
    }

    /// It is loaded, or was already.
    pub(crate) fn loaded(self, activation: &Activation, again: bool) {
        let outcome = if again { "again" } else { "loaded" };
        if !self.0.span().is_disabled() {
            self.0.digest(&*activation.digest().to_string());
            self.0.layer(activation.skill.layer.name());
        }
        self.0.end(SkillEnd { outcome });
    }
}
