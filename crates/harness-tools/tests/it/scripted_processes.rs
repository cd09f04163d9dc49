//! Another place to run commands in: a script in the place of processes. Time limits, the order of the
//! signals and what is shown are then those of the tool alone.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness_core::{CancellationToken, ToolContext, ToolOutcome, async_trait};
use harness_tools::{
    Error, Limits, OutputStream, Process, ProcessEvent, ProcessExit, ProcessSpec, Processes,
};
use serde_json::json;

use crate::bed::{Bed, eventually};

/// What a scripted process does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Stdout(&'static [u8]),
    Stderr(&'static [u8]),
    Exit(i32),
    /// Nothing, until it is asked to end.
    UntilTerminated,
    /// Nothing, until it is killed.
    UntilKilled,
}

use Step::{Exit, Stderr, Stdout, UntilKilled, UntilTerminated};

/// What was done to it, in order.
type Log = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
struct Script {
    steps: &'static [Step],
    /// Where the shell says that it ended.
    folder: &'static str,
    log: Log,
}

#[derive(Debug)]
struct Scripted {
    steps: VecDeque<Step>,
    folder: &'static str,
    log: Log,
    terminated: bool,
    killed: bool,
}

#[async_trait]
impl Processes for Script {
    async fn start(&self, spec: ProcessSpec<'_>) -> Result<Box<dyn Process>, Error> {
        let folder = spec.folder.display().to_string();
        if folder == "/gone" {
            return Err(Error::Folder {
                path: folder.into(),
                reason: "is not in the script".to_owned(),
            });
        }
        push(&self.log, &format!("start {} in {folder}", spec.command));
        Ok(Box::new(Scripted {
            steps: self.steps.iter().copied().collect(),
            folder: self.folder,
            log: Arc::clone(&self.log),
            terminated: false,
            killed: false,
        }))
    }
}

fn push(log: &Log, what: &str) {
    log.lock().expect("no panic").push(what.to_owned());
}

#[async_trait]
impl Process for Scripted {
    fn id(&self) -> Option<u32> {
        None
    }

    async fn next(&mut self) -> Option<ProcessEvent> {
        loop {
            let step = *self.steps.front()?;
            let waits = match step {
                UntilTerminated => !self.terminated && !self.killed,
                UntilKilled => !self.killed,
                _ => false,
            };
            if waits {
                // Whoever changes that has the process, and asks again.
                std::future::pending::<()>().await;
            }
            self.steps.pop_front();
            let output = |stream, bytes: &[u8]| ProcessEvent::Output {
                stream,
                bytes: bytes.to_vec(),
            };
            return Some(match step {
                Stdout(bytes) => output(OutputStream::Stdout, bytes),
                Stderr(bytes) => output(OutputStream::Stderr, bytes),
                Exit(code) => ProcessEvent::Exited(ProcessExit {
                    code: Some(code),
                    signal: None,
                }),
                UntilTerminated | UntilKilled => continue,
            });
        }
    }

    fn terminate(&mut self) {
        push(&self.log, "terminate");
        self.terminated = true;
    }

    async fn kill(&mut self) {
        push(&self.log, "kill");
        self.killed = true;
    }

    async fn is_running(&mut self) -> bool {
        let waits_for_kill = self.steps.iter().any(|step| matches!(step, UntilKilled));
        let waits = self
            .steps
            .iter()
            .any(|step| matches!(step, UntilTerminated));
        !self.killed && (waits_for_kill || (waits && !self.terminated))
    }

    async fn folder(&mut self) -> Option<PathBuf> {
        (!self.folder.is_empty()).then(|| self.folder.into())
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        push(&self.log, "drop");
    }
}

fn bed(steps: &'static [Step], folder: &'static str) -> (Bed, Log) {
    let log = Log::default();
    let script = Script {
        steps,
        folder,
        log: Arc::clone(&log),
    };
    let bed = Bed::with(|workspace| {
        let mut limits = Limits::default();
        limits.bash_kill_grace = Duration::from_millis(40);
        let processes: Arc<dyn Processes> = Arc::new(script);
        workspace.with_limits(limits).with_processes(processes)
    });
    (bed, log)
}

/// What was done after the start.
fn done(log: &Log) -> Vec<String> {
    log.lock().expect("no panic").drain(1..).collect()
}

