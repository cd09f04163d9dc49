//! Putting a loop's configuration together.

use std::sync::Arc;

use harness_core::{
    Execution, Limits, LoopConfig, Middleware, Model, QueueMode, RetryPolicy, Section,
    SystemPrompt, ThinkingLevel, ToolRef,
};

use harness_skills::Skills;
use harness_telemetry::middleware::Telemetry;

use crate::error::Error;
use crate::extension::build_hook;
use crate::harness::LoopContext;
use crate::harness_builder::{Eviction, Parts};
use crate::loaded_skills::LOAD_SKILL;
#[cfg(feature = "tools")]
use crate::middlewares::{AtPathMiddleware, PLAN_TOOLS};
use crate::middlewares::{
    CompactionMiddleware, EvictionOptions, SUBAGENT_TOOLS, SkillAccess, SkillsMiddleware,
    SlashCommandsMiddleware, SubagentHost, SubagentsMiddleware, TODO_WRITE, TaskListMiddleware,
    ToolResultEvictionMiddleware, WorkspaceContextMiddleware, skill_tools, subagent_tools,
};
use crate::skill_view::SkillView;
use crate::tool_decision::{ToolChoice, ToolDecision};

/// A configuration, and the reasons for it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Assembly {
    /// What runs are started with.
    pub config: LoopConfig,
    /// Why each tool is offered or not: first those that are, in their order.
    pub tools: Vec<ToolDecision>,
    /// How the calls of one turn run, and why.
    pub batches: BatchDecision,
    /// How many skills are there.
    pub skills: usize,
    /// What a person should know: templates that could not be used.
    pub warnings: Vec<String>,
}

/// How the calls of one turn run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchDecision {
    /// In parallel, unless a sequential tool is among them; or always one after another.
    pub execution: Execution,
    /// The tools whose batch runs one call after another.
    pub sequential_tools: Vec<String>,
    /// Why, in words.
    pub why: String,
}

/// A configuration before it is built, as extensions see it.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoopDraft {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The system prompt that middlewares start from.
    pub system_prompt: SystemPrompt,
    /// The tools on offer.
    pub tools: Vec<ToolRef>,
    /// The middlewares, in the order of registration: the user's, then the built-in ones.
    pub middlewares: Vec<Arc<dyn Middleware>>,
    /// How much the model should think.
    pub thinking: ThinkingLevel,
    /// How the calls of one turn run.
    pub execution: Execution,
    /// The bounds of a run.
    pub limits: Limits,
    /// How failed requests are retried.
    pub retry: RetryPolicy,
    /// How many queued messages are delivered at once.
    pub queue_mode: QueueMode,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f32>,
}

impl std::fmt::Debug for LoopDraft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let middlewares: Vec<&str> = self.middlewares.iter().map(|m| m.name()).collect();
        f.debug_struct("LoopDraft")
            .field("model", &self.model.info().id)
            .field("tools", &self.tools)
            .field("middlewares", &middlewares)
            .finish_non_exhaustive()
    }
}

/// Puts a configuration together: skills, tools, the system prompt, middlewares, bounds; each through
/// the extensions, which then see the whole.
pub(crate) fn assemble(
    parts: &Arc<Parts>,
    model: &Arc<dyn Model>,
    context: &LoopContext,
) -> Result<Assembly, Error> {
    let skills = skills(parts, context)?;
    let asked = context.model.as_ref().unwrap_or(model);
    let thinking = context.thinking.unwrap_or(parts.thinking);
    let host = SubagentHost::of(parts, asked, thinking);
    let choice = tools(parts, context, &skills, host.as_ref())?;
    let mut warnings = Vec::new();
    let prompt = system_prompt(parts, &choice.tools, &mut warnings)?;
    let middlewares = middlewares(parts, asked, &choice, &skills, host.as_ref());
    let mut draft = LoopDraft {
        model: Arc::clone(asked),
        system_prompt: prompt,
        tools: choice.tools.clone(),
        middlewares,
        thinking,
        execution: parts.execution,
        limits: parts.limits.clone(),
        retry: parts.retry.clone(),
        queue_mode: parts.queue_mode,
        max_output_tokens: parts.max_output_tokens,
        temperature: parts.temperature,
    };
    let mut choice = choice;
    for extension in &parts.extensions {
        draft = build_hook(&**extension, "on_build_loop_config", || {
            extension.on_build_loop_config(draft)
        })?;
        choice.replace(draft.tools.clone(), extension.name());
    }
    if let Some(host) = &host {
        host.offers(&draft.tools);
    }
    let batches = BatchDecision::of(&draft);
    Ok(Assembly {
        config: build(parts, context, draft)?,
        tools: choice.decisions(),
        batches,
        skills: skills.catalogue().active().count(),
        warnings,
    })
}

fn skills(parts: &Parts, context: &LoopContext) -> Result<Arc<SkillView>, Error> {
    let skills = context.skills.clone().or_else(|| parts.skills.clone());
    let skills = skills.unwrap_or_else(|| Skills::discover(&[]));
    let view = SkillView::new(skills, parts.extensions.clone())?;
    Ok(Arc::new(view))
}

