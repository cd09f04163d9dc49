//! The program under test: how it is started, and what came of it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// No process of a test may take longer. Far above what any needs, so that a slow machine is no bug.
const DEADLINE: Duration = Duration::from_mins(1);

/// How often something is looked at that is waited for.
const GLANCE: Duration = Duration::from_millis(5);

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < DEADLINE,
            "{what}: not within {DEADLINE:?}"
        );
        thread::sleep(GLANCE);
    }
}

/// Folders to work in: a home, a project, and one for temporary files. They go away with the value.
pub(crate) struct Bed {
    folder: TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let bed = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in [bed.home(), bed.work(), bed.temporary()] {
            fs::create_dir(folder).unwrap();
        }
        bed
    }

    /// Everything of it, free of symlinks.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// Writes a file of the project, with its folders.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        put(&self.work().join(path), text.as_ref())
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).unwrap()
    }

    /// Writes the user's configuration.
    pub(crate) fn config(&self, text: &str) -> PathBuf {
        put(
            &self.home().join(".config/harness/config.toml"),
            text.as_bytes(),
        )
    }

    /// Has the user trust the project.
    pub(crate) fn trust(&self) {
        self.trust_folders(&[(&self.work(), "full")]);
    }

    /// Has the user's store say this of folders.
    pub(crate) fn trust_folders(&self, folders: &[(&Path, &str)]) {
        let mut text = "version = 1\n".to_owned();
        for (folder, trust) in folders {
            let folder = folder
                .canonicalize()
                .unwrap_or_else(|_| folder.to_path_buf());
            writeln!(text, "[projects.{folder:?}]\ntrust = {trust:?}").unwrap();
        }
        let path = self.home().join(".local/share/harness/trust.toml");
        put(&path, text.as_bytes());
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// The files that are there, sorted, relative to the root.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                files.push(path.strip_prefix(self.root()).unwrap().to_owned());
            }
        }
        files.sort();
        files
    }

    /// The program with arguments, in the project, with nothing in its environment but `PATH`, `HOME`
    /// and `TMPDIR`, and nothing on its standard input.
    pub(crate) fn harness(&self, arguments: &[&str]) -> Start {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.temporary())
            .current_dir(self.work());
        Start {
            command,
            input: Input::Null,
        }
    }

    /// `harness run` with arguments, for a test that is about something else than what may be done: everything
    /// is allowed.
    pub(crate) fn run(&self, arguments: &[&str]) -> Start {
        self.harness(&[&["run", "--allow-all"], arguments].concat())
    }

    /// `harness run` with arguments, as people run it.
    pub(crate) fn guarded(&self, arguments: &[&str]) -> Start {
        self.harness(&[&["run"], arguments].concat())
    }
}

fn put(path: &Path, text: &[u8]) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    path.to_owned()
}

/// What is on standard input.
enum Input {
    Null,
    Bytes(Vec<u8>),
    /// These bytes; then it stays open.
    Open(Vec<u8>),
    Own(Stdio),
}

/// A program that is about to be started.
pub(crate) struct Start {
    command: Command,
    input: Input,
}

impl Start {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn envs(mut self, variables: &[(&str, &str)]) -> Self {
        self.command.envs(variables.iter().copied());
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Lets it write no file larger than so many KiB: a write beyond that fails, as on a full disk.
    pub(crate) fn no_file_above(mut self, kibibytes: u32) -> Self {
        let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
        let mut limited = Command::new("bash");
        limited
            .args(["-c", &script])
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .env_clear()
            .envs(
                self.command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        if let Some(folder) = self.command.get_current_dir() {
            limited.current_dir(folder);
        }
        self.command = limited;
        self
    }

    pub(crate) fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// A pipe that holds these bytes and is closed behind them.
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// A pipe that holds these bytes and is not closed.
    pub(crate) fn open_stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Open(bytes.into());
        self
    }

    pub(crate) fn stdin_from(mut self, file: impl Into<Stdio>) -> Self {
        self.input = Input::Own(file.into());
        self
    }

    /// Runs it to its end with the three streams that `change` sets; what goes to files is not caught.
    pub(crate) fn spawn_with(mut self, change: impl FnOnce(&mut Command)) -> Running {
        let (stdin, bytes, stays_open) = match self.input {
            Input::Null => (Stdio::null(), Vec::new(), false),
            Input::Bytes(bytes) => (Stdio::piped(), bytes, false),
            Input::Open(bytes) => (Stdio::piped(), bytes, true),
            Input::Own(stdin) => (stdin, Vec::new(), false),
        };
        self.command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        change(&mut self.command);
        let mut child = self.command.spawn().unwrap();
        let started = Instant::now();
        // Kept where it must not be closed: until the program ends.
        let mut pipe = child.stdin.take();
        let (closed, close) = mpsc::channel::<()>();
        thread::spawn(move || {
            if let Some(pipe) = &mut pipe {
                // Who does not read it to its end has its reasons.
                let _ = pipe.write_all(&bytes);
            }
            if stays_open {
                let _ = close.recv();
            }
        });
        let stdout = child.stdout.take().map(read_all);
        let stderr = child.stderr.take().map(read_all);
        Running {
            child,
            started,
            stdout,
            stderr,
            _stdin: closed,
        }
    }

