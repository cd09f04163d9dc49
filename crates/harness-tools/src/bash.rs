//! `bash`: a command of the shell.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use harness_core::{
    CommandEffect, Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput,
    async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::command::{CommandLine, CommandReport, run_command};
use crate::error::Error;
use crate::invisible;
use crate::job::Job;
use crate::limits::Limits;
use crate::names;
use crate::processes::ProcessSpec;
use crate::shell_session::ShellSession;
use crate::workspace::Workspace;

/// Runs a command with bash, without a terminal or input. Only the working directory lasts from call
/// to call. Shows the last 2000 lines or 50 KiB of stdout and stderr. Processes left behind are ended
/// with the call; for what must run on, use `background`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct BashArgs {
    /// The command.
    pub command: Option<String>,
    /// Seconds until it is killed; default 120, none in background. With `job`: to wait for its end.
    pub timeout: Option<f64>,
    /// Leave it running as a job.
    pub background: Option<bool>,
    /// Instead of `command`: the job whose new output to show.
    pub job: Option<u64>,
    /// End the job.
    pub stop: Option<bool>,
}

/// What a call asks for.
enum Request {
    Run {
        command: String,
        timeout: Duration,
    },
    Start {
        command: String,
        timeout: Option<Duration>,
    },
    Ask {
        number: u64,
        wait: Duration,
        stop: bool,
    },
}

impl Request {
    fn new(args: BashArgs, limits: &Limits) -> Result<Self, Error> {
        let background = args.background.unwrap_or(false);
        let stop = args.stop.unwrap_or(false);
        let problem = match (&args.command, args.job) {
            (None, None) => "Give `command`, or the number of a `job`.",
            (Some(_), Some(_)) => "Give either `command` or `job`, not both.",
            (Some(_), None) if stop => "`stop` needs the number of a `job`, and no `command`.",
            (None, Some(_)) if background => "`background` needs a `command`, and no `job`.",
            (Some(command), None) if command.trim().is_empty() => "`command` is empty.",
            _ => "",
        };
        if !problem.is_empty() {
            return Err(Error::Argument(problem.to_owned()));
        }
        let named = args.timeout;
        if named.is_some_and(|seconds| seconds.is_nan() || seconds < 0.0)
            || (args.job.is_none() && named == Some(0.0))
        {
            return Err(Error::Argument(
                "`timeout` must be more than 0 seconds.".to_owned(),
            ));
        }
        let named = named.map(|it| Duration::try_from_secs_f64(it).unwrap_or(Duration::MAX));
        let most = limits.bash_timeout_max;
        Ok(match (args.command, args.job) {
            (Some(command), _) if background => Self::Start {
                command,
                // What nobody will live to see needs no clock.
                timeout: named.filter(|timeout| *timeout < Duration::from_hours(24 * 365)),
            },
            (Some(command), _) => Self::Run {
                command,
                timeout: named.unwrap_or(limits.bash_timeout).min(most),
            },
            (None, number) => Self::Ask {
                number: number.unwrap_or_default(),
                wait: named.unwrap_or_default().min(most),
                stop,
            },
        })
    }
}

