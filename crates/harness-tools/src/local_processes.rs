//! Commands on this machine.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll};

use harness_core::async_trait;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::error::Error;
use crate::process::{self, ProcessTree};
use crate::processes::{OutputStream, Process, ProcessEvent, ProcessExit, ProcessSpec, Processes};
use crate::shell::{ShellOptions, VARIABLES};
use crate::startup_file::StartupFile;

/// How much is read from a pipe at once.
const PIECE_BYTES: usize = 64 * 1024;

/// How many pieces of stdout are taken before stderr comes first.
const MAX_IN_A_ROW: usize = 8;

/// The variable that marks the processes of one command begins like this.
const MARKER: &str = "HARNESS_CALL_";

/// Commands as processes of this machine, each as the leader of a session of its own.
///
/// What a command started is found by that session, by a variable `HARNESS_CALL_…` in its environment,
/// and by its parent; so also what called `setsid` or became a daemon is ended with it. Only a process
/// that has another environment (`env -i`), another session and a parent that is gone is not found.
/// The system must have `/proc` for that; without, only the process group is ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalProcesses;

#[async_trait]
impl Processes for LocalProcesses {
    fn unavailable(&self, shell: &ShellOptions) -> Option<String> {
        shell.find_shell().err().map(|error| error.to_string())
    }

    #[cfg(feature = "sandbox")]
    fn confines(&self, policy: &harness_sandbox::Policy) -> Result<(), String> {
        let missing = harness_sandbox::Abilities::of_this_machine().missing(policy);
        let required: Vec<_> = missing
            .iter()
            .filter(|missing| missing.is_required())
            .map(ToString::to_string)
            .collect();
        if required.is_empty() {
            Ok(())
        } else {
            Err(required.join("; "))
        }
    }

    async fn start(&self, spec: ProcessSpec<'_>) -> Result<Box<dyn Process>, Error> {
        Ok(Box::new(LocalProcess::start(spec)?))
    }
}

struct LocalProcess {
    // Its fields are dropped after `drop`, which kills.
    child: Child,
    tree: ProcessTree,
    input: Option<Input>,
    out: Pipe<ChildStdout>,
    err: Pipe<ChildStderr>,
    in_a_row: usize,
    startup: Option<StartupFile>,
    /// The leader was waited for.
    exited: bool,
    /// Nothing runs any more.
    ended: bool,
}

impl LocalProcess {
    fn start(spec: ProcessSpec<'_>) -> Result<Self, Error> {
        check_folder(spec.folder)?;
        if spec.command.contains('\0') {
            return Err(Error::Command(
                "`command` contains a NUL character.".to_owned(),
            ));
        }
        let program = spec.shell.find_shell()?;
        let mut command = tokio::process::Command::new(&program);
        command.current_dir(spec.folder);
        command
            .stdin(if spec.stdin.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in &spec.shell.hidden_variables {
            command.env_remove(name);
        }
        command.envs(VARIABLES.iter().copied());
        command.envs(
            spec.shell
                .variables
                .iter()
                .map(|(name, value)| (name, value)),
        );
        if let Some(trace) = spec.trace {
            command.env("TRACEPARENT", trace.traceparent());
            // Not that of another place in another trace.
            match trace.tracestate() {
                Some(state) => command.env("TRACESTATE", state),
                None => command.env_remove("TRACESTATE"),
            };
        }
        let marker = marker();
        command.env(&marker, "1");
        // Without the file only the folder is forgotten; that is no reason to run nothing.
        let folders = [&spec.shell.output_folder, Path::new("/tmp")];
        let mut startup = folders
            .into_iter()
            .find_map(|folder| StartupFile::create(folder).ok());
        let text = prepare(&mut startup, &program, spec, &mut command);
        command.arg("-c").arg(text);
        process::own_session(&mut command);
        #[cfg(feature = "sandbox")]
        confine(spec, startup.as_ref(), &mut command)?;
        let mut child = command.spawn().map_err(|error| {
            Error::Command(match error.kind() {
                std::io::ErrorKind::ArgumentListTooLong => format!(
                    "The command has {} bytes, more than the system takes. Put it or its data into \
                     a file with `write`, and run that.",
                    spec.command.len()
                ),
                _ => format!(
                    "The shell `{}` cannot be started: {error}.",
                    program.display()
                ),
            })
        })?;
        let tree = child.id().and_then(|id| ProcessTree::new(id, marker));
        let tree = tree.ok_or_else(|| Error::Command("The shell ended at once.".to_owned()))?;
        let input = child.stdin.take().zip(spec.stdin);
        Ok(Self {
            input: input.map(|(pipe, bytes)| Input {
                pipe,
                bytes: bytes.to_vec(),
                written: 0,
            }),
            out: Pipe::new(child.stdout.take(), OutputStream::Stdout),
            err: Pipe::new(child.stderr.take(), OutputStream::Stderr),
            child,
            tree,
            in_a_row: 0,
            startup,
            exited: false,
            ended: false,
        })
    }
}

fn check_folder(folder: &Path) -> Result<(), Error> {
    let reason = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is not a folder".to_owned(),
        Err(error) => format!("cannot be used: {error}"),
    };
    Err(Error::Folder {
        path: folder.to_owned(),
        reason,
    })
}