#[tokio::test]
async fn streams_and_the_exit_code_are_told() {
    // Characters are split over pieces, and each stream has its own.
    let (bed, log) = bed(
        &[
            Stdout(b"a\xf0\x9f"),
            Stderr(b"no\xe2\x86"),
            Stdout(b"\x98\x80\n"),
            Stderr(b"\x92\r\x1b[31mn\n"),
            Exit(4),
        ],
        "",
    );
    let text = bed.failed("bash", json!({"command": "it"})).await;
    // On one line, as a terminal shows it, where the carriage return goes back.
    assert_eq!(text, "ano\u{1f600}\nn\n[exit code 4]");
    let started = log.lock().expect("no panic").first().cloned();
    assert_eq!(
        started,
        Some(format!("start it in {}", bed.workspace.root().display()))
    );
    assert_eq!(done(&log), ["drop"]);
}

#[tokio::test]
async fn a_timeout_asks_first_and_kills_then() {
    let timeout = json!({"command": "it", "timeout": 0.05});
    let (bed, log) = bed(
        &[
            Stdout(b"early\n"),
            UntilTerminated,
            Stdout(b"bye\n"),
            Exit(0),
        ],
        "",
    );
    let text = bed.failed("bash", timeout.clone()).await;
    assert_eq!(text, "early\nbye\n[timed out after 0.05 s and was killed]");
    let first = done(&log);
    assert_eq!(
        first.first().map(String::as_str),
        Some("terminate"),
        "{first:?}"
    );

    let (bed, log) = self::bed(&[Stdout(b"early\n"), UntilKilled, Exit(0)], "");
    let text = bed.failed("bash", timeout).await;
    assert_eq!(text, "early\n[timed out after 0.05 s and was killed]");
    let done = done(&log);
    assert_eq!(
        done.first().map(String::as_str),
        Some("terminate"),
        "{done:?}"
    );
    assert!(done.iter().any(|it| it == "kill"), "{done:?}");
    assert_eq!(done.last().map(String::as_str), Some("drop"), "{done:?}");
}

#[tokio::test]
async fn a_cancel_does_the_same() {
    let (mut bed, log) = bed(&[UntilKilled], "");
    let cancel = CancellationToken::new();
    let run = bed.cx.run().with_cancellation(cancel.clone());
    bed.cx = ToolContext::new(run, "c");
    cancel.cancel();
    let outcome = bed.call("bash", json!({"command": "it"})).await;
    assert_eq!(outcome, ToolOutcome::Cancelled);
    let done = done(&log);
    assert_eq!(
        done.first().map(String::as_str),
        Some("terminate"),
        "{done:?}"
    );
    assert!(done.iter().any(|it| it == "kill"), "{done:?}");
}

#[tokio::test]
async fn what_is_left_when_the_shell_ends_is_ended() {
    let (bed, log) = bed(&[Stdout(b"x\n"), Exit(0), UntilTerminated], "");
    let text = bed.done("bash", json!({"command": "it"})).await;
    assert!(text.starts_with("x\n[Processes that ran on"), "{text}");
    assert_eq!(done(&log), ["terminate", "drop"]);
}

#[tokio::test]
async fn the_folder_is_kept_there_too() {
    let (bed, log) = bed(&[Exit(0)], "/elsewhere");
    let text = bed.done("bash", json!({"command": "cd"})).await;
    assert!(text.ends_with("[working directory: /elsewhere]"), "{text}");
    let text = bed.done("bash", json!({"command": "next"})).await;
    assert_eq!(text, "(no output)\n[exit code 0]");
    assert_eq!(done(&log), ["drop", "start next in /elsewhere", "drop"]);

    let (bed, log) = self::bed(&[Exit(0)], "/gone");
    bed.done("bash", json!({"command": "cd"})).await;
    let text = bed.done("bash", json!({"command": "next"})).await;
    assert!(text.contains("`/gone` is gone, so this ran in"), "{text}");
    assert_eq!(done(&log).len(), 3);
}

#[tokio::test]
async fn jobs_run_there_too() {
    let (bed, log) = bed(
        &[Stdout(b"up\n"), UntilTerminated, Stdout(b"bye\n"), Exit(3)],
        "",
    );
    let start = json!({"command": "it", "background": true});
    let text = bed.done("bash", start.clone()).await;
    assert!(
        text.starts_with("up\n[job 1 runs; all its output: "),
        "{text}"
    );
    let text = bed.done("bash", json!({"job": 1, "stop": true})).await;
    assert_eq!(text, "bye\n[job 1 has ended]\n[exit code 3]");
    assert_eq!(done(&log).last().map(String::as_str), Some("drop"));

    // A session that is dropped does not wait, whoever keeps the task.
    bed.done("bash", start).await;
    drop(bed);
    let ended = || {
        log.lock()
            .is_ok_and(|log| log.last().is_some_and(|it| it == "drop"))
    };
    eventually("it is dropped", ended).await;
}
