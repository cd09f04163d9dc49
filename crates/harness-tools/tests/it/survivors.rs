//! Trees of processes, started in every way that a shell knows, whose call ends in every way: nothing
//! of them is left.
//!
//! Every process of a tree has a time in its command line or its environment that no other process
//! has, and is counted by it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use harness_core::{Caller, CancellationToken, RunContext, ToolContext, ToolOutcome};
use harness_tools::{ShellOptions, ShellSession, default_tools};
use serde_json::{Value, json};

use crate::bed::{Bed, eventually};

/// Each starts `$LEAF` (which makes the file `up` and then sleeps), or something that does the same,
/// and does not end by itself.
const TREES: &[(&str, &str)] = &[
    ("a child", "sh -c \"$LEAF\"; true"),
    ("in the background", "sh -c \"$LEAF\" & wait"),
    ("a grandchild", "( (sh -c \"$LEAF\"; true) & wait ) & wait"),
    ("nohup", "nohup sh -c \"$LEAF\" >/dev/null 2>&1 & wait"),
    ("setsid", "setsid sh -c \"$LEAF\" & wait"),
    (
        "setsid --fork",
        "setsid --fork sh -c \"$LEAF\"; sleep $TREE",
    ),
    (
        "a double fork",
        "( (sh -c \"$LEAF\"; true) & ); sleep $TREE",
    ),
    (
        "a daemon",
        "(setsid sh -c '(sh -c \"$LEAF\" &)' </dev/null >/dev/null 2>&1 &); sleep $TREE",
    ),
    (
        "jobs in groups",
        "set -m; sh -c \"$LEAF\" & sleep $TREE & wait",
    ),
    ("timeout", "timeout 600 sh -c \"$LEAF\"; true"),
    ("a pipeline", "(sh -c \"$LEAF\"; true) | cat | cat"),
    (
        "deaf to TERM",
        "trap '' TERM; sh -c \"$LEAF\" & wait; sleep $TREE",
    ),
    ("exec", "sh -c \"$LEAF\" & exec sleep $TREE"),
    (
        "without an environment",
        "env -i PATH=\"$PATH\" sh -c \"$LEAF\" & wait",
    ),
    (
        "a session without an environment",
        "setsid env -i PATH=\"$PATH\" sh -c \"$LEAF\" & wait",
    ),
    (
        "many",
        "n=0; while [ $n -lt 60 ]; do sleep $TREE & n=$((n+1)); done; sh -c \"$LEAF\"; wait",
    ),
    (
        "some that fork on",
        "f() { [ $1 -gt 40 ] && sh -c \"$LEAF\" || { setsid sleep $TREE & f $(($1+1)) & }; wait; }; f 1",
    ),
    (
        "a file that is written",
        "while :; do echo $TREE; sh -c \": > up; sleep 0.01\"; done",
    ),
];

/// A tree that runs, or is about to.
struct Tree {
    name: &'static str,
    command: &'static str,
    time: String,
    bed: Bed,
}

impl Tree {
    fn all() -> impl Iterator<Item = Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        TREES.iter().map(|(name, command)| {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let time = format!("700.{}{count:04}", std::process::id());
            let variables = [
                ("TREE", time.clone()),
                ("LEAF", format!(": > up; exec sleep {time}")),
            ];
            let bed = Bed::with(|workspace| {
                let mut shell = ShellOptions::default();
                let variables = variables.iter();
                shell.variables = variables
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect();
                shell.output_folder = workspace.root().join("..");
                workspace.with_shell(shell)
            });
            Self {
                name,
                command,
                time,
                bed,
            }
        })
    }

    async fn is_up(&self) {
        let mark = self.bed.path("up");
        eventually(self.name, || mark.exists()).await;
        assert!(!survivors(&self.time).is_empty(), "{}", self.name);
    }

    #[track_caller]
    fn is_gone(&self) {
        assert_eq!(survivors(&self.time), [""; 0], "{}", self.name);
    }

    fn starts(&self) -> Value {
        json!({"command": self.command, "background": true})
    }

    /// The call, on a task of its own.
    fn call(&self, run: RunContext, arguments: Value) -> tokio::task::JoinHandle<ToolOutcome> {
        let bash = default_tools(&self.bed.workspace).remove(3);
        let cx = ToolContext::new(run, "c");
        tokio::spawn(async move { bash.call(&cx, arguments).await })
    }

    fn session(&self) -> ShellSession {
        ShellSession::of(self.bed.cx.run())
    }
}

