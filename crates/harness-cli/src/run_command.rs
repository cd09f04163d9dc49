//! `harness run`: one task.

use std::process::ExitCode;

use futures::FutureExt;
use harness_agent::prompt::parse_invocation;
use harness_agent::{SessionRun, SkillCommand};
use harness_core::{
    Caller, CancellationToken, Error, Event, JournalError, LimitReached, Limits, ModelError,
    RunOutcome, RunStatus, StopReason, SystemPrompt, Text, UserMessage, UserPart,
};

use harness_tools::ShellSession;

use crate::arguments::{Output, RunArguments};
use crate::conversation::{Conversation, nothing_to_make_shorter};
use crate::demo::DemoProject;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::json_output::JsonOutput;
use crate::model_choice::{Choice, Target};
use crate::plan::{Plan, Task};
use crate::progress::Progress;
use crate::prompt_input::PromptInput;
use crate::prompt_record::PromptRecord;
use crate::run_permissions::Guards;
use crate::run_session::{Opened, RunSession};
use crate::services::LocalServers;
use crate::setup::Setup;
use crate::signals::Signals;
use crate::stderr;
use crate::telemetry::Recorder;
use crate::trust_question;

/// Runs a task, and tells how it ended by the exit status.
pub(crate) async fn run(arguments: RunArguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read();
    let recorder = Recorder::start(&environment, &arguments.trace)?;
    let work = run_recorded(arguments, &environment, &recorder);
    let ended = recorder.around(Box::pin(work)).await;
    recorder.finish().await;
    ended
}

async fn run_recorded(
    mut arguments: RunArguments,
    environment: &Environment,
    recorder: &Recorder,
) -> Result<ExitCode, Failure> {
    let session = RunSession::find(environment, &arguments.session, &mut arguments.agent)?;
    let goes_on = session.goes_on();
    if arguments.model.model.as_deref() != Some("demo") {
        trust_question::ask(environment, &mut arguments.agent)?;
    }
    let mut setup = Setup::permitted(&arguments.model, &arguments.agent, &arguments.permissions)?;
    let opened = session.open(&mut setup.settings)?;
    // Before the task is read, which may take as long as somebody writes it.
    let choice = Choice::make(&setup.settings, &setup.environment, &LocalServers::usual()).await?;
    let input = PromptInput::read(&arguments.prompt, goes_on)?;
    note_beforehand(input.as_ref(), &setup);
    // The run is a session: what it left in the background goes with it. On the ways out that do not
    // get as far as `end`, it is killed when this is dropped.
    let shell = ShellSession::new();
    let caller = caller(&shell);
    let is_demo = matches!(choice.target, Target::Demo);
    if is_demo && goes_on {
        return Err(no_model(opened.as_ref()));
    }
    let plan = (!is_demo).then(|| Plan::of(&setup, &caller));
    let focus = input.as_ref().and_then(|input| compaction(input, &setup));
    if focus.is_some() && !goes_on {
        return Err(nothing_to_make_shorter());
    }
    let message = match &input {
        Some(_) if focus.is_some() => None,
        Some(input) => match task(input, &setup, plan.as_ref(), arguments.agent.plan)? {
            Some(message) => Some(message),
            None => return Ok(Exit::Finished.into()),
        },
        None => None,
    };
    let cancel = CancellationToken::new();
    let signals = Signals::listen(&cancel)?;
    let guards = Guards::of(&setup, is_demo)?;
    let (agent, demo) = setup.agent(
        &choice,
        &arguments.agent,
        limits(&arguments, &setup),
        Some(recorder),
        Some(&guards),
    )?;
    announce(&setup, &choice, demo.as_ref());
    let at = arguments.session.at.as_deref();
    if let Some(opened) = &opened {
        session.check(opened, at, message.is_some() || focus.is_some())?;
    }
    let kept = (!is_demo).then(|| session.begin(opened, &setup.folder));
    let begun = kept.transpose()?.flatten();
    let mut conversation = Conversation::of(&agent, begun, caller)?;
    if let Some(entry) = at {
        let summary = !arguments.session.no_summary;
        conversation.go_to(entry, summary, &cancel).await?;
    }
    if let Some(focus) = focus {
        let output = arguments.output;
        return shorten(&mut conversation, &focus, cancel, &signals, output).await;
    }
    let mut handle = conversation.start(message, cancel)?;
    let mut progress = Progress::new(&setup.environment);
    let mut json = (arguments.output == Output::Json).then(JsonOutput::default);
    let followed = follow(&mut handle, &mut progress, json.as_mut(), &signals).await;
    let system_prompt = match followed {
        Ok(system_prompt) => system_prompt,
        Err(error) => return unwritten(&error),
    };
    progress.clear();
    if demo.is_none() {
        keep(system_prompt.as_ref(), &setup);
    }
    if let Some(plan) = &plan {
        plan.tell_end();
    }
    if let Some((name, exit)) = signals.came() {
        // After a second signal the run is dropped here, and its children with it.
        drop(handle);
        signals.unless_again(shell.end()).await;
        let way_on = conversation.way_on(&setup.folder);
        return Ok(cancelled(name, exit, way_on.as_deref(), &signals).await);
    }
    let outcome = match handle.outcome().await {
        Ok(outcome) => outcome,
        Err(error) => error.into_outcome(),
    };
    signals.unless_again(shell.end()).await;
    let end = guards.end_session(conversation.caller());
    signals.unless_again(end).await;
    let text = json.is_none();
    let way_on = conversation.way_on(&setup.folder);
    let told = signals
        .write(move || tell(&outcome, &choice, text, way_on.as_deref()))
        .await;
    match (told, signals.came()) {
        (Some(exit), _) => Ok(exit?.into()),
        (None, Some((_, exit))) => Ok(exit.into()),
        (None, None) => Ok(Exit::Failed.into()),
    }
}

