//! The agent that the command line runs, as a value.

use std::sync::Arc;

use harness_core::{Limits, Middleware, Model, RetryPolicy, Secrets, ThinkingLevel};
use harness_prompt::Library;
use harness_skills::Skills;
use harness_telemetry::middleware::Telemetry;
use harness_tools::{Workspace, default_tools};

use crate::error::Error;
use crate::harness::AgentHarness;
use crate::middlewares::{PlanModeMiddleware, SubagentOptions, WorkspaceContextOptions};
use crate::system_prompt::SystemPromptSource;

/// What [`default_harness`] is made from.
#[derive(Clone)]
#[non_exhaustive]
pub struct DefaultOptions {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The folder that the tools work in.
    pub workspace: Workspace,
    /// The tools on offer, by name; `None`: all of [`default_tools`].
    pub tools: Option<Vec<String>>,
    /// Where the system prompt starts from.
    pub system_prompt: SystemPromptSource,
    /// Texts behind the system prompt's own sections.
    pub append_system_prompt: Vec<String>,
    /// What the model is told of the workspace.
    pub workspace_context: WorkspaceContextOptions,
    /// Whether the model keeps a list of tasks. Default: no.
    pub task_list: bool,
    /// Plan mode, if there is one. Default: none.
    pub plan_mode: Option<PlanModeMiddleware>,
    /// Templates and slash commands.
    pub library: Library,
    /// Skills. Default: none.
    pub skills: Option<Skills>,
    /// Agents that the model can hand work to. Default: none.
    pub subagents: Option<SubagentOptions>,
    /// How much the model should think.
    pub thinking: ThinkingLevel,
    /// The bounds of a run.
    pub limits: Limits,
    /// How failed requests are retried.
    pub retry: RetryPolicy,
    /// More middlewares, outside the built-in ones: a policy about calls, say. Default: none.
    pub middlewares: Vec<Arc<dyn Middleware>>,
    /// What records runs. Default: nothing.
    pub telemetry: Option<Telemetry>,
    /// What must show in nothing that tools give back. Default: nothing.
    pub secrets: Secrets,
}

impl DefaultOptions {
    /// The defaults, for a model and a folder.
    pub fn new(model: Arc<dyn Model>, workspace: Workspace) -> Self {
        Self {
            model,
            workspace,
            tools: None,
            system_prompt: SystemPromptSource::default(),
            append_system_prompt: Vec::new(),
            workspace_context: WorkspaceContextOptions::default(),
            task_list: false,
            plan_mode: None,
            library: Library::new(),
            skills: None,
            subagents: None,
            thinking: ThinkingLevel::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            middlewares: Vec::new(),
            telemetry: None,
            secrets: Secrets::new(),
        }
    }
}

impl std::fmt::Debug for DefaultOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DefaultOptions")
            .field("model", &self.model.info().id)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// The default agent: the seven tools in a workspace, and the default system prompt.
///
/// `Err` if a tool is asked for that does not exist.
pub fn default_harness(options: DefaultOptions) -> Result<AgentHarness, Error> {
    let mut builder = AgentHarness::builder()
        .shared_model(options.model)
        .tools(default_tools(&options.workspace))
        .workspace(&options.workspace)
        .system_prompt(options.system_prompt)
        .workspace_context(options.workspace_context)
        .task_list(options.task_list)
        .library(options.library)
        .thinking(options.thinking)
        .limits(options.limits)
        .retry(options.retry)
        .secrets(options.secrets);
    if let Some(skills) = options.skills {
        builder = builder.skills(skills);
    }
    if let Some(subagents) = options.subagents {
        builder = builder.subagents(subagents);
    }
    for middleware in options.middlewares {
        builder = builder.shared_middleware(middleware);
    }
    if let Some(telemetry) = options.telemetry {
        builder = builder.telemetry(telemetry);
    }
    if let Some(plan_mode) = options.plan_mode {
        builder = builder.plan_mode(plan_mode);
    }
    if let Some(names) = options.tools {
        builder = builder.only_tools(names);
    }
    for text in options.append_system_prompt {
        builder = builder.append_system_prompt(text);
    }
    builder.build()
}