/// The command lines of processes that have this in their command line or their environment.
fn survivors(mark: &str) -> Vec<String> {
    let read = |path: PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    std::fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .map(|entry| entry.path())
        .filter(|process| process.join("stat").exists() && *process != Path::new("/proc/self"))
        .map(|process| (read(process.join("cmdline")), read(process.join("environ"))))
        .filter(|(line, environment)| line.contains(mark) || environment.contains(mark))
        .map(|(line, _)| line)
        .collect()
}

/// Does something with each tree, several at a time.
async fn with_each<F: Future<Output = ()> + Send + 'static>(end: fn(Tree) -> F) {
    let mut tasks = tokio::task::JoinSet::new();
    for tree in Tree::all() {
        tasks.spawn(end(tree));
        if tasks.len() >= 4 {
            tasks.join_next().await.expect("one").expect("no panic");
        }
    }
    while let Some(joined) = tasks.join_next().await {
        joined.expect("no panic");
    }
}

fn run() -> RunContext {
    RunContext::detached(Caller::default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_01_none_survives_the_end_of_its_command() {
    with_each(|tree| async move {
        let command = format!(
            "{{ {}; }} & until [ -e up ]; do sleep 0.02; done",
            tree.command
        );
        let text = tree.bed.done("bash", json!({"command": command})).await;
        assert!(
            text.contains("in the background were ended"),
            "{}: {text}",
            tree.name
        );
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_03_none_survives_a_timeout() {
    with_each(|tree| async move {
        let arguments = json!({"command": tree.command, "timeout": 1});
        let text = tree.bed.failed("bash", arguments).await;
        assert!(text.contains("timed out"), "{}: {text}", tree.name);
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_survives_a_cancel() {
    with_each(|tree| async move {
        let cancel = CancellationToken::new();
        let run = run().with_cancellation(cancel.clone());
        let call = tree.call(run, json!({"command": tree.command}));
        tree.is_up().await;
        cancel.cancel();
        assert_eq!(call.await.expect("no panic"), ToolOutcome::Cancelled);
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_survives_a_future_that_is_dropped() {
    with_each(|tree| async move {
        let call = tree.call(run(), json!({"command": tree.command}));
        tree.is_up().await;
        call.abort();
        assert!(call.await.is_err());
        tree.is_gone();
    })
    .await;
}

/// BASH-24: a server in the background, its handshake never answered, goes when it is stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_24_none_survives_the_stop_of_a_job() {
    with_each(|tree| async move {
        tree.bed.call("bash", tree.starts()).await;
        tree.is_up().await;
        tree.bed.done("bash", json!({"job": 1, "stop": true})).await;
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_24_none_survives_the_timeout_of_a_job() {
    with_each(|tree| async move {
        let mut start = tree.starts();
        start["timeout"] = json!(1);
        tree.bed.call("bash", start).await;
        tree.bed
            .failed("bash", json!({"job": 1, "timeout": 25}))
            .await;
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_survives_the_end_of_the_session() {
    with_each(|tree| async move {
        tree.bed.call("bash", tree.starts()).await;
        tree.is_up().await;
        tree.session().end().await;
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_survives_a_session_that_is_dropped() {
    with_each(|mut tree| async move {
        tree.bed.call("bash", tree.starts()).await;
        tree.is_up().await;
        tree.bed.cx = ToolContext::detached();
        tree.is_gone();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_survives_a_panic_of_its_run() {
    with_each(|tree| async move {
        let (name, time) = (tree.name, tree.time.clone());
        let run = tokio::spawn(async move {
            tree.bed.call("bash", tree.starts()).await;
            tree.is_up().await;
            std::panic::resume_unwind(Box::new("the run"));
        });
        assert!(run.await.is_err());
        assert_eq!(survivors(&time), [""; 0], "{name}");
    })
    .await;
}