/// Says that a signal ended the run.
async fn cancelled(name: &str, exit: Exit, way_on: Option<&str>, signals: &Signals) -> ExitCode {
    let failure = Failure::failed(format!("the run was cancelled by {name}"));
    let failure = going_on(failure, way_on);
    signals.write(move || stderr::error(&failure)).await;
    exit.into()
}

/// Who asks.
fn caller(shell: &ShellSession) -> Caller {
    let caller = Caller::default();
    caller.attributes.insert(shell.clone());
    caller
}

/// The end of a run that would go on with a session, if there is nothing but the demonstration to do so.
fn no_model(opened: Option<&Opened>) -> Failure {
    let used = opened.and_then(|opened| opened.model.as_ref());
    let used = used.map_or_else(String::new, |model| {
        format!(": the session used {model}, which is not configured")
    });
    Failure::configuration(format!("no model is there to go on with{used}"))
        .hint("name it with --model PROVIDER/MODEL, and its address with --base-url")
}

/// Makes the conversation shorter, which is all that was asked for.
async fn shorten(
    conversation: &mut Conversation,
    focus: &str,
    cancel: CancellationToken,
    signals: &Signals,
    output: Output,
) -> Result<ExitCode, Failure> {
    let json = output == Output::Json;
    let compacted = conversation.compact(focus, cancel, json).await;
    match signals.came() {
        Some((_, exit)) => Ok(exit.into()),
        None => compacted.map(|()| Exit::Finished.into()),
    }
}

/// What a summary is to look at most, if the task is to make the conversation shorter: `/compact [focus]`.
fn compaction(input: &PromptInput, setup: &Setup) -> Option<String> {
    let (name, focus) = parse_invocation(&input.text)?;
    let is_own = setup.prompts.library.command(name).is_some();
    (name == "compact" && !is_own).then(|| focus.trim().to_owned())
}

/// Shows a run as it goes, to its end or to a second signal, and gives the system prompt that it used. An
/// error is one of writing events.
async fn follow(
    handle: &mut SessionRun<'_>,
    progress: &mut Progress,
    mut json: Option<&mut JsonOutput>,
    signals: &Signals,
) -> std::io::Result<Option<SystemPrompt>> {
    let mut system_prompt = None;
    let mut second = std::pin::pin!(signals.second());
    loop {
        // Events that are there already are written together; then the reader gets them.
        let ready = match &json {
            Some(json) if !json.is_full() => handle.next().now_or_never(),
            _ => None,
        };
        let event = if let Some(event) = ready {
            event
        } else {
            if let Some(json) = &mut json {
                match json.flush(signals).await {
                    Some(written) => written?,
                    None => break,
                }
            }
            tokio::select! {
                biased;
                event = handle.next() => event,
                () = &mut second => break,
            }
        };
        let Some(event) = event else { break };
        if let Event::SystemPrompt(report) = &event {
            system_prompt = Some(report.prompt.clone());
        }
        progress.see(&event);
        if let Some(json) = &mut json {
            json.push(&event)?;
        }
    }
    if let Some(json) = json
        && let Some(written) = json.flush(signals).await
    {
        written?;
    }
    Ok(system_prompt)
}