/// Has the command enter the sandbox, if there is to be one. It may tell its last folder also where it may
/// write nothing.
#[cfg(feature = "sandbox")]
fn confine(
    spec: ProcessSpec<'_>,
    startup: Option<&StartupFile>,
    command: &mut tokio::process::Command,
) -> Result<(), Error> {
    let Some(policy) = spec.sandbox else {
        return Ok(());
    };
    let mut policy = policy.clone().with_writable(spec.root);
    if let Some(startup) = startup {
        policy = policy.with_scratch(startup.path());
    }
    let prepared = policy.prepare(harness_sandbox::Abilities::of_this_machine());
    let prepared = prepared.map_err(|error| {
        use std::error::Error as _;
        let cause = error.source().map(|cause| format!(": {cause}"));
        Error::Command(format!(
            "The command was not run: {error}{}.",
            cause.unwrap_or_default()
        ))
    })?;
    prepared.confine(command.as_std_mut());
    Ok(())
}

/// The name of a variable that no other command has.
fn marker() -> String {
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{MARKER}{:016x}", hasher.finish())
}

/// Has the shell tell its last folder, and gives the text to run.
fn prepare(
    startup: &mut Option<StartupFile>,
    program: &Path,
    spec: ProcessSpec<'_>,
    command: &mut tokio::process::Command,
) -> OsString {
    let text = OsString::from(spec.command);
    let Some(file) = startup else { return text };
    if program.file_name() != Some(OsStr::new("bash")) || !file.is_plainly_named() {
        return file.before(spec.command);
    }
    let mut given = spec.shell.variables.iter().rev();
    let usual = given.find(|(name, _)| name == "BASH_ENV");
    match file.for_bash(usual.map(|(_, value)| value.as_os_str())) {
        Ok(value) => {
            command.env("BASH_ENV", value);
        }
        Err(_) => *startup = None,
    }
    text
}

#[async_trait]
impl Process for LocalProcess {
    fn id(&self) -> Option<u32> {
        Some(self.tree.leader())
    }

    async fn next(&mut self) -> Option<ProcessEvent> {
        while !self.exited || self.out.is_open() || self.err.is_open() {
            let first = self.in_a_row < MAX_IN_A_ROW;
            let piece = tokio::select! {
                status = self.child.wait(), if !self.exited => {
                    self.exited = true;
                    self.input = None;
                    return Some(ProcessEvent::Exited(exit(status.ok())));
                }
                () = write_all(&mut self.input), if self.input.is_some() => continue,
                piece = next_piece(&mut self.out, &mut self.err, first),
                    if self.out.is_open() || self.err.is_open() => piece,
            };
            let Some((stream, bytes)) = piece else {
                continue;
            };
            self.in_a_row = match stream {
                OutputStream::Stdout if self.in_a_row < MAX_IN_A_ROW => self.in_a_row + 1,
                _ => 0,
            };
            return Some(ProcessEvent::Output { stream, bytes });
        }
        None
    }

    fn terminate(&mut self) {
        self.tree.signal(Signal::TERM);
    }

    async fn kill(&mut self) {
        let tree = self.tree.clone();
        let killed = tokio::task::spawn_blocking(move || tree.kill()).await;
        self.ended = killed.unwrap_or(false);
    }

    async fn is_running(&mut self) -> bool {
        let tree = self.tree.clone();
        let running = tokio::task::spawn_blocking(move || tree.is_running()).await;
        let running = running.unwrap_or(false);
        // Nothing is left that could start something.
        self.ended |= self.exited && !running;
        running
    }

    async fn folder(&mut self) -> Option<PathBuf> {
        self.startup.as_mut()?.folder()
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        if !self.ended {
            self.tree.kill();
        }
    }
}

fn exit(status: Option<ExitStatus>) -> ProcessExit {
    use std::os::unix::process::ExitStatusExt;
    ProcessExit {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
    }
}

/// What the command has not been given yet of its standard input.
struct Input {
    pipe: ChildStdin,
    bytes: Vec<u8>,
    written: usize,
}

/// Writes what is left, and closes the pipe. Cancel safe. A command that does not read any more has closed it
/// already.
async fn write_all(slot: &mut Option<Input>) {
    while let Some(input) = slot {
        let rest = input.bytes.get(input.written..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        match input.pipe.write(rest).await {
            Ok(count) if count > 0 => input.written += count,
            _ => break,
        }
    }
    *slot = None;
}

/// One of the command's streams.
struct Pipe<R> {
    reader: Option<R>,
    buffer: Vec<u8>,
    stream: OutputStream,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(reader: Option<R>, stream: OutputStream) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            stream,
        }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// The next bytes; `None` at the end, and nothing more after that.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(OutputStream, Vec<u8>)>> {
        let Some(reader) = self.reader.as_mut() else {
            return Poll::Pending;
        };
        self.buffer.reserve(PIECE_BYTES);
        // It holds nothing over from one poll to the next.
        let read = pin!(reader.read_buf(&mut self.buffer));
        match read.poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(count)) if count > 0 => {
                Poll::Ready(Some((self.stream, std::mem::take(&mut self.buffer))))
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
) -> Option<(OutputStream, Vec<u8>)> {
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
