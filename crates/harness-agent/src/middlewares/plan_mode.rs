//! Plan first, then do: while a plan is made, nothing but the plan can change.
//!
//! What may run is decided by what a call would do, as its tool declares it for these very arguments, and
//! never by the tool's name. The middleware stands innermost, so that it sees a call as it would be
//! executed, after every other middleware; and it decides at the moment of the call, so that a batch
//! which enters plan mode in its middle is read-only from there on.
//!
//! A run that was started within another one has the plan mode of the outermost: while that one plans, nothing
//! changes anywhere below it. It makes no plan of its own, so not even the plan file may be written there.
//!
//! The state lies in the plan file, as frontmatter, and so outlives the process. While a session lives,
//! its memory decides: what the model, or a program that it left running, writes into the file does not
//! lead out of plan mode.

mod approval;
mod command;
mod document;
mod file;
mod state;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_core::{
    ActiveCall, Caller, Event, FailurePolicy, HookSet, Middleware, MiddlewareError, ModelRequest,
    ModelResult, NextAgent, NextReasoning, NextTool, RunContext, RunInput, RunOutcome, Section,
    SystemPrompt, ToolEffects, ToolOutcome, ToolRef, UserMessage, UserPart, async_trait,
};
use harness_telemetry::ai;
use harness_telemetry::middleware::agent_name;
use harness_tools::{Files, LocalFiles};
use tracing::Instrument;

use self::tools::plan_tools;

pub use self::approval::{PlanApproval, PlanApprover, PlanDecision, ProposedPlan};
pub use self::command::PlanCommand;
pub use self::state::{PlanMode, PlanState};
pub(crate) use self::tools::PLAN_TOOLS;

/// The name of the section that [`PlanModeMiddleware`] adds.
pub const PLAN_SECTION: &str = "plan";

/// Where plans are kept, in the working folder.
const FOLDER: &str = ".harness/plans";

/// Plan mode: the tools `plan_enter`, `plan_write` and `plan_exit`, the command `/plan`, and the refusal
/// of every call that would change anything before a plan is approved.
///
/// The tools are not on offer by themselves: add [`tools`](Self::tools) to the agent's. The state is a
/// [`PlanMode`] in the run's attributes, so that one agent serves many sessions at once. A run that was started
/// [within another](RunContext::parent) has that of the outermost run: it looks around while that one plans, and
/// neither plans itself nor leads out of plan mode.
///
/// A prompt that begins with `/plan` is a command: `/plan TASK` begins to plan, `/plan approve` approves,
/// `/plan off` leaves. What follows is what the model is told.
///
/// Each session that has an id has a plan file of its own; those without share `plan.md` of their folder.
#[derive(Clone, Debug)]
pub struct PlanModeMiddleware {
    settings: Arc<Settings>,
}

/// What middleware and tools share. Nothing of a session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    files: Arc<dyn Files>,
    folder: PathBuf,
    pub(crate) approval: PlanApproval,
}

impl Settings {
    /// The plan mode of a run: that of the outermost run around it.
    pub(crate) fn mode(&self, cx: &RunContext) -> Arc<PlanMode> {
        let (mode, warning) = self.place(cx.outermost());
        warn(cx, warning);
        mode
    }

    fn place(&self, cx: &RunContext) -> (Arc<PlanMode>, Option<String>) {
        let mode = cx.attributes().get_or_insert_with(PlanMode::default);
        let warning = mode.place(cx, &self.files, &self.folder);
        (mode, warning)
    }
}

impl Default for PlanModeMiddleware {
    fn default() -> Self {
        Self {
            settings: Arc::new(Settings {
                files: Arc::new(LocalFiles::new()),
                folder: PathBuf::from(FOLDER),
                approval: PlanApproval::default(),
            }),
        }
    }
}

impl PlanModeMiddleware {
    /// With plans in `.harness/plans` of the run's working folder, approved by command. A project that
    /// strangers wrote can bring along a plan there that says it is approved: name another
    /// [`folder`](Self::folder) if that matters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps plans in another folder. A relative one lies in the run's working folder and cannot lead out
    /// of it.
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        folder.as_ref().clone_into(&mut self.settings_mut().folder);
        self
    }

    /// How plans are approved.
    pub fn approval(mut self, approval: PlanApproval) -> Self {
        self.settings_mut().approval = approval;
        self
    }

    /// Keeps plans among other files than those of this machine: those that the tools work on.
    pub fn files(mut self, files: Arc<dyn Files>) -> Self {
        self.settings_mut().files = files;
        self
    }

    /// What a call with these effects would be refused with now; for a policy further out, which need not ask
    /// anybody about it then.
    pub fn refuses(&self, cx: &RunContext, effects: &ToolEffects) -> Option<ToolOutcome> {
        let mode = self.settings.mode(cx);
        if !mode.state().is_read_only() {
            return None;
        }
        let reason = allow(cx, &mode, effects).err()?;
        Some(self.refusal(reason))
    }

    fn refusal(&self, reason: String) -> ToolOutcome {
        ToolOutcome::Denied {
            by: self.name().to_owned(),
            reason,
        }
    }

    fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// Its tools: `plan_enter`, `plan_write`, `plan_exit`. Take them when all is set.
    pub fn tools(&self) -> Vec<ToolRef> {
        plan_tools(&self.settings)
    }

    /// The plan mode of the runs of this caller, read from its plan file if no run did that yet. The
    /// caller must name the working folder that its runs have.
    pub fn mode(&self, caller: &Caller) -> Arc<PlanMode> {
        let cx = RunContext::detached(caller.clone());
        let (mode, warning) = self.settings.place(&cx);
        mode.tell_later(warning);
        mode
    }
}

