//! Tells the model where it works.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use harness_core::{HookSet, Middleware, MiddlewareError, RunContext, SystemPrompt, async_trait};
use harness_prompt::{SystemPromptValues, default_sections};

/// The name of the section that [`WorkspaceMiddleware`] adds.
pub const WORKSPACE_SECTION: &str = "workspace";

/// Adds the run's working folder and the platform to the system prompt.
///
/// A run without a working folder gets no such section. The section is stable: it differs between
/// runs, not between the turns of one.
#[derive(Debug, Default)]
pub struct WorkspaceMiddleware {
    /// The text for the folder that was asked for last: most agents work in one.
    last: Mutex<Option<(PathBuf, Arc<str>)>>,
}

impl WorkspaceMiddleware {
    fn text(&self, folder: &Path) -> Result<Arc<str>, harness_prompt::Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, text)) = &*last
            && known == folder
        {
            return Ok(Arc::clone(text));
        }
        let values = SystemPromptValues {
            working_dir: folder.display().to_string(),
            platform: std::env::consts::OS.to_owned(),
            ..SystemPromptValues::default()
        };
        let text: Arc<str> = default_sections(&values)?
            .into_iter()
            .find(|section| *section.name == *WORKSPACE_SECTION)
            .map_or_else(|| Arc::from(""), |section| section.text);
        *last = Some((folder.to_owned(), Arc::clone(&text)));
        Ok(text)
    }
}

#[async_trait]
impl Middleware for WorkspaceMiddleware {
    fn name(&self) -> &'static str {
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
        let Some(folder) = cx.working_dir() else {
            return Ok(prompt);
        };
        let text = self.text(folder)?;
        Ok(prompt.with_section(WORKSPACE_SECTION, text, self.name()))
    }
}