impl CommandReport {
    /// Whether the command ended by itself with exit code 0.
    pub fn is_zero(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// The output and, in brackets, how it ended. It never says whether that is a success: the code
    /// of a pipeline is the code of its last command. `timeout` is the time that it had.
    pub fn render(&self, timeout: Duration) -> String {
        let mut text = self.render_output();
        self.render_end(&mut text, timeout);
        text
    }

    /// The output and, in brackets, what of it is not shown.
    fn render_output(&self) -> String {
        let (text, hidden) = invisible::shown(self.output.trim_end_matches('\n'), None, None);
        let mut text = text.into_owned();
        if text.trim().is_empty() {
            "(no output)".clone_into(&mut text);
        }
        let shown = self.output.split_inclusive('\n').count() as u64;
        if (self.output.len() as u64) < self.bytes {
            let part = if shown == self.lines {
                "the end of line "
            } else {
                ""
            };
            let _ = match (part.is_empty(), self.lines - shown + 1) {
                (true, first) => write!(
                    text,
                    "\n[Lines {first}-{} of {} are shown, {} of {} bytes.",
                    self.lines,
                    self.lines,
                    self.output.len(),
                    self.bytes
                ),
                (false, line) => write!(
                    text,
                    "\n[The end of line {line} is shown, {} of {} bytes.",
                    self.output.len(),
                    self.bytes
                ),
            };
            match (&self.output_file, &self.output_file_problem) {
                (Some(file), None) => {
                    let _ = write!(text, " Full output: {}]", file.display());
                }
                (Some(file), Some(problem)) => {
                    let _ = write!(text, " More of it: {} ({problem})]", file.display());
                }
                (None, problem) => {
                    let problem = problem.as_deref().unwrap_or("The rest was not kept");
                    let _ = write!(text, " {problem}.]");
                }
            }
        }
        if let Some(hidden) = hidden {
            let _ = write!(text, "\n[{hidden}]");
        }
        text
    }

    fn render_end(&self, text: &mut String, timeout: Duration) {
        if self.ended_background {
            text.push_str("\n[Processes that ran on in the background were ended.]");
        }
        let _ = match (self.timed_out, self.exit_code, self.signal) {
            (true, _, _) => {
                write!(
                    text,
                    "\n[timed out after {} s and was killed]",
                    timeout.as_secs_f64()
                )
            }
            (_, Some(code), Some(signal)) => {
                write!(text, "\n[exit code {code}: killed by signal {signal}]")
            }
            (_, Some(code), None) => write!(text, "\n[exit code {code}]"),
            (_, None, _) => write!(text, "\n[exit code unknown]"),
        };
    }
}

/// The tool `bash`.
///
/// Runs alone in its batch: a command may touch what the others work on. Not run again after a crash.
/// A command that ends with another code than 0, or is killed, is a failed call with its output.
///
/// The working folder and the jobs in the background are kept in the [`ShellSession`] of the run.
#[derive(Clone, Debug)]
pub struct BashTool(Workspace);

impl BashTool {
    /// Runs commands in this workspace; the first one in its root.
    pub fn new(workspace: &Workspace) -> Self {
        Self(workspace.clone())
    }
}

#[async_trait]
impl Tool for BashTool {
    type Args = BashArgs;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        "bash".into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Never
    }

    fn prepare(&self, arguments: Value) -> Value {
        aliases::apply("bash", arguments)
    }

    fn unavailable(&self) -> Option<String> {
        self.0.processes().unavailable(self.0.shell())
    }

    fn effects(&self, cx: &ToolContext, args: &BashArgs) -> ToolEffects {
        match (&args.command, args.job) {
            (Some(command), _) => {
                let workspace = self.0.for_call(cx);
                let root = workspace.root();
                let kept = ShellSession::of(cx.run()).folder(root);
                let folder = kept.unwrap_or_else(|| root.to_owned());
                ToolEffects::run(CommandEffect::new(command).in_folder(folder))
            }
            // Jobs belong to the conversation that began them.
            (None, Some(_)) => ToolEffects::conversation(),
            (None, None) => ToolEffects::unknown(),
        }
    }

    async fn call(&self, cx: &ToolContext, args: BashArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let call = Call {
            shell: ShellSession::of(cx.run()),
            workspace,
            cx,
        };
        let request =
            Request::new(args, call.workspace.limits()).map_err(Error::into_tool_error)?;
        let answered = match request {
            Request::Run { command, timeout } => Box::pin(call.run(&command, timeout)).await,
            Request::Start { command, timeout } => Box::pin(call.start(&command, timeout)).await,
            Request::Ask { number, wait, stop } => Box::pin(call.ask(number, wait, stop)).await,
        };
        let answer = answered.map_err(Error::into_tool_error)?;
        let mut text = answer.text;
        for number in call.shell.newly_ended() {
            let _ = write!(text, "\n[job {number} has ended; ask for it with `job`]");
        }
        let output = ToolOutput::text(text).with_details(answer.details);
        if answer.failed {
            Err(ToolError::Failed(output))
        } else {
            Ok(output)
        }
    }
}

/// One call, and what it works with.
struct Call<'a> {
    workspace: Workspace,
    shell: ShellSession,
    cx: &'a ToolContext,
}

struct Answer {
    text: String,
    details: Value,
    failed: bool,
}