    pub(crate) fn spawn(self) -> Running {
        self.spawn_with(|_| {})
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn end(self) -> Ended {
        self.spawn().end()
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    receive
}

/// A program that runs. It is killed if it is dropped.
pub(crate) struct Running {
    child: Child,
    started: Instant,
    stdout: Option<Receiver<Vec<u8>>>,
    stderr: Option<Receiver<Vec<u8>>>,
    /// Dropped, it closes a standard input that was left open.
    _stdin: mpsc::Sender<()>,
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The most memory that it had so far, in KiB; `None` once it has ended.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Waits for its end, and kills it if that does not come in time.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.started.elapsed() > DEADLINE {
                let _ = self.child.kill();
                let said = self.stderr.as_ref().map(text).unwrap_or_default();
                panic!("the program did not end within {DEADLINE:?}; it said: {said}");
            }
            thread::sleep(GLANCE);
        };
        Ended {
            code: status
                .code()
                .unwrap_or_else(|| -status.signal().unwrap_or_default()),
            took: self.started.elapsed(),
            stdout: self.stdout.as_ref().map(text).unwrap_or_default(),
            stderr: self.stderr.as_ref().map(text).unwrap_or_default(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn text(bytes: &Receiver<Vec<u8>>) -> String {
    let bytes = bytes.recv_timeout(DEADLINE);
    let bytes = bytes.expect("something that the program started holds its output open");
    String::from_utf8(bytes).unwrap()
}

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit status; the negative number of the signal that killed it.
    pub(crate) code: i32,
    pub(crate) took: Duration,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Checks that standard output holds this and a line break, and nothing else.
    #[track_caller]
    pub(crate) fn answers(self, answer: &str) -> Self {
        assert_eq!(self.stdout, format!("{answer}\n"), "{self:#?}");
        self
    }

    /// The one line that says what is wrong; what else there is on standard error are notes and warnings.
    #[track_caller]
    pub(crate) fn error(&self) -> &str {
        let mut errors = Vec::new();
        for line in self.stderr.lines() {
            if line.starts_with("error: ") {
                errors.push(line);
            } else {
                assert!(
                    line.starts_with("note: ") || line.starts_with("warning: "),
                    "neither error nor note: {self:#?}"
                );
            }
        }
        assert_eq!(errors.len(), 1, "not one error: {self:#?}");
        assert!(!self.stderr.contains('\x1b'), "{self:#?}");
        errors[0]
    }

    /// Checks that the error holds each of these.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        let error = self.error();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {error:?}");
        }
        self
    }

    /// Checks that a note holds these words.
    #[track_caller]
    pub(crate) fn notes(self, words: &str) -> Self {
        let mut notes = self
            .stderr
            .lines()
            .filter(|line| line.starts_with("note: "));
        let found = notes.any(|note| note.contains(words));
        assert!(found, "no note has {words:?}: {self:#?}");
        self
    }

    /// The lines of standard output, each as JSON.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        assert!(!self.stdout.contains('\x1b'), "{self:#?}");
        let lines = self.stdout.lines();
        lines
            .map(|line| match serde_json::from_str(line) {
                Ok(event) => event,
                Err(error) => panic!("{error} in {line:?}: {self:#?}"),
            })
            .collect()
    }

    /// The `run_end` of a run that began: the last event, and the only one of its kind.
    #[track_caller]
    pub(crate) fn run_end(&self) -> Value {
        let events = self.events();
        let kinds: Vec<&str> = events.iter().filter_map(|it| it["type"].as_str()).collect();
        assert_eq!(kinds.len(), events.len(), "an event has no type: {self:#?}");
        assert_eq!(kinds.first(), Some(&"run_start"), "{kinds:?}");
        assert_eq!(kinds.last(), Some(&"run_end"), "{kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| **kind == "run_end").count(), 1);
        let end = events.last().cloned().unwrap();
        for key in ["outcome", "usage", "cost", "session"] {
            assert!(end.get(key).is_some(), "run_end has no {key}: {end}");
        }
        end
    }

    /// The one JSON object of a run that could not begin.
    #[track_caller]
    pub(crate) fn error_object(&self) -> Value {
        let events = self.events();
        assert_eq!(events.len(), 1, "{self:#?}");
        assert_eq!(events[0]["type"], "error", "{self:#?}");
        events[0].clone()
    }
}