/// The tools, and why each is there or not.
fn tools(
    parts: &Parts,
    context: &LoopContext,
    skills: &Arc<SkillView>,
    host: Option<&Arc<SubagentHost>>,
) -> Result<ToolChoice, Error> {
    let mut choice = ToolChoice::default();
    let withheld = &context.withheld;
    match &context.tools {
        Some(tools) => choice.add(tools, "context", "given for this run or session", withheld),
        None => choice.add(&parts.tools, "agent", "given to the agent", withheld),
    }
    let names = context.only_tools.as_ref().or(parts.only_tools.as_ref());
    if let Some(names) = names {
        choice.select(names);
    }
    // What is switched on by itself need not be among the names, unless there are none at all.
    let any = names.is_none_or(|names| !names.is_empty());
    let off = |is_on: bool| (!is_on).then_some("it is not switched on");
    let none = (!any).then_some("no tools were asked for");
    // Making a tool costs a schema, so what is off is told by name.
    match off(parts.task_list).or(none) {
        None => {
            let tools = TaskListMiddleware::new().tools();
            choice.add(&tools, "task-list", "the task list is on", withheld);
        }
        Some(why) => choice.leave_out(&[TODO_WRITE], "task-list", why),
    }
    let no_skills = skills.catalogue().for_models().next().is_none();
    let is_named = names.is_none_or(|names| names.iter().any(|name| name == LOAD_SKILL));
    let unnamed = (!is_named).then_some("it is not among the tools that were asked for");
    match no_skills
        .then_some("there are no skills")
        .or(none)
        .or(unnamed)
    {
        None => choice.add(&skill_tools(skills), "skills", "there are skills", withheld),
        Some(why) => choice.leave_out(&[LOAD_SKILL], "skills", why),
    }
    match (host, none) {
        (Some(host), None) => {
            let tools = subagent_tools(host);
            choice.add(&tools, "subagents", "there are subagents", withheld);
        }
        (_, none) => {
            let why = none.or(off(host.is_some())).unwrap_or_default();
            choice.leave_out(&SUBAGENT_TOOLS, "subagents", why);
        }
    }
    #[cfg(feature = "tools")]
    match (&parts.plan_mode, none) {
        (Some(_), None) if parts.is_subagent => {
            let why = "the plan is that of the agent that it works for";
            choice.leave_out(&PLAN_TOOLS, "plan-mode", why);
        }
        (Some(plan_mode), None) => {
            let why = "plan mode is there; while it is on, only calls that change nothing run";
            choice.add(&plan_mode.tools(), "plan-mode", why, withheld);
        }
        (_, none) => {
            let why = off(parts.plan_mode.is_some()).or(none).unwrap_or_default();
            choice.leave_out(&PLAN_TOOLS, "plan-mode", why);
        }
    }
    if let Some(names) = names {
        choice.check_names(names)?;
    }
    for extension in &parts.extensions {
        let tools = choice.tools.clone();
        let tools = build_hook(&**extension, "on_build_tools", || {
            extension.on_build_tools(tools)
        })?;
        choice.replace(tools, extension.name());
    }
    Ok(choice)
}

fn system_prompt(
    parts: &Parts,
    tools: &[ToolRef],
    warnings: &mut Vec<String>,
) -> Result<SystemPrompt, Error> {
    let mut prompt = parts
        .system_prompt
        .prompt(&parts.library, tools, warnings)?;
    for (number, text) in parts.appended.iter().enumerate() {
        let section = Section::new(format!("appended-{}", number + 1), text.as_str(), "caller");
        prompt = prompt.with(section.with_rank(Section::ESSENTIAL));
    }
    for extension in &parts.extensions {
        prompt = build_hook(&**extension, "on_build_system_prompt", || {
            extension.on_build_system_prompt(prompt)
        })?;
    }
    Ok(prompt)
}

