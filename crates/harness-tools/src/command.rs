//! Running one command to its end, whatever end that is.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Duration;

use harness_core::CancellationToken;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep, sleep_until};

use crate::capture::{Capture, Captured, Source};
use crate::error::Error;
use crate::limits::Limits;
use crate::process::{self, ProcessGroup};
use crate::shell::{ShellOptions, VARIABLES};

/// How much is read from a pipe at once.
const PIECE_BYTES: usize = 64 * 1024;

/// How many pieces of stdout are taken before stderr comes first.
const MAX_IN_A_ROW: usize = 8;

/// How often it is told how a command gets on.
const PREVIEW_EVERY: Duration = Duration::from_millis(250);

/// How often it is looked whether killed processes are gone.
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
}

/// How a command ended, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// Runs a command with a shell.
///
/// The command has no terminal and an empty standard input, and is the leader of a session of its
/// own. The call ends when the shell has exited and its output is at its end, or silent for
/// [`Limits::bash_silence`], at most [`Limits::bash_linger`] later. Processes that the command left
/// in its session are then ended; only one in a session of its own (`setsid`) goes on.
///
/// On the timeout, on `cancel` (which gives [`Error::Stopped`]) and when background processes are
/// ended, the session gets SIGTERM, and after [`Limits::bash_kill_grace`] SIGKILL. When the future
/// is dropped, it gets SIGKILL at once.
///
/// `on_output` is given the last lines of the output, now and then while the command runs.
pub async fn run_command(
    line: CommandLine<'_>,
    shell: &ShellOptions,
    limits: &Limits,
    cancel: &CancellationToken,
    mut on_output: impl FnMut(String) + Send,
) -> Result<CommandReport, Error> {
    let (mut child, mut group) = start(&line, shell)?;
    let mut capture = Capture::new(limits, shell.output_folder.clone());
    let mut out = Pipe::new(child.stdout.take(), Source::Stdout);
    let mut err = Pipe::new(child.stderr.take(), Source::Stderr);

    let leader = group.leader();
    let timeout = sleep(line.timeout);
    tokio::pin!(timeout);
    let mut phase = Phase::Running;
    let mut status = None;
    let mut in_a_row = 0;
    let mut preview: Option<Instant> = None;
    let mut next_preview = Instant::now() + PREVIEW_EVERY;
    loop {
        if status.is_some() && !out.open() && !err.open() {
            break;
        }
        let now = Instant::now();
        let wake = phase.wake(now);
        let piece = tokio::select! {
            () = &mut timeout, if phase == Phase::Running && status.is_none() => {
                process::signal(leader, Signal::TERM);
                phase = Phase::Ending { timed_out: true, kill_at: Instant::now() + limits.bash_kill_grace };
                continue;
            }
            () = cancel.cancelled(), if !phase.is_forced() => {
                process::signal(leader, Signal::TERM);
                phase = Phase::Ending { timed_out: false, kill_at: Instant::now() + limits.bash_kill_grace };
                continue;
            }
            ended = child.wait(), if status.is_none() => {
                status = Some(ended.map_err(|error| Error::io("wait for", line.command, error))?);
                if phase == Phase::Running {
                    let now = Instant::now();
                    phase = Phase::Exited {
                        quiet_at: now + limits.bash_silence,
                        leave_at: now + limits.bash_linger,
                    };
                }
                continue;
            }
            () = sleep_until(wake.unwrap_or(now)), if wake.is_some() => {
                match phase {
                    Phase::Running => {}
                    Phase::Exited { .. } | Phase::Killed { .. } => break,
                    Phase::Ending { timed_out, kill_at } => {
                        if Instant::now() >= kill_at || !alive(leader).await {
                            kill(leader).await;
                            phase = Phase::Killed { timed_out, leave_at: Instant::now() + limits.bash_linger };
                        }
                    }
                }
                continue;
            }
            () = sleep_until(preview.unwrap_or(now)), if preview.is_some() => {
                preview = None;
                next_preview = Instant::now() + PREVIEW_EVERY;
                on_output(capture.preview());
                continue;
            }
            piece = next_piece(&mut out, &mut err, in_a_row < MAX_IN_A_ROW),
                if out.open() || err.open() => piece,
        };
        let Some((source, bytes)) = piece else {
            continue;
        };
        let buffer;
        (capture, buffer) = push(capture, source, bytes).await?;
        match source {
            Source::Stdout => {
                out.buffer = buffer;
                in_a_row += 1;
            }
            Source::Stderr => {
                err.buffer = buffer;
                in_a_row = 0;
            }
        }
        if in_a_row > MAX_IN_A_ROW {
            in_a_row = 0;
        }
        preview.get_or_insert(next_preview);
        if let Phase::Exited { quiet_at, leave_at } = &mut phase {
            *quiet_at = (Instant::now() + limits.bash_silence).min(*leave_at);
        }
    }
    let ended_background = end(phase, leader, limits).await;
    // Only now: a process that writes to a closed pipe ends by itself, and would not be counted.
    drop((out, err));
    if status.is_none() {
        // Everything was killed; a shell that cannot be waited for is stuck in the kernel.
        let wait = tokio::time::timeout(limits.bash_linger, child.wait());
        status = wait.await.ok().and_then(Result::ok);
    }
    group.set_ended();
    let timed_out = phase.is_timeout();
    if phase.is_forced() && !timed_out {
        return Err(Error::Stopped);
    }
    let captured = off_thread(move || capture.finish()).await?;
    Ok(report(captured, status, timed_out, ended_background))
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
        matches!(
            self,
            Self::Ending {
                timed_out: true,
                ..
            } | Self::Killed {
                timed_out: true,
                ..
            }
        )
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

fn start(line: &CommandLine<'_>, shell: &ShellOptions) -> Result<(Child, ProcessGroup), Error> {
    match std::fs::metadata(line.folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(Error::Command(format!(
                "The working folder `{}` is not a folder.",
                line.folder.display()
            )));
        }
        Err(error) => {
            return Err(Error::Command(format!(
                "The working folder `{}` cannot be used: {error}.",
                line.folder.display()
            )));
        }
    }
    if line.command.contains('\0') {
        return Err(Error::Command(
            "`command` contains a NUL character.".to_owned(),
        ));
    }
    let program = shell.find_shell()?;
    let mut command = tokio::process::Command::new(&program);
    command.arg("-c").arg(line.command).current_dir(line.folder);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in &shell.hidden_variables {
        command.env_remove(name);
    }
    command.envs(VARIABLES.iter().copied());
    command.envs(shell.variables.iter().map(|(name, value)| (name, value)));
    process::own_session(&mut command);
    let child = command.spawn().map_err(|error| {
        Error::Command(match error.kind() {
            std::io::ErrorKind::ArgumentListTooLong => format!(
                "The command has {} bytes, more than the system takes. Put it or its data into a \
                 file with `write`, and run that.",
                line.command.len()
            ),
            _ => format!(
                "The shell `{}` cannot be started: {error}.",
                program.display()
            ),
        })
    })?;
    let group = child.id().and_then(ProcessGroup::led_by);
    let group = group.ok_or_else(|| Error::Command("The shell ended at once.".to_owned()))?;
    Ok((child, group))
}

