//! The git command, run so that neither a repository nor the caller's environment can have it do
//! anything else.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How many bytes of the standard error are kept: the last ones.
const ERRORS: usize = 8 * 1024;
/// How long the ends of the pipes may take once the whole group was killed. Only a process that left
/// the group can still have one.
const GRACE: Duration = Duration::from_secs(2);

/// What the caller may have set for another repository, for tracing, or to have programs run.
const REMOVED: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_ATTR_SOURCE",
    "GIT_TEMPLATE_DIR",
    "GIT_DEFAULT_HASH",
    "GIT_DEFAULT_REF_FORMAT",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_PROXY_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROTOCOL",
    "GIT_TRACE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_PACKFILE",
    "GIT_TRACE_SETUP",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_CURL_VERBOSE",
    "LANGUAGE",
];

const SET: &[(&str, &str)] = &[
    // Stronger than any `protocol.*` of a configuration, and it holds for what `insteadOf` makes.
    ("GIT_ALLOW_PROTOCOL", "https:http:ssh:file"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty, so that neither `core.askPass` nor SSH_ASKPASS is looked at.
    ("GIT_ASKPASS", ""),
    // Has ssh ask a program that says no, where it would ask at the terminal.
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // Messages are searched for what a network does.
    ("LC_ALL", "C"),
];

const CONFIGURATION: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=true",
    "core.sparseCheckout=false",
    "core.attributesFile=/dev/null",
    "credential.interactive=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.writeCommitGraph=false",
    "fetch.unpackLimit=1",
    "transfer.unpackLimit=1",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
];

/// Until when something may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// From now on. Never, for a time that no clock can hold.
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(Instant::now().checked_add(timeout))
    }

    /// The next message. `None` if it did not come in time, or none can come.
    pub(crate) fn receive<T>(self, receiver: &Receiver<T>) -> Option<T> {
        let Some(end) = self.0 else {
            return receiver.recv().ok();
        };
        let left = end.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).ok()
    }
}

/// Runs the git command, until a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Git<'a> {
    pub(crate) program: &'a Path,
    pub(crate) deadline: Deadline,
}

/// Why a command came to nothing.
#[derive(Debug)]
pub(crate) enum GitFailure {
    /// It could not be started.
    Start(io::Error),
    /// The deadline passed.
    TimedOut,
    /// It wrote more than it may.
    TooMuch,
    /// What it wrote to its standard error, or its exit status if that is nothing.
    Failed(String),
}

enum Event {
    Ended,
    Output(Vec<u8>),
    Errors(Vec<u8>),
    TooMuch,
}

