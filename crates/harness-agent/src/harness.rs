//! The agent.

use std::path::PathBuf;
use std::sync::Arc;

use harness_core::{
    Caller, CancellationToken, Fitted, Journal, LoopConfig, Middleware, Model, RunContext,
    RunHandle, RunInput, RunOptions, ThinkingLevel, ToolOutcome, ToolRef, UserMessage,
};

use crate::error::Error;
use crate::harness_builder::{AgentHarnessBuilder, Parts};
use crate::middlewares::WorkspaceMiddleware;
use crate::session::AgentSession;

/// An agent: the parts that it was built from, ready to run.
///
/// Cheap to clone, and one value serves any number of users at once: what belongs to a run lives in
/// the run.
#[derive(Clone)]
pub struct AgentHarness {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    model: Arc<dyn Model>,
    /// What [`AgentHarness::build_loop_config`] makes of the default context.
    config: LoopConfig,
}

/// What may differ from one run, or one session, to the next.
#[derive(Clone, Default)]
pub struct LoopContext {
    /// Another model.
    pub model: Option<Arc<dyn Model>>,
    /// Other tools.
    pub tools: Option<Vec<ToolRef>>,
    /// Another thinking level.
    pub thinking: Option<ThinkingLevel>,
    /// Where the steps of runs are recorded.
    pub journal: Option<Arc<dyn Journal>>,
}

impl std::fmt::Debug for LoopContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopContext")
            .field("model", &self.model.as_ref().map(|model| &model.info().id))
            .field("tools", &self.tools)
            .field("thinking", &self.thinking)
            .finish_non_exhaustive()
    }
}

impl AgentHarness {
    /// Starts an agent.
    pub fn builder() -> AgentHarnessBuilder {
        AgentHarnessBuilder::new()
    }

    pub(crate) fn from_parts(parts: Parts) -> Result<Self, Error> {
        let model = parts.model.clone().ok_or(Error::NoModel)?;
        let config = assemble(&parts, &model, &LoopContext::default())?;
        Ok(Self {
            inner: Arc::new(Inner {
                parts,
                model,
                config,
            }),
        })
    }

    /// Puts a loop's configuration together: model, tools, system prompt, middlewares, bounds.
    ///
    /// This is the only place where it is done. The user's middlewares are registered before the
    /// built-in ones, so that at equal order they see the bare prompt first and stand outside.
    pub fn build_loop_config(&self, context: &LoopContext) -> Result<LoopConfig, Error> {
        assemble(&self.inner.parts, &self.inner.model, context)
    }

    /// The configuration of runs without a context of their own.
    pub fn loop_config(&self) -> &LoopConfig {
        &self.inner.config
    }

    /// Runs one task in a conversation of its own. The run goes on while its handle is polled.
    pub fn prompt(&self, message: impl Into<UserMessage>) -> RunHandle<'static> {
        self.run(RunInput::prompt(message), RunOptions::default())
    }

    /// Runs an input, for a caller, with a cancellation or a journal of one's own. Where the caller
    /// names no folder, the agent's own is meant.
    pub fn run<'a>(&self, input: RunInput, mut options: RunOptions<'a>) -> RunHandle<'a> {
        self.fill_in(&mut options.caller);
        harness_core::run_with(&self.inner.config, input, options)
    }

    /// A conversation that is kept in memory.
    pub fn session(&self) -> AgentSession {
        AgentSession::new(self.clone())
    }

    /// The system prompt as a model would get it now, section by section, and what had to give way in
    /// it.
    pub async fn system_prompt(&self, mut caller: Caller) -> Result<Fitted, Error> {
        self.fill_in(&mut caller);
        let cx = RunContext::detached(caller);
        Ok(self.inner.config.assemble_system_prompt(&cx).await?)
    }

    /// Calls a tool as a model's call would be, middlewares included. `arguments` is JSON text.
    pub async fn call_tool(
        &self,
        mut caller: Caller,
        tool: &str,
        arguments: &str,
        cancellation: CancellationToken,
    ) -> Result<ToolOutcome, Error> {
        self.fill_in(&mut caller);
        let config = &self.inner.config;
        Ok(harness_core::call_tool(config, caller, tool, arguments, cancellation).await?)
    }

    /// The folder that the agent works in, if it was told one.
    pub fn working_dir(&self) -> Option<&PathBuf> {
        self.inner.parts.working_dir.as_ref()
    }

    fn fill_in(&self, caller: &mut Caller) {
        if caller.working_dir.is_none() {
            caller.working_dir.clone_from(&self.inner.parts.working_dir);
        }
    }
}

fn assemble(
    parts: &Parts,
    model: &Arc<dyn Model>,
    context: &LoopContext,
) -> Result<LoopConfig, Error> {
    let model = context.model.as_ref().unwrap_or(model);
    let tools = context.tools.as_ref().unwrap_or(&parts.tools);
    let mut prompt = parts.system_prompt.prompt(tools)?;
    for (number, text) in parts.appended.iter().enumerate() {
        prompt = prompt.with_section(format!("appended-{}", number + 1), text.as_str(), "caller");
    }
    let mut builder = LoopConfig::builder(Arc::clone(model))
        .tools(tools.iter().cloned())
        .system_prompt(prompt)
        .thinking(context.thinking.unwrap_or(parts.thinking))
        .execution(parts.execution)
        .limits(parts.limits.clone())
        .retry(parts.retry.clone())
        .queue_mode(parts.queue_mode);
    if let Some(tokens) = parts.max_output_tokens {
        builder = builder.max_output_tokens(tokens);
    }
    if let Some(temperature) = parts.temperature {
        builder = builder.temperature(temperature);
    }
    if let Some(journal) = context.journal.as_ref().or(parts.journal.as_ref()) {
        builder = builder.journal(Arc::clone(journal));
    }
    if let Some(clock) = &parts.clock {
        builder = builder.clock(Arc::clone(clock));
    }
    if let Some(entropy) = &parts.entropy {
        builder = builder.entropy(Arc::clone(entropy));
    }
    for middleware in &parts.middlewares {
        builder = builder.shared_middleware(Arc::clone(middleware));
    }
    for middleware in built_in() {
        builder = builder.shared_middleware(middleware);
    }
    Ok(builder.build()?)
}

/// The built-in middlewares, in the order in which their sections follow one another.
fn built_in() -> Vec<Arc<dyn Middleware>> {
    vec![Arc::new(WorkspaceMiddleware::default())]
}

impl std::fmt::Debug for AgentHarness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentHarness")
            .field("config", &self.inner.config)
            .finish_non_exhaustive()
    }
}
