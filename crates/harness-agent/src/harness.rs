//! The agent.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use harness_core::{
    Caller, CancellationToken, Event, Fitted, Journal, LoopConfig, Model, RunContext, RunHandle,
    RunInput, RunOptions, ThinkingLevel, ToolOutcome, ToolRef, UserMessage,
};

use harness_session::Session;
use harness_skills::Skills;
use harness_telemetry::harness::{Init, InitEnd, init};
use harness_telemetry::middleware::Telemetry;

use crate::assembly::{Assembly, assemble};
use crate::error::Error;
use crate::harness_builder::{AgentHarnessBuilder, Parts};
use crate::session::AgentSession;
use crate::summary::{SummaryDraft, SummaryKind, SummaryRequest};
use crate::tool_decision::Withheld;

/// An agent: the parts that it was built from, ready to run.
///
/// Cheap to clone, and one value serves any number of users at once: what belongs to a run lives in
/// the run.
#[derive(Clone)]
pub struct AgentHarness {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Arc<Parts>,
    model: Arc<dyn Model>,
    /// What [`AgentHarness::build_loop_config`] makes of the default context.
    assembly: Assembly,
}

/// What may differ from one run, or one session, to the next.
#[derive(Clone, Default)]
pub struct LoopContext {
    /// Another model.
    pub model: Option<Arc<dyn Model>>,
    /// Other tools.
    pub tools: Option<Vec<ToolRef>>,
    /// Only the tools of these names.
    pub only_tools: Option<Vec<String>>,
    /// Tools that may not be offered, and who says so.
    pub withheld: Vec<Withheld>,
    /// Other skills: those of one user, in a service that many share.
    pub skills: Option<Skills>,
    /// Another thinking level.
    pub thinking: Option<ThinkingLevel>,
    /// Where the steps of runs are recorded.
    pub journal: Option<Arc<dyn Journal>>,
}

/// A system prompt, as it is shown to people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShownPrompt {
    /// The prompt, and what had to give way in it.
    pub fitted: Fitted,
    /// Files that could not be used, or only in part.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for LoopContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopContext")
            .field("model", &self.model.as_ref().map(|model| &model.info().id))
            .field("tools", &self.tools)
            .field("only_tools", &self.only_tools)
            .field("withheld", &self.withheld)
            .field("skills", &self.skills)
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
        let span = init(Init {
            version: env!("CARGO_PKG_VERSION"),
        })
        .start();
        let model = parts.model.clone().ok_or(Error::NoModel)?;
        let parts = Arc::new(parts);
        let assembly = assemble(&parts, &model, &LoopContext::default())?;
        span.end(InitEnd {
            tools: assembly.config.tools().len(),
            skills: assembly.skills,
            middlewares: assembly.config.middlewares().len(),
        });
        Ok(Self {
            inner: Arc::new(Inner {
                parts,
                model,
                assembly,
            }),
        })
    }

    /// Puts a loop's configuration together, and says why it is as it is: skills, tools, system prompt,
    /// middlewares, bounds, each through the [extensions](crate::Extension).
    ///
    /// This is the only place where it is done. The system prompt starts as the template's sections (or
    /// a text of the caller's), and what was appended to it. Before each turn it passes through the
    /// user's middlewares, and then the built-in ones, which add the workspace, instructions, memory,
    /// knowledge, tasks, skills and the mode, in this order; what is not stable goes last.
    pub fn build_loop_config(&self, context: &LoopContext) -> Result<Assembly, Error> {
        assemble(&self.inner.parts, &self.inner.model, context)
    }

    /// The configuration of runs without a context of their own.
    pub fn loop_config(&self) -> &LoopConfig {
        &self.inner.assembly.config
    }

    /// The reasons for the configuration of runs without a context of their own.
    pub fn assembly(&self) -> &Assembly {
        &self.inner.assembly
    }

    /// Runs one task in a conversation of its own. The run goes on while its handle is polled.
    pub fn prompt(&self, message: impl Into<UserMessage>) -> RunHandle<'static> {
        self.run(RunInput::prompt(message), RunOptions::default())
    }

    /// Runs an input, for a caller, with a cancellation or a journal of one's own. Where the caller
    /// names no folder, the agent's own is meant.
    pub fn run<'a>(&self, input: RunInput, mut options: RunOptions<'a>) -> RunHandle<'a> {
        self.fill_in(&mut options.caller);
        harness_core::run_with(&self.inner.assembly.config, input, options)
    }

    /// A conversation that is kept in memory.
    pub fn session(&self) -> AgentSession {
        AgentSession::in_memory(self.clone())
    }

    /// A conversation that is kept in a store: a new session, or one that was opened to write to. A run that
    /// was cut off there is gone on with by [`AgentSession::go_on`], or by the next prompt.
    ///
    /// It records its own runs; the journal of the builder is for runs without a session.
    pub fn session_in(&self, session: Session) -> Result<AgentSession, Error> {
        Ok(AgentSession::new(self.clone(), session)?.kept())
    }

    /// The system prompt as a model would get it now, section by section, what had to give way in it,
    /// and what a person should know of it.
    pub async fn system_prompt(&self, mut caller: Caller) -> Result<ShownPrompt, Error> {
        self.fill_in(&mut caller);
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&warnings);
        let cx = RunContext::detached(caller).tapped(move |event| {
            if let Event::Warning { message } = event {
                told.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(message);
            }
            None
        });
        let fitted = self
            .inner
            .assembly
            .config
            .assemble_system_prompt(&cx)
            .await?;
        let warnings =
            std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(ShownPrompt { fitted, warnings })
    }

    /// How a conversation that became too long is to be summarised: what to ask a model for, or the
    /// summary, if an [extension](crate::Extension::on_compaction) gives it.
    pub async fn draft_compaction(&self, request: SummaryRequest) -> Result<SummaryDraft, Error> {
        self.draft(SummaryKind::Compaction, request).await
    }

    /// The same for a branch of a conversation that is left for another one.
    pub async fn draft_branch_summary(
        &self,
        request: SummaryRequest,
    ) -> Result<SummaryDraft, Error> {
        self.draft(SummaryKind::Branch, request).await
    }

    async fn draft(
        &self,
        kind: SummaryKind,
        request: SummaryRequest,
    ) -> Result<SummaryDraft, Error> {
        let parts = &self.inner.parts;
        let templates = parts.library.templates();
        SummaryDraft::make(kind, request, templates, &parts.extensions, None).await
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
        let config = &self.inner.assembly.config;
        Ok(harness_core::call_tool(config, caller, tool, arguments, cancellation).await?)
    }

    /// What records its runs, if anything does.
    pub fn telemetry(&self) -> Option<&Telemetry> {
        self.inner.parts.telemetry.as_ref()
    }

    /// The folder that the agent works in, if it was told one.
    pub fn working_dir(&self) -> Option<&PathBuf> {
        self.inner.parts.working_dir.as_ref()
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    fn fill_in(&self, caller: &mut Caller) {
        if caller.working_dir.is_none() {
            caller.working_dir.clone_from(&self.inner.parts.working_dir);
        }
    }
}

impl std::fmt::Debug for AgentHarness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentHarness")
            .field("config", &self.inner.assembly.config)
            .finish_non_exhaustive()
    }
}
