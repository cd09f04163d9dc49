//! `bash`: a command of the shell.

use std::fmt::Write as _;
use std::time::Duration;

use harness_core::{Execution, Replay, Tool, ToolContext, ToolError, ToolOutput, async_trait};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aliases;
use crate::command::{CommandLine, CommandReport, run_command};
use crate::error::Error;
use crate::limits::Limits;
use crate::workspace::Workspace;

/// Runs a command with bash in the workspace, without a terminal or input. Each call starts a fresh
/// shell. Shows the last 2000 lines or 50 KiB of stdout and stderr. Background processes are ended
/// with the call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct BashArgs {
    /// The command.
    pub command: String,
    /// Seconds until it is killed; default 120.
    pub timeout: Option<f64>,
}

/// The time that a call may take: what it names, within bounds.
fn time_limit(limits: &Limits, named: Option<f64>) -> Result<Duration, Error> {
    match named {
        None => Ok(limits.bash_timeout),
        Some(seconds) if seconds > 0.0 => {
            let named = Duration::try_from_secs_f64(seconds).unwrap_or(limits.bash_timeout_max);
            Ok(named.min(limits.bash_timeout_max))
        }
        Some(_) => Err(Error::Argument(
            "`timeout` must be more than 0 seconds.".to_owned(),
        )),
    }
}

impl CommandReport {
    /// Whether the command ended by itself with exit code 0.
    pub fn is_zero(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// The output and, in brackets, how it ended. It never says whether that is a success: the code
    /// of a pipeline is the code of its last command.
    pub fn render(&self, timeout: Duration) -> String {
        let mut text = self.output.trim_end_matches('\n').to_owned();
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
        text
    }
}

/// The tool `bash`.
///
/// Runs alone in its batch: a command may touch what the others work on. Not run again after a crash.
/// A command that ends with another code than 0, or is killed, is a failed call with its output.
#[derive(Clone, Debug)]
pub struct BashTool(Workspace);

impl BashTool {
    /// Runs commands in the root of this workspace.
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

    async fn call(&self, cx: &ToolContext, args: BashArgs) -> Result<ToolOutput, ToolError> {
        let workspace = self.0.for_call(cx);
        let limits = workspace.limits();
        let timeout = time_limit(limits, args.timeout).map_err(Error::into_tool_error)?;
        let line = CommandLine {
            command: &args.command,
            folder: workspace.root(),
            timeout,
        };
        let progress = |text: String| cx.progress(text);
        let run = run_command(line, workspace.shell(), limits, cx.cancellation(), progress);
        let report = Box::pin(run).await.map_err(Error::into_tool_error)?;
        if let Some(file) = &report.output_file {
            workspace.allow_output(file);
        }
        let output = ToolOutput::text(report.render(timeout)).with_details(json!({
            "exit_code": report.exit_code,
            "signal": report.signal,
            "timed_out": report.timed_out,
            "lines": report.lines,
            "bytes": report.bytes,
            "output_file": report.output_file,
        }));
        if report.is_zero() {
            Ok(output)
        } else {
            Err(ToolError::Failed(output))
        }
    }
}
