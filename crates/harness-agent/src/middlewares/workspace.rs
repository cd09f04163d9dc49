//! Tells the model where it works.

use harness_core::{
    HookSet, Middleware, MiddlewareError, RunContext, SystemPrompt, async_trait,
};
use harness_prompt::{SystemPromptValues, default_sections};

/// The name of the section that [`WorkspaceMiddleware`] adds.
pub const WORKSPACE_SECTION: &str = "workspace";

/// Adds the run's working folder and the platform to the system prompt.
///
/// A run without a working folder gets no such section. The section is stable: it differs between
/// runs, not between the turns of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkspaceMiddleware;

#[async_trait]
impl Middleware for WorkspaceMiddleware {
    fn name(&self) -> &str {
        "workspace"
    }

    fn hooks(&self) -> HookSet {
        HookSet::SYSTEM_PROMPT
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        let Some(folder) = cx.working_dir() else { return Ok(prompt) };
        let values = SystemPromptValues {
            working_dir: folder.display().to_string(),
            platform: std::env::consts::OS.to_owned(),
            ..SystemPromptValues::default()
        };
        let section =
            default_sections(&values)?.into_iter().find(|section| section.name == WORKSPACE_SECTION);
        Ok(match section {
            Some(section) => prompt.with_section(WORKSPACE_SECTION, section.text, self.name()),
            None => prompt,
        })
    }
}
