//! Building an agent from its parts.

use std::path::PathBuf;
use std::sync::Arc;

use harness_core::{
    Clock, Entropy, Execution, Journal, Limits, Middleware, Model, QueueMode, RetryPolicy, Secrets,
    ThinkingLevel, TokenCounter, ToolRef,
};
use harness_prompt::Library;
use harness_skills::Skills;
use harness_telemetry::middleware::Telemetry;
#[cfg(feature = "tools")]
use harness_tools::Workspace;

use crate::error::Error;
use crate::extension::Extension;
use crate::harness::AgentHarness;
#[cfg(feature = "tools")]
use crate::middlewares::PlanModeMiddleware;
use crate::middlewares::{
    CompactionOptions, EvictionOptions, SubagentOptions, WorkspaceContextOptions,
};
use crate::system_prompt::SystemPromptSource;

/// The parts that an agent is built from.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) tools: Vec<ToolRef>,
    pub(crate) only_tools: Option<Vec<String>>,
    pub(crate) skills: Option<Skills>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) library: Arc<Library>,
    pub(crate) workspace_context: Option<WorkspaceContextOptions>,
    pub(crate) task_list: bool,
    #[cfg(feature = "tools")]
    pub(crate) plan_mode: Option<PlanModeMiddleware>,
    #[cfg(feature = "tools")]
    pub(crate) workspace: Option<Workspace>,
    pub(crate) subagents: Option<SubagentOptions>,
    /// Whether this is an agent that works for another one.
    pub(crate) is_subagent: bool,
    pub(crate) eviction: Eviction,
    pub(crate) compaction: Option<CompactionOptions>,
    pub(crate) token_counter: Option<Arc<dyn TokenCounter>>,
    pub(crate) telemetry: Option<Telemetry>,
    pub(crate) secrets: Secrets,
    pub(crate) middlewares: Vec<Arc<dyn Middleware>>,
    pub(crate) system_prompt: SystemPromptSource,
    pub(crate) appended: Vec<String>,
    pub(crate) working_dir: Option<PathBuf>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) execution: Execution,
    pub(crate) limits: Limits,
    pub(crate) retry: RetryPolicy,
    pub(crate) queue_mode: QueueMode,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) temperature: Option<f32>,
    pub(crate) journal: Option<Arc<dyn Journal>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) entropy: Option<Arc<dyn Entropy>>,
}

/// Whether old, large tool results give way to a reference.
#[derive(Clone, Default)]
pub(crate) enum Eviction {
    #[default]
    Off,
    /// When they fill half of the model's context window.
    FittingTheModel,
    Given(EvictionOptions),
}

/// Builds an [`AgentHarness`]. Only the model is needed.
pub struct AgentHarnessBuilder {
    parts: Parts,
}

impl AgentHarnessBuilder {
    pub(crate) fn new() -> Self {
        let parts = Parts {
            workspace_context: Some(WorkspaceContextOptions::default()),
            eviction: Eviction::FittingTheModel,
            compaction: Some(CompactionOptions::default()),
            ..Parts::default()
        };
        Self { parts }
    }