/// What the model is to be told; `None` if the task was a command that needs no model.
fn task(
    input: &PromptInput,
    setup: &Setup,
    plan: Option<&Plan>,
    asked: bool,
) -> Result<Option<UserMessage>, Failure> {
    let text = match plan {
        None => input.text.clone(),
        Some(plan) => match plan.obey(setup, &input.text, asked)? {
            Task::Text(text) => {
                let is_told = asked || text != input.text;
                if !is_told {
                    plan.announce();
                }
                text
            }
            Task::Obeyed(what) => {
                stderr::note(what);
                return Ok(None);
            }
        },
    };
    if let Some((name, _)) = parse_invocation(&text)
        && plan.is_some()
        // What is wrong with these is told where skills are known.
        && SkillCommand::parse(&text).is_none()
        && setup.prompts.library.command(name).is_none()
    {
        stderr::note(&format!(
            "there is no command /{name}, so the task is sent as it is; `harness prompt list` shows the \
             commands"
        ));
    }
    let skills = &setup.settings.skills;
    if SkillCommand::parse(&text).is_some() && !skills.are_on() && skills.named.is_none() {
        stderr::note("skills are off, so the task is sent as it is");
    }
    let mut message = UserMessage::text(text);
    if let Some(beside) = &input.beside {
        let text = beside.clone();
        message.content.push(UserPart::Text(Text { text }));
    }
    Ok(Some(message))
}

/// Keeps the system prompt for `harness prompt show --diff`. A run without that is as good a run.
fn keep(prompt: Option<&SystemPrompt>, setup: &Setup) {
    let record = PromptRecord::of(&setup.environment, &setup.folder);
    if let (Some(prompt), Some(record)) = (prompt, record) {
        let _ = record.keep(prompt);
    }
}

/// Tells what is to be known of the task, and which configuration files were passed over.
fn note_beforehand(input: Option<&PromptInput>, setup: &Setup) {
    if let Some(note) = input.and_then(|input| input.note.as_ref()) {
        stderr::note(note);
    }
    setup.prompts.tell_untrusted(&setup.settings.trust);
    for file in &setup.settings.files {
        if file.state == crate::settings::FileState::Untrusted {
            stderr::note(&format!(
                "{} is not read; {}",
                file.path.display(),
                setup.settings.trust.way()
            ));
        }
    }
}

/// The end of a run whose events cannot be written.
fn unwritten(error: &std::io::Error) -> Result<ExitCode, Failure> {
    match error.kind() {
        // Nobody reads any more: there is nobody to work for.
        std::io::ErrorKind::BrokenPipe => Ok(Exit::Failed.into()),
        _ => Err(crate::stdout::failure(error)),
    }
}

/// Says what nobody asked for by name: the demonstration, or a model that was found.
fn announce(setup: &Setup, choice: &Choice, demo: Option<&DemoProject>) {
    if let Some(demo) = demo {
        let why = match setup.settings.model {
            Some(_) => String::new(),
            None => format!(" ({})", choice.because),
        };
        stderr::note(&format!(
            "this is the built-in demonstration{why}: a script in the place of a model works with the \
             real tools on a copy of a small project, in {}; your task is not looked at",
            demo.folder().display()
        ));
    }

    if setup.settings.model.is_none()
        && let Target::Service(service) = &choice.target
    {
        let model = &service.info.id;
        stderr::note(&format!("the model is {model}, because {}", choice.because));
    }
}

fn limits(arguments: &RunArguments, setup: &Setup) -> Limits {
    let settings = &setup.settings;
    let mut limits = Limits::default();
    if let Some(turns) = arguments
        .max_turns
        .or(settings.max_turns.as_ref().map(|turns| turns.value))
    {
        limits.max_turns = turns;
    }
    limits.max_time = arguments
        .timeout
        .or(settings.timeout.as_ref().map(|time| time.value));
    limits
}

