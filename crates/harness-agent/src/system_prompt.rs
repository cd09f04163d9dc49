//! Where the system prompt starts from.

use harness_core::{SystemPrompt, ToolRef};
use harness_prompt::{SystemPromptValues, Templates, ToolHint};

use crate::error::Error;

/// What the system prompt is before any middleware has seen it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemPromptSource {
    /// The default template: role, rules, hints for the tools on offer.
    #[default]
    Default,
    /// A text in the place of the default template. Sections that middlewares add still follow.
    Text(String),
    /// Nothing: only what middlewares add.
    Empty,
}

impl SystemPromptSource {
    /// The prompt for these tools.
    pub(crate) fn prompt(
        &self,
        templates: &Templates,
        tools: &[ToolRef],
    ) -> Result<SystemPrompt, Error> {
        let mut prompt = SystemPrompt::default();
        match self {
            Self::Empty => {}
            Self::Text(text) => prompt = prompt.with_section("role", text.as_str(), "caller"),
            Self::Default => {
                let values = SystemPromptValues {
                    tools: tools
                        .iter()
                        .map(|tool| ToolHint {
                            name: tool.spec().name.clone(),
                            hint: String::new(),
                        })
                        .collect(),
                    ..SystemPromptValues::default()
                };
                for section in templates.system_prompt(&values)? {
                    // Where the agent works may differ from run to run: a middleware adds it.
                    if *section.name != *crate::middlewares::WORKSPACE_SECTION {
                        prompt = prompt.with(section);
                    }
                }
            }
        }
        Ok(prompt)
    }
}
