//! Where commands run: a small trait, so that a container or another machine can stand in.

use std::fmt;
use std::path::{Path, PathBuf};

use harness_core::{TraceContext, async_trait};

use crate::error::Error;
use crate::shell::ShellOptions;

/// Starts commands: on this machine ([`LocalProcesses`](crate::LocalProcesses)), in a container, on
/// another machine. Given to [`Workspace::with_processes`](crate::Workspace::with_processes).
///
/// What stands behind it only starts, tells and ends. Time limits, the order of SIGTERM, grace and
/// SIGKILL, what is kept of the output and how it is shown are the same for all of them.
#[async_trait]
pub trait Processes: fmt::Debug + Send + Sync {
    /// Why no command can be started here, if none can.
    fn unavailable(&self, shell: &ShellOptions) -> Option<String> {
        let _ = shell;
        None
    }

    /// Whether commands are confined as a policy says; the error tells why not. Unless this says so, a
    /// workspace with a sandbox runs no commands here: never less than was asked for, in silence.
    #[cfg(feature = "sandbox")]
    fn confines(&self, policy: &harness_sandbox::Policy) -> Result<(), String> {
        let _ = policy;
        Err("commands run in another place, which has no sandbox".to_owned())
    }

    /// Starts a command, with no terminal, and with what [`ProcessSpec::stdin`] says as its standard input.
    ///
    /// [`Error::Folder`] if the folder to run in is not there or is no folder; [`Error::Command`], with
    /// words for the model, if it cannot be started for another reason. When the future is dropped, nothing may run on.
    async fn start(&self, spec: ProcessSpec<'_>) -> Result<Box<dyn Process>, Error>;
}

/// A command that is to be started.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProcessSpec<'a> {
    /// What the shell reads. Without a NUL character.
    pub command: &'a str,
    /// Where it runs, absolute.
    pub folder: &'a Path,
    /// The root of the workspace, absolute: what a sandbox lets the command write.
    pub root: &'a Path,
    /// Which shell, and with which environment.
    pub shell: &'a ShellOptions,
    /// What confines the command; see [`Processes::confines`]. Its profile is not
    /// [`Off`](harness_sandbox::Profile::Off).
    #[cfg(feature = "sandbox")]
    pub sandbox: Option<&'a harness_sandbox::Policy>,
    /// Where it belongs in a trace: what it may find as `TRACEPARENT` and `TRACESTATE`.
    pub trace: Option<&'a TraceContext>,
    /// What it can read from its standard input, which ends after that; `None`: nothing. It is written while
    /// [`Process::next`] is polled, and a command need not read it.
    pub stdin: Option<&'a [u8]>,
}

impl<'a> ProcessSpec<'a> {
    /// A command, in an absolute folder, with an empty standard input, in no sandbox and outside of any trace.
    pub fn new(command: &'a str, folder: &'a Path, shell: &'a ShellOptions) -> Self {
        Self {
            command,
            folder,
            root: folder,
            shell,
            #[cfg(feature = "sandbox")]
            sandbox: None,
            trace: None,
            stdin: None,
        }
    }

    /// What the command can read.
    pub fn with_stdin(mut self, bytes: &'a [u8]) -> Self {
        self.stdin = Some(bytes);
        self
    }
}

/// A command that was started: its leader, the shell, and all that came of it. Dropped, it kills every
/// one of these processes at once.
#[async_trait]
pub trait Process: Send {
    /// The leader's process id, if it has one that a person could look up.
    fn id(&self) -> Option<u32>;

    /// The next thing that happens. `None` once the leader has ended and its output is at an end; without
    /// an [`Exited`](ProcessEvent::Exited) before it, the result says `exit code unknown`.
    ///
    /// Cancel safe: when the future is dropped before it is ready, nothing is lost. A piece of output
    /// should be at most 64 KiB, and neither stream may keep the other one waiting for ever.
    async fn next(&mut self) -> Option<ProcessEvent>;

    /// Asks all of them to end: SIGTERM. Does not wait.
    fn terminate(&mut self);

    /// Kills all of them, and waits until none runs.
    async fn kill(&mut self);

    /// Whether one of them runs, the leader or another.
    async fn is_running(&mut self) -> bool;

    /// After the leader's end: the folder that the shell was in then, absolute and without symlinks;
    /// `None` if that is not known.
    async fn folder(&mut self) -> Option<PathBuf>;
}

/// What happens to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It wrote something.
    Output {
        /// Where to.
        stream: OutputStream,
        /// What: bytes as they came; a character may be split.
        bytes: Vec<u8>,
    },
    /// The leader ended. More output may follow.
    Exited(ProcessExit),
}

/// One of the two streams that a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How the leader of a command ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessExit {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
}
