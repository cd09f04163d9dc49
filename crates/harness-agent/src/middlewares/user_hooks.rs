//! The user's own commands at the points of a run.
//!
//! A hook is a command line of a [file](HookFile). It is given one JSON object on its standard input and
//! answers by its exit code, or by a JSON object on its standard output, as the
//! [hooks of Claude Code](https://code.claude.com/docs/en/hooks) are and do. Nothing of a run ever becomes
//! part of a command line: the shell reads what the user wrote, and nothing else.

mod answer;
mod before_compaction;
mod hook;
mod hook_diagnostic;
mod hook_event;
mod hook_file;
mod hook_json;
mod hook_process;
mod hook_reader;
mod hook_words;
mod hooks;
mod input;
mod joined;
mod matcher;
mod question;
mod session_state;
mod shown_call;

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::join_all;
use harness_core::{
    ActiveCall, Caller, CancellationToken, Clock, Event, FailurePolicy, HookSet, HookVerdict,
    Message, Middleware, MiddlewareError, NextAgent, NextTool, OutputPart, PermissionDecision,
    PermissionReport, PermissionSource, RunContext, RunInput, RunOutcome, RunStatus, SubagentName,
    SystemClock, Text, ToolEffect, ToolEffects, ToolOutcome, TurnDecision, TurnReport, UserMessage,
    UserPart, async_trait,
};
use harness_tools::{LocalProcesses, Processes, ShellOptions};
use serde_json::{Map, Value, json};

use self::answer::Answer;
use self::hook_process::Place;
use self::input::{Asker, fields, response, text_of};
use self::joined::Joined;
use self::question::Question;
use self::session_state::{RunState, SessionState};
use crate::element::inside;

pub(crate) use self::before_compaction::BeforeCompaction;
pub use self::hook::Hook;
pub use self::hook_diagnostic::HookDiagnostic;
pub use self::hook_event::{HookEvent, OnHookFailure};
pub use self::hook_file::HookFile;
pub use self::hooks::Hooks;
pub use self::input::TranscriptPath;

/// Who refused or ended the run, as the model and events are told.
const BY: &str = "hook";

/// The element around what hooks tell the model.
const ELEMENT: &str = "hook_context";

/// How often in a row `Stop` hooks may keep a run going.
const MAX_STOP_BLOCKS: u32 = 5;

/// Runs the user's hooks.
///
/// It stands outside of the permissions, so that what a hook makes of a call is judged like any call: a hook
/// refuses by itself, and its `allow` and `ask` are a [`HookVerdict`] for whoever decides inside. What hooks
/// decided about a call is on record; a run that goes on after a crash does not run them again.
///
/// All hooks of an event run at once. They are the user's own programs: they run without a sandbox, with the
/// environment of the process but for [`ShellOptions::hidden_variables`]. Whatever they started is ended with
/// them, on their timeout, and when the run is cancelled or dropped.
///
/// A call that cannot be executed anyway is not shown to hooks, and neither are messages that are queued while
/// a run goes on. In a run that was started [within another](RunContext::parent), the hooks of calls and of
/// compactions run as anywhere, and no others: its prompt is not the user's, and neither are its session and its
/// end.
///
/// ```
/// use harness_agent::middlewares::{HookFile, Hooks, UserHooksMiddleware};
///
/// let file = HookFile::parse(
///     "hooks.json",
///     r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
///         {"type": "command", "command": "./no-force-push.sh", "timeout": 10}
///     ]}]}}"#,
/// )?;
/// let hooks = Hooks::from_files([file]);
/// assert_eq!(
///     hooks.describe(),
///     ["PreToolUse Bash: `./no-force-push.sh` of hooks.json (10 s, closed on failure)"]
/// );
/// let middleware = UserHooksMiddleware::new(hooks);
/// # let _ = middleware;
/// # Ok::<(), harness_agent::Error>(())
/// ```
#[derive(Clone)]
pub struct UserHooksMiddleware {
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    hooks: Hooks,
    shell: ShellOptions,
    processes: Arc<dyn Processes>,
}