/// Prints the answer, says on standard error what else there is to say, and gives the exit status.
fn tell(
    outcome: &RunOutcome,
    choice: &Choice,
    text: bool,
    way_on: Option<&str>,
) -> Result<Exit, Failure> {
    let print = |answer: String| {
        if text && !answer.is_empty() {
            crate::stdout::print(&answer)
        } else {
            Ok(())
        }
    };
    let (exit, failure) = match &outcome.status {
        RunStatus::Finished(stop) => {
            print(outcome.answer())?;
            if let StopReason::Other(word) = stop {
                stderr::note(&format!(
                    "the model stopped for a reason of its own: {word}"
                ));
            }
            return Ok(Exit::Finished);
        }
        RunStatus::Limit(limit) => {
            // What the model said last may be cut off, but it is its last word.
            print(outcome.answer())?;
            (Exit::Limit, limited(limit))
        }
        RunStatus::Stopped { by, reason } => {
            print(outcome.answer())?;
            let message = format!("stopped by {by}: {reason}");
            (Exit::Limit, Failure::failed(message))
        }
        RunStatus::Cancelled => (Exit::Failed, Failure::failed("the run was cancelled")),
        RunStatus::Failed(Error::Journal(error)) => {
            stderr::error(&unkept(error, way_on));
            return Ok(Exit::Failed);
        }
        RunStatus::Failed(error) => (Exit::Failed, explained(error, choice)),
        other => {
            let message = format!("the run ended as `{}`", other.word());
            (Exit::Failed, Failure::failed(message))
        }
    };
    stderr::error(&going_on(failure, way_on));
    Ok(exit)
}

/// The end of a run, with the command that goes on with it, if something of it is kept.
fn going_on(failure: Failure, way_on: Option<&str>) -> Failure {
    match way_on {
        Some(way_on) => failure.also(&format!("`{way_on}` goes on")),
        None => failure,
    }
}

/// The end of a run that could not be put on record any more: the step's name means nothing to a person.
fn unkept(error: &JournalError, way_on: Option<&str>) -> Failure {
    let failure = Failure::failed(format!(
        "the conversation could not be kept: {}",
        error.message
    ));
    match way_on {
        Some(way_on) => failure.hint(format!("free some space, then `{way_on}` goes on")),
        None => failure.hint("free some space and try again, or use --no-session"),
    }
}

/// A limit, and how to have a wider one.
fn limited(limit: &LimitReached) -> Failure {
    let failure = Failure::failed(limit.to_string());
    match limit {
        LimitReached::Turns { .. } => failure.hint("--max-turns allows more"),
        LimitReached::Time { .. } => failure.hint("--timeout allows more"),
        LimitReached::Output => {
            failure.hint("ask for a shorter answer, or name a model with a larger limit (--model)")
        }
        _ => failure,
    }
}

/// An error, and what to do about it.
fn explained(error: &Error, choice: &Choice) -> Failure {
    let failure = Failure::failed(error.to_string());
    let error = match error {
        Error::Model { error, .. } => error,
        Error::EmptyReplies { .. } => {
            return failure.hint("try again, or choose another --model");
        }
        _ => return failure,
    };
    let service = match &choice.target {
        Target::Service(service) => service,
        Target::Demo | Target::Scripted(_) | Target::Idle => return failure,
    };
    match error {
        ModelError::Connection { .. } => {
            failure.hint("check the address and whether the server runs (--base-url)")
        }
        ModelError::Authentication { .. } => match &service.key_variable {
            Some(variable) => failure.hint(format!("check the key in {variable}")),
            None => failure.hint("no key was sent: name its variable with --api-key-env"),
        },
        ModelError::NotFound { .. } => match &service.near {
            Some(near) => failure.hint(format!(
                "did you mean `{}/{near}`?",
                service.info.id.provider
            )),
            None => failure.hint("check the model's name (--model) and the address (--base-url)"),
        },
        ModelError::RateLimited { .. }
        | ModelError::Unavailable { .. }
        | ModelError::Timeout { .. }
        | ModelError::StreamCut { .. } => failure.hint("try again later"),
        ModelError::Quota { .. } => failure.hint("check the account's credit and limits"),
        ModelError::ContextOverflow { .. } => {
            failure.hint("give the model less to read at a time, or use one with a larger window")
        }
        ModelError::StreamInvalid { .. } => {
            failure.hint("check that the address speaks the protocol (--api)")
        }
        _ => failure,
    }
}