impl Call<'_> {
    /// Runs a command to its end.
    async fn run(&self, command: &str, timeout: Duration) -> Result<Answer, Error> {
        let root = self.workspace.root();
        let kept = self.shell.folder(root);
        let run = async |folder| {
            let line = CommandLine {
                command,
                folder,
                timeout,
                trace: self.cx.run().value(),
            };
            let progress = |text: String| self.cx.progress(text);
            run_command(line, &self.workspace, self.cx.cancellation(), progress).await
        };
        let (report, gone) = match run(kept.as_deref().unwrap_or(root)).await {
            Err(Error::Folder { .. }) if kept.is_some() => {
                self.check_may_move()?;
                (run(root).await?, true)
            }
            report => (report?, false),
        };
        if let Some(file) = &report.output_file {
            self.workspace.allow_reading(file);
        }
        let mut text = report.render(timeout);
        let before = if gone {
            self.forget_folder(&mut text)
        } else {
            kept
        };
        if let Some(folder) = &report.folder {
            let is_root = folder == root || Some(folder) == self.workspace.real_root().as_ref();
            let after = (!is_root).then(|| folder.clone());
            if after != before {
                let _ = write!(
                    text,
                    "\n[working directory: {}]",
                    self.workspace.show(folder)
                );
                self.shell.set_folder(root, after);
            }
        }
        Ok(Answer {
            text,
            failed: !report.is_zero(),
            details: details(&report),
        })
    }

    /// Leaves a command running.
    async fn start(&self, command: &str, timeout: Option<Duration>) -> Result<Answer, Error> {
        let limits = self.workspace.limits();
        self.shell.admit(limits.bash_jobs)?;
        let root = self.workspace.root();
        let kept = self.shell.folder(root);
        let start = async |folder| {
            let spec = ProcessSpec {
                command,
                folder,
                shell: self.workspace.shell(),
                trace: self.cx.run().value(),
                stdin: None,
            };
            self.workspace.processes().start(spec).await
        };
        let (process, gone) = match start(kept.as_deref().unwrap_or(root)).await {
            Err(Error::Folder { .. }) if kept.is_some() => {
                self.check_may_move()?;
                (start(root).await?, true)
            }
            process => (process?, false),
        };
        let (job, guard) = Job::start(process, &self.workspace, timeout);
        if let Some(file) = &job.file {
            self.workspace.allow_reading(file);
        }
        let number = self.shell.keep(job.clone(), guard)?;
        let waited = self.wait(&job, limits.bash_job_start).await;
        if waited.is_err() {
            // Nobody has learnt its number.
            job.stop();
            job.ended().await;
            self.shell.forget(number);
        }
        waited?;
        let mut answer = self.tell(number, &job, false).await?;
        if gone {
            self.forget_folder(&mut answer.text);
        }
        Ok(answer)
    }

    /// Tells what a job does.
    async fn ask(&self, number: u64, wait: Duration, stop: bool) -> Result<Answer, Error> {
        let job = self.shell.job(number)?;
        if stop {
            job.stop();
            job.ended().await;
        } else {
            self.wait(&job, wait).await?;
        }
        self.tell(number, &job, stop).await
    }

    /// Waits for the end of a job, but no longer than that.
    async fn wait(&self, job: &Job, time: Duration) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = job.ended() => Ok(()),
            () = self.cx.cancellation().cancelled() => Err(Error::Stopped),
            () = tokio::time::sleep(time) => Ok(()),
        }
    }

    async fn tell(&self, number: u64, job: &Job, stopped: bool) -> Result<Answer, Error> {
        let (report, ended) = job.report().await?;
        let mut text = report.render_output();
        let mut details = details(&report);
        if let Some(details) = details.as_object_mut() {
            details.insert("job".to_owned(), number.into());
            details.insert("running".to_owned(), (!ended).into());
            details.insert("pid".to_owned(), job.id.into());
        }
        if ended {
            self.shell.forget(number);
            let _ = write!(text, "\n[job {number} has ended]");
            report.render_end(&mut text, job.timeout.unwrap_or_default());
        } else {
            let _ = write!(text, "\n[job {number} runs");
            if let Some(id) = job.id {
                let _ = write!(text, ", pid {id}");
            }
            if let Some(file) = &job.file {
                let _ = write!(text, "; all its output: {}", file.display());
            }
            text.push(']');
        }
        Ok(Answer {
            text,
            // One that was told to end did what was asked for, whatever its code.
            failed: ended && !stopped && !report.is_zero(),
            details,
        })
    }

    /// What was let through for one folder does not run in another one.
    fn check_may_move(&self) -> Result<(), Error> {
        if self.workspace.is_permitted_only() {
            self.shell.set_folder(self.workspace.root(), None);
            return Err(Error::Command(
                "The working folder is gone. The next command runs in the workspace's root: make the call \
                 again."
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Says that the folder that was kept is gone, and goes back to the root.
    fn forget_folder(&self, text: &mut String) -> Option<PathBuf> {
        let root = self.workspace.root();
        if let Some(folder) = self.shell.folder(root) {
            let _ = write!(
                text,
                "\n[`{}` is gone, so this ran in {}]",
                self.workspace.show(&folder),
                root.display()
            );
        }
        self.shell.set_folder(root, None);
        None
    }
}

fn details(report: &CommandReport) -> Value {
    json!({
        "exit_code": report.exit_code,
        "signal": report.signal,
        "timed_out": report.timed_out,
        "lines": report.lines,
        "bytes": report.bytes,
        "output_file": report.output_file.as_deref().map(names::shown_path),
    })
}