/// The user's middlewares, and then the built-in ones in the order in which their sections follow one
/// another; so that at equal order the user's see the bare prompt first, and stand outside.
fn middlewares(
    parts: &Parts,
    model: &Arc<dyn Model>,
    choice: &ToolChoice,
    skills: &Arc<SkillView>,
    host: Option<&Arc<SubagentHost>>,
) -> Vec<Arc<dyn Middleware>> {
    let mut all = parts.middlewares.clone();
    // What the user typed is looked through for paths before a command's text takes its place: a
    // template of a stranger attaches nothing.
    #[cfg(feature = "tools")]
    if let Some(workspace) = &parts.workspace {
        all.push(Arc::new(AtPathMiddleware::new(workspace)));
    }
    if let Some(options) = &parts.workspace_context {
        let mut options = options.clone();
        // In a small window, files must not take what the conversation needs.
        if let Some(window) = model.info().context_window {
            options.tokens = options.tokens.min(window as usize / 4);
        }
        let library = Arc::clone(&parts.library);
        all.push(Arc::new(WorkspaceContextMiddleware::new(options, library)));
    }
    if parts.library.has_commands() {
        let library = Arc::clone(&parts.library);
        all.push(Arc::new(SlashCommandsMiddleware::new(library)));
    }
    if parts.task_list
        && choice
            .tools
            .iter()
            .any(|tool| tool.spec().name == TODO_WRITE)
    {
        all.push(Arc::new(TaskListMiddleware::new()));
    }
    #[cfg(feature = "tools")]
    if let Some(plan_mode) = &parts.plan_mode {
        all.push(Arc::new(plan_mode.clone()));
    }
    if skills.can_have_any() {
        let library = Arc::clone(&parts.library);
        let mut tools = choice.tools.iter();
        let access = if tools.any(|tool| tool.spec().name == LOAD_SKILL) {
            SkillAccess::Tool
        } else if choice.tools.is_empty() {
            SkillAccess::None
        } else {
            SkillAccess::File
        };
        let skills = SkillsMiddleware::of(Arc::clone(skills), library)
            .for_context_window(model.info().context_window)
            .with_access(access);
        all.push(Arc::new(skills));
    }
    let has_spawn = |tools: &[ToolRef]| {
        let mut names = tools.iter().map(|tool| tool.spec().name.as_str());
        names.any(|name| SUBAGENT_TOOLS.first().is_some_and(|spawn| *spawn == name))
    };
    if let Some(host) = host.filter(|_| has_spawn(&choice.tools)) {
        all.push(Arc::new(SubagentsMiddleware::new(Arc::clone(host))));
    }
    // After all that adds to the conversation as it is shown: notes stand behind messages, and are not
    // to lose them.
    let options = match &parts.eviction {
        Eviction::Off => None,
        Eviction::FittingTheModel => {
            let window = model.info().context_window;
            Some(EvictionOptions::for_context_window(window))
        }
        Eviction::Given(options) => Some(options.clone()),
    };
    if let Some(mut options) = options {
        if let (None, Some(context)) = (&options.folder, &parts.workspace_context) {
            options.folder = Some(context.temporary_folder.clone());
        }
        let eviction = ToolResultEvictionMiddleware::new(options);
        #[cfg(feature = "tools")]
        let eviction = match &parts.workspace {
            Some(workspace) => eviction.readable_in(workspace),
            None => eviction,
        };
        all.push(Arc::new(eviction));
    }
    // Last: what gave way to a reference is short already, and what is in a file must be whole there.
    if let Some(options) = &parts.compaction {
        let library = Arc::clone(&parts.library);
        let compaction = CompactionMiddleware::new(options.clone(), library)
            .with_extensions(parts.extensions.clone())
            .with_tools(choice.tools.clone())
            .with_retry(parts.retry.clone())
            .with_token_counter(parts.token_counter.clone())
            .for_context_window(model.info().context_window);
        all.push(Arc::new(compaction));
    }
    all
}

fn build(parts: &Parts, context: &LoopContext, draft: LoopDraft) -> Result<LoopConfig, Error> {
    let mut builder = LoopConfig::builder(draft.model)
        .tools(draft.tools)
        .system_prompt(draft.system_prompt)
        .thinking(draft.thinking)
        .execution(draft.execution)
        .limits(draft.limits)
        .retry(draft.retry)
        .queue_mode(draft.queue_mode)
        .secrets(parts.secrets.clone());
    if let Some(tokens) = draft.max_output_tokens {
        builder = builder.max_output_tokens(tokens);
    }
    if let Some(temperature) = draft.temperature {
        builder = builder.temperature(temperature);
    }
    if let Some(counter) = &parts.token_counter {
        builder = builder.token_counter(Arc::clone(counter));
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
    let telemetry = parts.telemetry.as_ref();
    for middleware in draft.middlewares {
        builder = builder.shared_middleware(match telemetry {
            Some(telemetry) => telemetry.wrap(middleware),
            None => middleware,
        });
    }
    // Outside and inside of all others, whatever extensions made of those.
    for middleware in telemetry.into_iter().flat_map(Telemetry::middlewares) {
        builder = builder.shared_middleware(middleware);
    }
    Ok(builder.build()?)
}

impl BatchDecision {
    fn of(draft: &LoopDraft) -> Self {
        let sequential_tools: Vec<String> = draft
            .tools
            .iter()
            .filter(|tool| tool.spec().execution == Execution::Sequential)
            .map(|tool| tool.spec().name.clone())
            .collect();
        let why = match draft.execution {
            Execution::Sequential => "calls run one after another: so it is configured".to_owned(),
            Execution::Parallel if sequential_tools.is_empty() => {
                "calls run in parallel: every tool allows it".to_owned()
            }
            Execution::Parallel => format!(
                "calls run in parallel, but one after another where {} is among them",
                sequential_tools.join(" or ")
            ),
        };
        Self {
            execution: draft.execution,
            sequential_tools,
            why,
        }
    }
}