impl UserHooksMiddleware {
    /// Where it stands among middlewares: only what records runs is further out.
    pub const ORDER: i32 = i32::MAX - 1;

    /// With these hooks, run by the usual shell of this machine. The names of variables that hold keys must
    /// be given by [`shell`](Self::shell), or hooks have them.
    pub fn new(hooks: Hooks) -> Self {
        Self {
            settings: Arc::new(Settings {
                hooks,
                shell: ShellOptions::default(),
                processes: Arc::new(LocalProcesses),
            }),
        }
    }

    /// Which shell runs the hooks, and with which environment.
    pub fn shell(mut self, shell: ShellOptions) -> Self {
        Arc::make_mut(&mut self.settings).shell = shell;
        self
    }

    /// Where hooks run, if not on this machine.
    pub fn processes(mut self, processes: Arc<dyn Processes>) -> Self {
        Arc::make_mut(&mut self.settings).processes = processes;
        self
    }

    /// The hooks.
    pub fn hooks(&self) -> &Hooks {
        &self.settings.hooks
    }

    /// Tells the `SessionEnd` hooks that a session is over: `reason` is Claude Code's `prompt_input_exit`,
    /// `clear`, `other` or a word of the program's. Gives what people should be told. When it returns, or is
    /// dropped, nothing of the hooks runs.
    pub async fn end_session(&self, caller: &Caller, reason: &str) -> Vec<String> {
        let hooks = self
            .settings
            .hooks
            .matching(HookEvent::SessionEnd, Some(reason));
        let asker = Asker::of_caller(caller);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let input = asker.input(HookEvent::SessionEnd, fields([("reason", reason.into())]));
        let questions = Question::all(&hooks, input);
        let never = CancellationToken::new();
        let joined = self.run(&questions, &asker, &clock, &never).await;
        let blocked = joined.stop.into_iter().chain(joined.block);
        joined.warnings.into_iter().chain(blocked).collect()
    }