#[async_trait]
impl Middleware for PlanModeMiddleware {
    fn name(&self) -> &'static str {
        "plan-mode"
    }

    /// Innermost: what is let through is what runs.
    fn order(&self) -> i32 {
        i32::MIN
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT | HookSet::SYSTEM_PROMPT | HookSet::REASONING | HookSet::TOOL_CALL
    }

    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailClosed
    }

    async fn on_agent(
        &self,
        cx: &RunContext,
        mut input: RunInput,
        next: NextAgent<'_>,
    ) -> RunOutcome {
        let mode = self.settings.mode(cx);
        if cx.parent().is_some() {
            // What it is told to do was written by a model, so that no command is in it.
            return next.run(cx, input).await;
        }
        for message in &mut input.messages {
            obey(cx, &mode, message);
        }
        let outcome = next.run(cx, input).await;
        // A call may have been cut off between writing the file and our putting it right.
        warn(cx, mode.refresh());
        outcome
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        let mode = self.settings.mode(cx);
        warn(cx, mode.refresh());
        let path = || mode.shown();
        let is_within = cx.parent().is_some();
        let banner = match mode.state() {
            state if is_within && !state.is_read_only() => return Ok(prompt),
            _ if is_within => "Plan mode is on: a plan is being made, and nothing can change. Look around, and report \
                               what you find."
                .to_owned(),
            PlanState::Off => return Ok(prompt),
            PlanState::Planning => format!(
                "Plan mode is on: nothing but the plan can change. Look around, write the plan with \
                 plan_write (it is kept in {}), then call plan_exit.",
                path()
            ),
            PlanState::Proposed => format!(
                "Plan mode is on: the plan in {} waits for the user's approval, and nothing else can \
                 change. If the user wants another plan, use plan_write and plan_exit again.",
                path()
            ),
            PlanState::Approved => format!(
                "The plan in {} is approved. Carry it out step by step, and call plan_exit when it is done. \
                 If the task at hand is another one, ignore the plan.",
                path()
            ),
        };
        let section = Section::new(PLAN_SECTION, banner, self.name()).volatile();
        Ok(prompt.with(section.with_rank(Section::ESSENTIAL)))
    }

    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        let is_planning = self.settings.mode(cx).state().is_read_only();
        if !is_planning || cx.parent().is_some() {
            return next.run(cx, request).await;
        }
        let agent = agent_name(cx);
        let span = ai::plan(ai::Plan { agent }).start();
        let result = next.run(cx, request).instrument(span.span().clone()).await;
        match &result {
            Err(error) => span.fail(error.word()),
            Ok(_) => span.end(ai::PlanEnd {}),
        }
        result
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        let mode = self.settings.mode(cx);
        // What cannot be executed is told why.
        if call.check().is_err() {
            return next.run(cx, call).await;
        }
        if cx.parent().is_some() && PLAN_TOOLS.contains(&&*call.name) {
            let reason = "A subagent makes no plan. Report what you found instead.";
            return self.refusal(reason.to_owned());
        }
        if !mode.state().is_read_only() {
            return next.run(cx, call).await;
        }
        match allow(cx, &mode, &call.effects(cx)) {
            Ok(false) => next.run(cx, call).await,
            Ok(true) => {
                let outcome = next.run(cx, call).await;
                match mode.stamp(cx) {
                    Ok(()) => outcome,
                    Err(problem) => ToolOutcome::failed(format!(
                        "{problem}. Write the plan again with plan_write."
                    )),
                }
            }
            Err(reason) => self.refusal(reason),
        }
    }
}

/// [`PlanMode::allow`] in a run, or in one within it.
fn allow(cx: &RunContext, mode: &PlanMode, effects: &ToolEffects) -> Result<bool, String> {
    if cx.parent().is_some() {
        return mode.allow_within(effects).map(|()| false);
    }
    mode.allow(effects)
}

/// Carries out the command that a message begins with, if it does. The rest is what the model is told.
fn obey(cx: &RunContext, mode: &PlanMode, message: &mut UserMessage) {
    let first = message.content.iter_mut().find_map(|part| match part {
        UserPart::Text(text) => Some(text),
        _ => None,
    });
    let Some(text) = first else {
        return;
    };
    let Some((command, rest)) = PlanCommand::parse(&text.text) else {
        return;
    };
    let (result, did) = match command {
        PlanCommand::Enter => (mode.enter(), "Plan mode is on."),
        PlanCommand::Approve => (mode.approve(), "The plan is approved. Carry it out."),
        PlanCommand::Off => (mode.leave(), "Plan mode is off."),
    };
    let refused = result.is_err() && command == PlanCommand::Approve;
    if let Err(error) = result {
        warn(cx, Some(error.to_string()));
    }
    let told = match (refused, rest) {
        (true, "") => "There is no plan to approve.".to_owned(),
        (true, rest) => format!("There is no plan to approve.\n\n{rest}"),
        (false, "") => did.to_owned(),
        (false, rest) => rest.to_owned(),
    };
    text.text = told;
}

fn warn(cx: &RunContext, problem: Option<String>) {
    if let Some(message) = problem {
        cx.emit(Event::Warning { message });
    }
}
