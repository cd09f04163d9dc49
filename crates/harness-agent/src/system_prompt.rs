//! Where the system prompt starts from.

use harness_core::{Section, SystemPrompt, ToolRef};
use harness_prompt::{Library, SystemPromptValues, ToolHint};

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
        library: &Library,
        tools: &[ToolRef],
        warnings: &mut Vec<String>,
    ) -> Result<SystemPrompt, Error> {
        let mut prompt = SystemPrompt::default();
        match self {
            Self::Empty => {}
            Self::Text(text) => {
                let section = Section::new("role", text.as_str(), "caller");
                prompt = prompt.with(section.with_rank(Section::ESSENTIAL));
            }
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
                let (sections, errors) = library.system_prompt(&values)?;
                warnings.extend(errors.iter().map(fallback_warning));
                for section in sections {
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

/// What a person should know of a replacement that could not be rendered.
pub(crate) fn fallback_warning(error: &harness_prompt::Error) -> String {
    format!("{error}; the built-in template is used")
}