    /// Runs hooks, all at once.
    async fn run(
        &self,
        questions: &[Question<'_>],
        asker: &Asker,
        clock: &Arc<dyn Clock>,
        cancel: &CancellationToken,
    ) -> Joined {
        if questions.is_empty() {
            return Joined::default();
        }
        let mut shell = self.settings.shell.clone();
        for name in ["HARNESS_PROJECT_DIR", "CLAUDE_PROJECT_DIR"] {
            let folder: OsString = asker.folder.clone().into();
            shell.variables.push((name.into(), folder));
        }
        let place = Place {
            processes: &*self.settings.processes,
            shell: &shell,
            folder: &asker.folder,
            clock,
            cancel,
        };
        let answers = join_all(questions.iter().map(|question| async move {
            let ran = hook_process::run(question.hook, &question.input, place).await;
            let answer = Answer::of(question.hook, ran, question.call.as_ref());
            (question.hook, answer)
        }));
        Joined::new(answers.await)
    }

    /// Asks hooks within a run, and tells people what they are to be told.
    async fn ask_these(
        &self,
        cx: &RunContext,
        asker: &Asker,
        questions: &[Question<'_>],
    ) -> Joined {
        let (clock, cancel) = (cx.clock(), cx.cancellation());
        let mut joined = self.run(questions, asker, clock, cancel).await;
        for message in joined.warnings.drain(..) {
            cx.emit(Event::Warning { message });
        }
        joined
    }

    /// Asks the hooks of an event that are for its subject, if it has one.
    async fn ask(
        &self,
        cx: &RunContext,
        event: HookEvent,
        subject: Option<&str>,
        fields: Map<String, Value>,
    ) -> Joined {
        let hooks = self.settings.hooks.matching(event, subject);
        if hooks.is_empty() {
            return Joined::default();
        }
        let asker = Asker::of_run(cx);
        let questions = Question::all(&hooks, asker.input(event, fields));
        self.ask_these(cx, &asker, &questions).await
    }

    /// Asks hooks about a call, on record under `kind`. `None` if nothing can be put on record any more.
    async fn ask_on_record(
        &self,
        cx: &RunContext,
        call: &ActiveCall,
        next: &NextTool<'_>,
        kind: &str,
        event: HookEvent,
        more: Map<String, Value>,
    ) -> Option<Joined> {
        let hooks = self.settings.hooks.of_call(event, &call.name);
        if hooks.is_empty() {
            return Some(Joined::default());
        }
        let decide = async {
            let asker = Asker::of_run(cx);
            let questions = Question::of_call(&hooks, cx, call, &asker, event, &more);
            json!(self.ask_these(cx, &asker, &questions).await)
        };
        let value = next.decide(call, kind, decide.boxed()).await?;
        let joined = serde_json::from_value(value).unwrap_or_else(|_| Joined {
            block: Some("what is on record of the hooks cannot be read".to_owned()),
            ..Joined::default()
        });
        Some(joined)
    }

    /// What hooks make of the messages that a run begins with. `Err` with how the run ends instead.
    async fn take_prompts(
        &self,
        cx: &RunContext,
        messages: &mut [UserMessage],
    ) -> Result<(), RunStatus> {
        let mut refused = Vec::new();
        let mut passed = false;
        for message in messages.iter_mut().filter(|message| !message.is_blank()) {
            let event = HookEvent::UserPromptSubmit;
            let prompt = fields([("prompt", text_of(message).into())]);
            let joined = self.ask(cx, event, None, prompt).await;
            if joined.cancelled {
                return Err(RunStatus::Cancelled);
            }
            if let Some(reason) = joined.stop {
                return Err(stopped(reason));
            }
            if let Some(reason) = joined.block {
                // In its place, so that the others stay in theirs.
                let told = format!("A message of the user's was refused: {reason}");
                *message = UserMessage::text(element(event, &told));
                refused.push(reason);
                continue;
            }
            passed = true;
            add_context(message, event, &joined.context);
        }
        if refused.is_empty() {
            return Ok(());
        }
        if !passed {
            return Err(stopped(refused.join("; ")));
        }
        for reason in refused {
            let message = format!("A hook refused a message: {reason}");
            cx.emit(Event::Warning { message });
        }
        Ok(())
    }

    /// Asks the hooks of the session's start. `Err` with how the run ends instead.
    async fn start_session(
        &self,
        cx: &RunContext,
        input: &RunInput,
    ) -> Result<Vec<String>, RunStatus> {
        let session = cx.attributes().get_or_insert_with(SessionState::default);
        if session.has_started.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        let source = if input.history.is_empty() {
            "startup"
        } else {
            "resume"
        };
        let told = fields([("source", source.into())]);
        let joined = self
            .ask(cx, HookEvent::SessionStart, Some(source), told)
            .await;
        if joined.cancelled {
            return Err(RunStatus::Cancelled);
        }
        if let Some(reason) = joined.stop.or(joined.block) {
            return Err(stopped(reason));
        }
        session.has_started.store(true, Ordering::Release);
        Ok(joined.context)
    }
}

impl fmt::Debug for UserHooksMiddleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserHooksMiddleware")
            .field("hooks", &self.settings.hooks)
            .field("processes", &self.settings.processes)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for UserHooksMiddleware {
    fn name(&self) -> &'static str {
        BY
    }

    fn order(&self) -> i32 {
        Self::ORDER
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT | HookSet::TOOL_CALL | HookSet::AFTER_TURN
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
        cx.attributes().insert(BeforeCompaction::new(self));
        let cx = &cx.with_value(RunState::default());
        // Its session is none of the user's, and what it is told is not said by the user.
        if cx.parent().is_some() {
            return next.run(cx, input).await;
        }
        let asked = async {
            let context = self.start_session(cx, &input).await?;
            let mut messages = input.messages.clone();
            self.take_prompts(cx, &mut messages).await?;
            Ok((context, messages))
        };
        match asked.await {
            Ok((context, messages)) => {
                input.messages = messages;
                tell_at_start(&mut input, &context);
                next.run(cx, input).await
            }
            Err(status) => {
                // What was refused does not enter the conversation; what nobody was asked about waits.
                let messages = std::mem::take(&mut input.messages);
                let is_cancelled = matches!(status, RunStatus::Cancelled);
                let mut outcome = RunOutcome::before_any_turn(cx, input, status);
                if is_cancelled {
                    outcome.undelivered = messages;
                }
                outcome
            }
        }
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        mut call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        // What cannot be executed is told why, and by nobody else.
        if call.check().is_err() {
            return next.run(cx, call).await;
        }
        let event = HookEvent::PreToolUse;
        let before = self.ask_on_record(cx, &call, &next, "hook", event, Map::new());
        let Some(before) = before.await else {
            return ToolOutcome::Interrupted;
        };
        if before.cancelled {
            return ToolOutcome::Cancelled;
        }
        if let Some(reason) = &before.stop {
            RunState::stop(cx, reason);
        }
        if let Some(reason) = before.block.or(before.stop) {
            tell_denied(cx, &call, &reason, before.by);
            return ToolOutcome::Denied {
                by: BY.to_owned(),
                reason,
            };
        }
        if let Some(updated) = before.updated_input {
            call = call.with_arguments(updated);
            if let Err(problem) = call.check() {
                let hook = before.rewritten_by.unwrap_or_default();
                return ToolOutcome::failed(format!(
                    "Not executed: the hook {hook} rewrote the arguments, and they do not fit. {problem}"
                ));
            }
        }
        let inner = match before.decision {
            None => cx.clone(),
            Some(word) => cx.with_value(HookVerdict {
                decision: word.into(),
                reason: before.reason,
            }),
        };
        let after = next.clone();
        let mut outcome = next.run(&inner, call.clone()).await;
        add_beside(&mut outcome, event, &before.context);
        if !matches!(outcome, ToolOutcome::Done(_)) {
            return outcome;
        }
        let event = HookEvent::PostToolUse;
        let told = fields([("tool_response", response(&outcome))]);
        let asked = self.ask_on_record(cx, &call, &after, "hook_after", event, told);
        // What was done was done, whatever becomes of this.
        let Some(told) = asked.await else {
            return outcome;
        };
        if let Some(reason) = &told.stop {
            RunState::stop(cx, reason);
        }
        let texts: Vec<String> = told.block.into_iter().chain(told.context).collect();
        add_beside(&mut outcome, event, &texts);
        outcome
    }

    async fn after_turn(
        &self,
        cx: &RunContext,
        turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        let state = cx.value::<RunState>();
        if let Some(reason) = state.and_then(RunState::stopped) {
            return Ok(TurnDecision::stop(reason));
        }
        if turn.results.is_some() || cx.parent().is_some() {
            return Ok(TurnDecision::go_on());
        }
        let blocks = state.map_or(0, |state| state.stop_blocks.load(Ordering::Relaxed));
        let event = HookEvent::Stop;
        let told = fields([
            ("stop_hook_active", (blocks > 0).into()),
            ("last_assistant_message", turn.reply.text().into()),
        ]);
        let joined = self.ask(cx, event, None, told).await;
        if let Some(reason) = joined.stop {
            return Ok(TurnDecision::stop(reason));
        }
        let texts: Vec<String> = joined.block.into_iter().collect();
        if joined.cancelled || texts.is_empty() {
            return Ok(TurnDecision::go_on());
        }
        if blocks >= MAX_STOP_BLOCKS {
            let message = format!(
                "A Stop hook would keep the run going, and did so {blocks} times already. It ends."
            );
            cx.emit(Event::Warning { message });
            return Ok(TurnDecision::go_on());
        }
        if let Some(state) = state {
            state.stop_blocks.fetch_add(1, Ordering::Relaxed);
        }
        let mut message = UserMessage {
            content: Vec::new(),
        };
        add_context(&mut message, event, &texts);
        add_context(&mut message, event, &joined.context);
        Ok(TurnDecision::message(message))
    }
}

fn stopped(reason: String) -> RunStatus {
    RunStatus::Stopped {
        by: BY.to_owned(),
        reason,
    }
}

/// What a hook tells the model, so that it can tell it from what others say.
fn element(event: HookEvent, text: &str) -> String {
    let text = inside(text, &[ELEMENT]);
    format!("<{ELEMENT} event=\"{event}\">\n{text}\n</{ELEMENT}>")
}

/// Whether a text is what a hook told: nobody obeys what is in it.
pub(crate) fn is_hook_context(text: &str) -> bool {
    text.strip_prefix('<')
        .and_then(|rest| rest.strip_prefix(ELEMENT))
        .is_some_and(|rest| rest.starts_with(" event=\""))
}

/// Adds what hooks tell to a message of the user's.
fn add_context(message: &mut UserMessage, event: HookEvent, texts: &[String]) {
    let parts = texts.iter().map(|text| element(event, text));
    let parts = parts.map(|text| UserPart::Text(Text { text }));
    message.content.extend(parts);
}

/// Adds what the hooks of the session's start tell, if the model is to be asked at all.
fn tell_at_start(input: &mut RunInput, context: &[String]) {
    let event = HookEvent::SessionStart;
    if let Some(first) = input.messages.iter_mut().find(|said| !said.is_blank()) {
        add_context(first, event, context);
        return;
    }
    let goes_on = match input.history.last().map(|last| &**last) {
        Some(Message::Assistant(reply)) => input.resume && reply.tool_calls().next().is_some(),
        Some(_) => true,
        None => false,
    };
    if goes_on && !context.is_empty() {
        let mut message = UserMessage {
            content: Vec::new(),
        };
        add_context(&mut message, event, context);
        input.messages.push(message);
    }
}

/// Adds what hooks tell to what a tool gave.
fn add_beside(outcome: &mut ToolOutcome, event: HookEvent, texts: &[String]) {
    if let ToolOutcome::Done(output) | ToolOutcome::Failed(output) = outcome {
        let parts = texts.iter().map(|text| element(event, text));
        let parts = parts.map(|text| OutputPart::Text(Text { text }));
        output.parts.extend(parts);
    }
}

/// The audit line of a call that a hook refused.
fn tell_denied(cx: &RunContext, call: &ActiveCall, reason: &str, by: Option<(String, String)>) {
    let (decision, source) = (PermissionDecision::Deny, PermissionSource::Hook);
    let mut report = PermissionReport::new(&call.id, &call.name, decision, source);
    if let Some((hook, file)) = by {
        report.rule = Some(hook);
        report.layer = Some(file);
    }
    report.agent = SubagentName::path(cx);
    report.effects = words(&call.effects(cx));
    report.reason = Some(reason.to_owned());
    cx.emit(Event::Permission(Box::new(report)));
}

/// Effects in words.
fn words(effects: &ToolEffects) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    let words = effects.iter().map(|effect| match effect {
        ToolEffect::Read(read) => format!("read({})", path(read)),
        ToolEffect::Write(written) => format!("write({})", path(written)),
        ToolEffect::Run(command) => format!("run({})", command.line),
        ToolEffect::Network(host) => format!("net({host})"),
        ToolEffect::Conversation => "conversation".to_owned(),
        _ => "unknown".to_owned(),
    });
    words.collect()
}
