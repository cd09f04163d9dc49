//! Running one command to its end, whatever end that is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness_core::{CancellationToken, TraceContext};
use tokio::time::{Instant, sleep, sleep_until};

use crate::capture::{Capture, Captured};
use crate::error::Error;
use crate::limits::Limits;
use crate::processes::{OutputStream, Process, ProcessEvent, ProcessExit, ProcessSpec};
use crate::workspace::Workspace;

/// How often it is told how a command gets on.
const PREVIEW_EVERY: Duration = Duration::from_millis(250);

/// How often it is looked whether processes that were asked to end are gone.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A command to run.
#[derive(Clone, Debug)]
pub struct CommandLine<'a> {
    /// What the shell reads.
    pub command: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// How long it may run.
    pub timeout: Duration,
    /// Where it belongs in a trace, if it is to know.
    pub trace: Option<&'a TraceContext>,
}

/// How a command ended, and what it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandReport {
    /// The last lines of its output; stdout and stderr in the order in which they arrived, without
    /// control sequences.
    pub output: String,
    /// How many lines it gave.
    pub lines: u64,
    /// How many bytes that is, cleaned.
    pub bytes: u64,
    /// The file with all of it, if it is more than is shown; mode 0600.
    pub output_file: Option<PathBuf>,
    /// What the file lacks, in words.
    pub output_file_problem: Option<String>,
    /// The exit code; 128 and the signal's number if a signal ended the shell; `None` if it was
    /// killed for its time.
    pub exit_code: Option<i32>,
    /// The signal that ended the shell.
    pub signal: Option<i32>,
    /// It was killed because its time was over.
    pub timed_out: bool,
    /// It left processes in the background, and they were ended.
    pub ended_background: bool,
    /// The folder that the shell was in when it ended, without symlinks; `None` if that is not known,
    /// for example because the shell was killed.
    pub folder: Option<PathBuf>,
}

/// Runs a command with the workspace's shell, wherever its [`Processes`](crate::Processes) are.
///
/// The command has no terminal and an empty standard input. The call ends when the shell has exited
/// and its output is at its end, or silent for [`Limits::bash_silence`], at most
/// [`Limits::bash_linger`] later. What the command left running is then ended.
///
/// On the timeout, on `cancel` (which gives [`Error::Stopped`]) and when background processes are
/// ended, they get SIGTERM, and after [`Limits::bash_kill_grace`] SIGKILL. When the future is dropped,
/// they get SIGKILL at once.
///
/// `on_output` is given the last lines of the output, now and then while the command runs.
pub async fn run_command(
    line: CommandLine<'_>,
    workspace: &Workspace,
    cancel: &CancellationToken,
    mut on_output: impl FnMut(String) + Send,
) -> Result<CommandReport, Error> {
    let (shell, limits) = (workspace.shell(), workspace.limits());
    let spec = ProcessSpec {
        command: line.command,
        folder: line.folder,
        shell,
        trace: line.trace,
        stdin: None,
    };
    let mut process = workspace.processes().start(spec).await?;
    let output = Output::new(Capture::new(limits, shell.output_folder.clone()));
    let bounds = Bounds {
        limits,
        timeout: Some(line.timeout),
        stop: cancel,
    };
    let end = drive(&mut *process, &output, bounds, &mut on_output).await?;
    if end.stopped {
        return Err(Error::Stopped);
    }
    let folder = process.folder().await;
    let captured = output.finish().await?;
    Ok(end.report(captured, folder))
}

/// What ends a command that does not end by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) timeout: Option<Duration>,
    pub(crate) stop: &'a CancellationToken,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) exit: Option<ProcessExit>,
    pub(crate) timed_out: bool,
    /// It was asked to end by [`Bounds::stop`].
    pub(crate) stopped: bool,
    pub(crate) ended_background: bool,
}

impl End {
    pub(crate) fn report(self, captured: Captured, folder: Option<PathBuf>) -> CommandReport {
        let exit = self.exit.unwrap_or_default();
        let exit_code = exit.code.or(exit.signal.map(|signal| 128 + signal));
        CommandReport {
            output: captured.text,
            lines: captured.lines,
            bytes: captured.bytes,
            output_file: captured.file,
            output_file_problem: captured.file_problem,
            exit_code: if self.timed_out { None } else { exit_code },
            signal: exit.signal,
            timed_out: self.timed_out,
            ended_background: self.ended_background,
            folder,
        }
    }
}