impl Git<'_> {
    /// Runs one command in `folder`, and gives what it wrote to its standard output, which is at most
    /// `most` bytes. No process of its group is left, whatever the result.
    pub(crate) fn run<A: AsRef<OsStr>>(
        self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
        variables: &[(&str, &Path)],
        most: usize,
    ) -> Result<Vec<u8>, GitFailure> {
        let mut command = self.command(folder);
        command.args(arguments).envs(variables.iter().copied());
        let mut group = Group::start(&mut command).map_err(GitFailure::Start)?;
        let (sender, events) = mpsc::channel();
        group.watch(&sender, most).map_err(GitFailure::Start)?;
        drop(sender);

        let (mut output, mut errors) = (None, None);
        let mut ended = false;
        while !ended {
            match self.deadline.receive(&events) {
                Some(Event::Ended) => ended = true,
                Some(Event::Output(bytes)) => output = Some(bytes),
                Some(Event::Errors(bytes)) => errors = Some(bytes),
                Some(Event::TooMuch) => return Err(GitFailure::TooMuch),
                None => break,
            }
        }
        let status = group.end().map_err(GitFailure::Start)?;
        // The pipes end with the last process that has them, so this waits for the whole group.
        let grace = Deadline::after(GRACE);
        while output.is_none() || errors.is_none() {
            match grace.receive(&events) {
                Some(Event::Ended) => {}
                Some(Event::Output(bytes)) => output = Some(bytes),
                Some(Event::Errors(bytes)) => errors = Some(bytes),
                Some(Event::TooMuch) => return Err(GitFailure::TooMuch),
                None => break,
            }
        }
        if !ended {
            return Err(GitFailure::TimedOut);
        }
        if !status.success() {
            let errors = errors.unwrap_or_default();
            let text = String::from_utf8_lossy(&errors).trim().to_owned();
            let is_silent = text.is_empty();
            return Err(GitFailure::Failed(if is_silent {
                status.to_string()
            } else {
                text
            }));
        }
        // A pipe that does not end may have had more to say.
        output.ok_or(GitFailure::TimedOut)
    }

    fn command(self, folder: &Path) -> Command {
        let mut command = Command::new(self.program);
        for name in REMOVED {
            command.env_remove(name);
        }
        command.envs(SET.iter().copied());
        // Not the folder of the process: a relative path of the program would become another.
        command.arg("-C").arg(folder);
        for setting in CONFIGURATION {
            command.args(["-c", setting]);
        }
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A process that leads a group. The group ends with this.
struct Group {
    child: Child,
    leader: Pid,
    status: Option<ExitStatus>,
}

impl Group {
    fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn()?;
        Ok(Self {
            leader: Pid::from_child(&child),
            child,
            status: None,
        })
    }

    /// Tells of the leader's end and of what it writes. Each has a thread of its own, which ends with
    /// what it watches.
    fn watch(&mut self, events: &Sender<Event>, most: usize) -> io::Result<()> {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let send = events.clone();
        spawn(move || {
            let _ = send.send(match out.map_or(Ok(vec![]), |pipe| all_of(pipe, most)) {
                Ok(bytes) => Event::Output(bytes),
                Err(_) => Event::TooMuch,
            });
        })?;
        let send = events.clone();
        spawn(move || {
            let bytes = err.map_or_else(Vec::new, last_of);
            let _ = send.send(Event::Errors(bytes));
        })?;
        let (send, leader) = (events.clone(), self.leader);
        spawn(move || {
            // It is left to be waited for: as long as it is, no other group can get its number.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(
                waitid(WaitId::Pid(leader), options),
                Err(rustix::io::Errno::INTR)
            ) {}
            let _ = send.send(Event::Ended);
        })
    }

    /// Kills whatever is left, and waits for the leader.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let _ = kill_process_group(self.leader, Signal::KILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name("git".to_owned());
    thread.spawn(run).map(drop)
}

/// All bytes, or an error if there are more than `most`.
fn all_of(pipe: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// The last bytes, in whole lines: half a line may be half a secret, which nobody would recognise.
fn last_of(mut pipe: impl Read) -> Vec<u8> {
    let mut last = Vec::new();
    let mut buffer = [0; 4096];
    let mut cut = false;
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => last.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        if last.len() > 2 * ERRORS {
            last.drain(..last.len() - ERRORS);
            cut = true;
        }
    }
    if last.len() > ERRORS {
        last.drain(..last.len() - ERRORS);
        cut = true;
    }
    if cut {
        let line = last.iter().position(|byte| *byte == b'\n');
        last.drain(..line.map_or(last.len(), |at| at + 1));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_lines_are_kept() {
        let lines: Vec<String> = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let text = lines.concat();
        let last = last_of(text.as_bytes());
        assert!(last.len() <= ERRORS && last.len() > ERRORS - 20);
        assert!(last.starts_with(b"line ") && last.ends_with(b"line 9999\n"));
        assert_eq!(last_of(&b"a\nb"[..]), b"a\nb");
        assert_eq!(last_of(&vec![b'x'; 3 * ERRORS][..]), b"");
    }

    #[test]
    fn no_more_than_most_is_taken() {
        assert_eq!(all_of(&b"abc"[..], 3).expect("as much as it may"), b"abc");
        all_of(&b"abcd"[..], 3).expect_err("one too many");
    }
}
