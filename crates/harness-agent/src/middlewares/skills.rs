//! Tells the model which skills there are.

use harness_core::{HookSet, Middleware, MiddlewareError, RunContext, SystemPrompt, async_trait};
use harness_prompt::{Error, Section, Templates};
use serde_json::json;

use crate::skill::SkillSummary;

/// When the prompt is too large, skills give way before instructions and memory do.
const RANK: u8 = 130;

/// The most characters of a description: what the Agent Skills standard allows (agentskills.io).
const MAX_DESCRIPTION: usize = 1_024;

/// Adds the section `skills`: name, description and file of each, never the skill itself, which the
/// model reads when a task asks for it. Without skills there is no section.
#[derive(Debug)]
pub struct SkillsMiddleware {
    section: Option<Section>,
}

impl SkillsMiddleware {
    /// With these skills, in this order.
    pub fn new(skills: &[SkillSummary], templates: &Templates) -> Result<Self, Error> {
        let skills: Vec<_> = skills
            .iter()
            .map(|skill| {
                json!({
                    "name": escaped(&skill.name),
                    "file": escaped(&skill.file.display().to_string()),
                    "description": escaped(&skill.description),
                })
            })
            .collect();
        let section = templates.section("skills", &json!({ "skills": skills }))?;
        Ok(Self {
            section: section.map(|section| section.with_rank(RANK)),
        })
    }
}

#[async_trait]
impl Middleware for SkillsMiddleware {
    fn name(&self) -> &'static str {
        "skills"
    }

    fn hooks(&self) -> HookSet {
        match self.section {
            Some(_) => HookSet::SYSTEM_PROMPT,
            None => HookSet::empty(),
        }
    }

    async fn on_system_prompt(
        &self,
        _: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(match &self.section {
            Some(section) => prompt.with(section.clone()),
            None => prompt,
        })
    }
}

/// A text in one line, as XML has it.
fn escaped(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars().take(MAX_DESCRIPTION) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