/// Takes a process to its end: until it ends by itself, until its time is over, or until it is told to
/// stop. After that nothing of it runs.
pub(crate) async fn drive(
    process: &mut dyn Process,
    output: &Output,
    bounds: Bounds<'_>,
    on_output: &mut (dyn FnMut(String) + Send),
) -> Result<End, Error> {
    let limits = bounds.limits;
    let deadline = sleep(bounds.timeout.unwrap_or_default());
    tokio::pin!(deadline);
    let mut phase = Phase::Running;
    let mut exit = None;
    let mut preview: Option<Instant> = None;
    let mut next_preview = Instant::now() + PREVIEW_EVERY;
    loop {
        let now = Instant::now();
        let wake = phase.wake(now);
        let event = tokio::select! {
            () = &mut deadline, if bounds.timeout.is_some() && phase == Phase::Running => {
                process.terminate();
                phase = Phase::Ending { timed_out: true, kill_at: Instant::now() + limits.bash_kill_grace };
                continue;
            }
            () = bounds.stop.cancelled(), if !phase.is_forced() => {
                process.terminate();
                phase = Phase::Ending { timed_out: false, kill_at: Instant::now() + limits.bash_kill_grace };
                continue;
            }
            () = sleep_until(wake.unwrap_or(now)), if wake.is_some() => {
                match phase {
                    Phase::Running => {}
                    Phase::Exited { .. } | Phase::Killed { .. } => break,
                    Phase::Ending { timed_out, kill_at } => {
                        if Instant::now() >= kill_at || !process.is_running().await {
                            process.kill().await;
                            phase = Phase::Killed { timed_out, leave_at: Instant::now() + limits.bash_linger };
                        }
                    }
                }
                continue;
            }
            () = sleep_until(preview.unwrap_or(now)), if preview.is_some() => {
                preview = None;
                next_preview = Instant::now() + PREVIEW_EVERY;
                on_output(output.lock().preview());
                continue;
            }
            event = process.next() => event,
        };
        match event {
            None => break,
            Some(ProcessEvent::Exited(how)) => {
                exit = Some(how);
                if phase == Phase::Running {
                    let now = Instant::now();
                    phase = Phase::Exited {
                        quiet_at: now + limits.bash_silence,
                        leave_at: now + limits.bash_linger,
                    };
                }
            }
            Some(ProcessEvent::Output { stream, bytes }) => {
                output.push(stream, bytes).await?;
                preview.get_or_insert(next_preview);
                if let Phase::Exited { quiet_at, leave_at } = &mut phase {
                    *quiet_at = (Instant::now() + limits.bash_silence).min(*leave_at);
                }
            }
        }
    }
    // The output is still open: a process that writes to a closed pipe would end by itself, and not
    // be counted.
    let mut ended_background = false;
    if phase.is_forced() {
        process.kill().await;
    } else {
        ended_background = end_leftovers(process, limits).await;
    }
    if exit.is_none() {
        // Everything was killed; a shell that cannot be waited for is stuck in the kernel.
        let wait = tokio::time::timeout(limits.bash_linger, exit_of(process));
        exit = wait.await.ok().flatten();
    }
    let timed_out = phase.is_timeout();
    Ok(End {
        exit,
        timed_out,
        stopped: phase.is_forced() && !timed_out,
        ended_background,
    })
}

/// Waits for the leader, whatever else it says.
async fn exit_of(process: &mut dyn Process) -> Option<ProcessExit> {
    loop {
        match process.next().await? {
            ProcessEvent::Exited(exit) => return Some(exit),
            ProcessEvent::Output { .. } => {}
        }
    }
}

/// Ends what the command left running. True if there was something.
async fn end_leftovers(process: &mut dyn Process, limits: &Limits) -> bool {
    if !process.is_running().await {
        return false;
    }
    process.terminate();
    let kill_at = Instant::now() + limits.bash_kill_grace;
    while Instant::now() < kill_at {
        sleep(LOOK_EVERY).await;
        if !process.is_running().await {
            return true;
        }
    }
    process.kill().await;
    true
}

/// Where a command is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The shell runs.
    Running,
    /// The shell has exited; something may still hold its output.
    Exited {
        quiet_at: Instant,
        leave_at: Instant,
    },
    /// It was asked to end.
    Ending { timed_out: bool, kill_at: Instant },
    /// It was killed; what it said last is read.
    Killed { timed_out: bool, leave_at: Instant },
}

impl Phase {
    /// It did not end by itself.
    fn is_forced(self) -> bool {
        matches!(self, Self::Ending { .. } | Self::Killed { .. })
    }

    /// Its time was over.
    fn is_timeout(self) -> bool {
        match self {
            Self::Ending { timed_out, .. } | Self::Killed { timed_out, .. } => timed_out,
            Self::Running | Self::Exited { .. } => false,
        }
    }

    /// When something is to be done without anything happening.
    fn wake(self, now: Instant) -> Option<Instant> {
        match self {
            Self::Running => None,
            Self::Exited { quiet_at, .. } => Some(quiet_at),
            Self::Ending { kill_at, .. } => Some(kill_at.min(now + LOOK_EVERY)),
            Self::Killed { leave_at, .. } => Some(leave_at),
        }
    }
}

/// The output of a command, for the one who fills it and those who look at it meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Output(Arc<Mutex<Capture>>);

impl Output {
    pub(crate) fn new(capture: Capture) -> Self {
        Self(Arc::new(Mutex::new(capture)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Capture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a piece of output: at once while it is little, on a thread for blocking work when there
    /// is so much that it goes to a file.
    async fn push(&self, stream: OutputStream, bytes: Vec<u8>) -> Result<(), Error> {
        if self.push_little(stream, &bytes) {
            return Ok(());
        }
        let this = self.clone();
        off_thread(move || this.lock().push(stream, &bytes)).await
    }

    fn push_little(&self, stream: OutputStream, bytes: &[u8]) -> bool {
        let mut capture = self.lock();
        let is_little = !capture.writes_file();
        if is_little {
            capture.push(stream, bytes);
        }
        is_little
    }

    pub(crate) async fn finish(&self) -> Result<Captured, Error> {
        let this = self.clone();
        off_thread(move || this.lock().finish()).await
    }

    /// What came since it was asked for last.
    pub(crate) async fn take(&self) -> Result<Captured, Error> {
        let this = self.clone();
        off_thread(move || this.lock().take()).await
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Stopped),
        },
    }
}