    /// The model to ask.
    pub fn model(self, model: impl Model) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// The model to ask, if it is shared already.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.parts.model = Some(model);
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Into<ToolRef>) -> Self {
        self.parts.tools.push(tool.into());
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolRef>) -> Self {
        self.parts.tools.extend(tools);
        self
    }

    /// Offers only the tools of these names. Unknown names are an error of [`build`](Self::build).
    pub fn only_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts.only_tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Gives the agent skills: see [`SkillsMiddleware`](crate::middlewares::SkillsMiddleware). They are
    /// looked for anew before every turn. By default, it has none.
    pub fn skills(mut self, skills: Skills) -> Self {
        self.parts.skills = Some(skills);
        self
    }

    /// Adds an extension. They run in the order of their registration.
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.parts.extensions.push(Arc::new(extension));
        self
    }

    /// The templates of the system prompt and of summaries, and the slash commands.
    pub fn library(mut self, library: Library) -> Self {
        self.parts.library = Arc::new(library);
        self
    }

    /// What the model is told of its workspace: see [`WorkspaceContextMiddleware`]. By default, all that
    /// is there in the [working folder](Self::working_dir), if there is one.
    ///
    /// [`WorkspaceContextMiddleware`]: crate::middlewares::WorkspaceContextMiddleware
    pub fn workspace_context(mut self, options: WorkspaceContextOptions) -> Self {
        self.parts.workspace_context = Some(options);
        self
    }

    /// Tells the model nothing of its workspace.
    pub fn without_workspace_context(mut self) -> Self {
        self.parts.workspace_context = None;
        self
    }

    /// The workspace of the tools: its root is the working folder, `@path` in a prompt attaches a file of
    /// it, and its `read` may open what was [evicted](Self::tool_result_eviction).
    #[cfg(feature = "tools")]
    pub fn workspace(mut self, workspace: &Workspace) -> Self {
        self.parts.working_dir = Some(workspace.root().to_owned());
        self.parts.workspace = Some(workspace.clone());
        self
    }

    /// Lets the model keep a list of tasks: see
    /// [`TaskListMiddleware`](crate::middlewares::TaskListMiddleware). By default, it does not.
    pub fn task_list(mut self, on: bool) -> Self {
        self.parts.task_list = on;
        self
    }

    /// Lets the model and the user plan before anything is changed. By default, they do not.
    #[cfg(feature = "tools")]
    pub fn plan_mode(mut self, plan_mode: PlanModeMiddleware) -> Self {
        self.parts.plan_mode = Some(plan_mode);
        self
    }

    /// Lets the model hand work to agents of its own: see
    /// [`SubagentsMiddleware`](crate::middlewares::SubagentsMiddleware). By default, it cannot.
    pub fn subagents(mut self, options: SubagentOptions) -> Self {
        self.parts.subagents = Some(options);
        self
    }

    /// When old, large tool results give way to a reference: see
    /// [`ToolResultEvictionMiddleware`](crate::middlewares::ToolResultEvictionMiddleware). By default,
    /// when they fill half of the model's context window.
    pub fn tool_result_eviction(mut self, options: EvictionOptions) -> Self {
        self.parts.eviction = Eviction::Given(options);
        self
    }

    /// Shows the model all tool results for ever.
    pub fn without_tool_result_eviction(mut self) -> Self {
        self.parts.eviction = Eviction::Off;
        self
    }

    /// When the conversation is made shorter, and how much of it stays: see
    /// [`CompactionMiddleware`](crate::middlewares::CompactionMiddleware). By default, before it is too long
    /// for the model.
    pub fn compaction(mut self, options: CompactionOptions) -> Self {
        self.parts.compaction = Some(options);
        self
    }

    /// Leaves the conversation as it is, also where it becomes too long.
    pub fn without_compaction(mut self) -> Self {
        self.parts.compaction = None;
        self
    }

    /// Counts tokens where no provider has counted yet; by default they are estimated.
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.parts.token_counter = Some(counter);
        self
    }

    /// Records runs as spans: see [`Telemetry`]. By default, they are not; spans of what this crate does itself
    /// (summaries, skills, entries of sessions) are started anyway, for whoever is there to see them.
    pub fn telemetry(mut self, telemetry: Telemetry) -> Self {
        self.parts.telemetry = Some(telemetry);
        self
    }

    /// Secrets that must show in nothing: masked in what tools give back, before the model, the session or the
    /// screen has it, in files that are attached, in the system prompt, and in content that
    /// [telemetry](Self::telemetry) records. By default, there are none.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.parts.secrets = secrets;
        self
    }

    /// Adds a middleware. Yours stand outside the built-in ones, in the order of their registration.
    pub fn middleware(self, middleware: impl Middleware) -> Self {
        self.shared_middleware(Arc::new(middleware))
    }

    /// Adds a middleware that is shared already.
    pub fn shared_middleware(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.parts.middlewares.push(middleware);
        self
    }

    /// Where the system prompt starts from; by default the built-in template.
    pub fn system_prompt(mut self, source: SystemPromptSource) -> Self {
        self.parts.system_prompt = source;
        self
    }

    /// Adds a text behind the system prompt's own sections. Can be called more than once.
    pub fn append_system_prompt(mut self, text: impl Into<String>) -> Self {
        self.parts.appended.push(text.into());
        self
    }

    /// The folder that the agent works in, as the system prompt names it.
    pub fn working_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.parts.working_dir = Some(folder.into());
        self
    }

    /// How much the model should think; fitted to what it knows.
    pub fn thinking(mut self, thinking: ThinkingLevel) -> Self {
        self.parts.thinking = thinking;
        self
    }

    /// Whether the calls of one turn may run in parallel.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.parts.execution = execution;
        self
    }

    /// The bounds of a run.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.parts.limits = limits;
        self
    }

    /// How failed requests are retried.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.parts.retry = retry;
        self
    }

    /// How many queued messages are delivered at once.
    pub fn queue_mode(mut self, mode: QueueMode) -> Self {
        self.parts.queue_mode = mode;
        self
    }

    /// The most tokens of one reply; by default what the model allows.
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.parts.max_output_tokens = Some(tokens);
        self
    }

    /// The sampling temperature; by default the provider's.
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.parts.temperature = Some(temperature);
        self
    }

    /// Where the steps of runs are recorded; by default nowhere.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.parts.journal = Some(journal);
        self
    }

    /// The clock; by default the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = Some(clock);
        self
    }

    /// Where ids and jitter come from; by default the machine.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.parts.entropy = Some(entropy);
        self
    }

    /// The agent, or what is wrong with its parts.
    pub fn build(mut self) -> Result<AgentHarness, Error> {
        let secrets = &self.parts.secrets;
        let telemetry = self.parts.telemetry.take();
        self.parts.telemetry = telemetry.map(|telemetry| telemetry.secrets(secrets));
        AgentHarness::from_parts(self.parts)
    }
}

impl std::fmt::Debug for AgentHarnessBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentHarnessBuilder")
            .field(
                "model",
                &self.parts.model.as_ref().map(|model| &model.info().id),
            )
            .field("tools", &self.parts.tools)
            .finish_non_exhaustive()
    }
}