/// One of the command's streams.
struct Pipe<R> {
    reader: Option<R>,
    buffer: Vec<u8>,
    source: Source,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(reader: Option<R>, source: Source) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            source,
        }
    }

    fn open(&self) -> bool {
        self.reader.is_some()
    }

    /// The next bytes; `None` at the end, and nothing more after that.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Source, Vec<u8>)>> {
        let Some(reader) = self.reader.as_mut() else {
            return Poll::Pending;
        };
        self.buffer.resize(PIECE_BYTES, 0);
        let mut space = ReadBuf::new(&mut self.buffer);
        match Pin::new(reader).poll_read(cx, &mut space) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                let filled = space.filled().len();
                self.buffer.truncate(filled);
                Poll::Ready(Some((self.source, std::mem::take(&mut self.buffer))))
            }
            Poll::Ready(_) => {
                self.reader = None;
                Poll::Ready(None)
            }
        }
    }
}

/// The next bytes of either stream. When both have some, nobody can tell which came first; then
/// `stdout_first` decides.
async fn next_piece(
    out: &mut Pipe<ChildStdout>,
    err: &mut Pipe<ChildStderr>,
    stdout_first: bool,
) -> Option<(Source, Vec<u8>)> {
    std::future::poll_fn(|cx| {
        if stdout_first && let Poll::Ready(piece) = out.poll_next(cx) {
            return Poll::Ready(piece);
        }
        if let Poll::Ready(piece) = err.poll_next(cx) {
            return Poll::Ready(piece);
        }
        if stdout_first {
            Poll::Pending
        } else {
            out.poll_next(cx)
        }
    })
    .await
}

/// Takes a piece of output: at once while it is little, on a thread for blocking work when there is
/// so much that it goes to a file. Gives the buffer back.
async fn push(
    mut capture: Capture,
    source: Source,
    bytes: Vec<u8>,
) -> Result<(Capture, Vec<u8>), Error> {
    let large = capture.writes_file();
    let work = move || {
        capture.push(source, &bytes);
        (capture, bytes)
    };
    if large {
        off_thread(work).await
    } else {
        Ok(work())
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

async fn alive(leader: Pid) -> bool {
    off_thread(move || process::is_alive(leader))
        .await
        .unwrap_or(false)
}

async fn kill(leader: Pid) {
    let _ = off_thread(move || process::kill_all(leader)).await;
}

/// Sees that nothing of the command runs. True if it had left something that had to be ended.
async fn end(phase: Phase, leader: Pid, limits: &Limits) -> bool {
    if phase.is_forced() {
        kill(leader).await;
        return false;
    }
    end_leftovers(leader, limits).await
}

/// Ends what the command left in its session. True if there was something.
async fn end_leftovers(leader: Pid, limits: &Limits) -> bool {
    if !alive(leader).await {
        return false;
    }
    process::signal(leader, Signal::TERM);
    let kill_at = Instant::now() + limits.bash_kill_grace;
    while Instant::now() < kill_at {
        sleep(LOOK_EVERY).await;
        if !alive(leader).await {
            return true;
        }
    }
    kill(leader).await;
    true
}

fn report(
    captured: Captured,
    status: Option<std::process::ExitStatus>,
    timed_out: bool,
    ended_background: bool,
) -> CommandReport {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.and_then(|status| status.signal());
    let exit_code = status
        .and_then(|status| status.code())
        .or(signal.map(|signal| 128 + signal));
    CommandReport {
        output: captured.text,
        lines: captured.lines,
        bytes: captured.bytes,
        output_file: captured.file,
        output_file_problem: captured.file_problem,
        exit_code: if timed_out { None } else { exit_code },
        signal,
        timed_out,
        ended_background,
    }
}
