//! Code that changes several parts of an agent at once.

use std::error::Error as StdError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use harness_core::{SystemPrompt, ToolRef, async_trait};
use harness_skills::Skill;

use crate::assembly::LoopDraft;
use crate::error::Error;
use crate::summary::SummaryDraft;

/// What a hook of an [`Extension`] gives back. Any error fits, and so does a text: `Err("why".into())`.
pub type ExtensionResult<T> = Result<T, Box<dyn StdError + Send + Sync>>;

/// Code that changes several parts of an agent at once: its prompt, its tools, its skills, how its
/// conversations are summarised.
///
/// Extensions run in the order of their registration, and each sees the last one's result. The build
/// hooks run whenever a configuration is [put together](crate::AgentHarness::build_loop_config): skills,
/// then tools, then the system prompt, then the whole. An error, or a panic, in one of them fails the
/// build and names the extension.
///
/// What acts while a run goes is a [`Middleware`](harness_core::Middleware); an extension can bring some
/// along in [`on_build_loop_config`](Self::on_build_loop_config).
///
/// ```
/// use harness_agent::{AgentHarness, Extension, ExtensionResult};
/// use harness_agent::core::{SystemPrompt, ToolRef};
///
/// /// Makes an agent that can look and cannot touch.
/// struct LookOnly;
///
/// impl Extension for LookOnly {
///     fn name(&self) -> &str {
///         "look-only"
///     }
///
///     fn on_build_tools(&self, mut tools: Vec<ToolRef>) -> ExtensionResult<Vec<ToolRef>> {
///         tools.retain(|tool| matches!(&*tool.spec().name, "read" | "grep" | "find" | "ls"));
///         Ok(tools)
///     }
///
///     fn on_build_system_prompt(&self, prompt: SystemPrompt) -> ExtensionResult<SystemPrompt> {
///         Ok(prompt.with_section("look-only", "You cannot change anything.", self.name()))
///     }
/// }
/// # use harness_agent::core::test_support::ScriptedModel;
/// # let model = ScriptedModel::new([]);
/// let agent = AgentHarness::builder().model(model).extension(LookOnly).build()?;
/// assert!(agent.loop_config().system_prompt().text().contains("You cannot change anything."));
/// # Ok::<(), harness_agent::Error>(())
/// ```
#[async_trait]
pub trait Extension: Send + Sync + 'static {
    /// A name for errors and for the reasons why a tool is there or not.
    fn name(&self) -> &str;

    /// Changes which skills there are, for the model and for the user. It is asked when a configuration is
    /// built, and again whenever the skills on disk have changed. What it leaves out is held back.
    fn on_build_skills(&self, skills: Vec<Arc<Skill>>) -> ExtensionResult<Vec<Arc<Skill>>> {
        Ok(skills)
    }

    /// Changes which tools are offered. The order is the one in which the model is told of them.
    fn on_build_tools(&self, tools: Vec<ToolRef>) -> ExtensionResult<Vec<ToolRef>> {
        Ok(tools)
    }

    /// Changes the system prompt that middlewares start from.
    fn on_build_system_prompt(&self, prompt: SystemPrompt) -> ExtensionResult<SystemPrompt> {
        Ok(prompt)
    }

    /// Changes anything else before the configuration is built: middlewares, limits, retries, how a
    /// batch runs.
    fn on_build_loop_config(&self, draft: LoopDraft) -> ExtensionResult<LoopDraft> {
        Ok(draft)
    }

    /// Changes how a conversation that became too long is summarised, or gives the summary itself.
    async fn on_compaction(&self, draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        Ok(draft)
    }

    /// The same for a branch of a conversation that is left for another one.
    async fn on_branch_summary(&self, draft: SummaryDraft) -> ExtensionResult<SummaryDraft> {
        Ok(draft)
    }
}

/// Runs a build hook.
pub(crate) fn build_hook<T>(
    extension: &dyn Extension,
    hook: &'static str,
    run: impl FnOnce() -> ExtensionResult<T>,
) -> Result<T, Error> {
    let problem = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("it panicked: {}", panic_text(&*panic)),
    };
    Err(failed(extension, hook, problem))
}

pub(crate) fn failed(extension: &dyn Extension, hook: &'static str, message: String) -> Error {
    Error::Extension {
        extension: extension.name().to_owned(),
        hook,
        message,
    }
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
