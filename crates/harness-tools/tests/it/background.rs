//! Commands that are left running, and asked for later.

use std::time::Duration;

use harness_core::{Caller, CancellationToken, RunContext, ToolContext, ToolOutcome};
use harness_tools::{Limits, ShellSession};
use serde_json::{Value, json};

use crate::bed::{Bed, eventually};

impl Bed {
    fn session(&self) -> ShellSession {
        ShellSession::of(self.cx.run())
    }

    /// Leaves a command running, and gives the call's details, with what it said as `said`.
    async fn job(&self, command: &str) -> Value {
        let arguments = json!({"command": command, "background": true});
        let outcome = self.call("bash", arguments).await;
        let said = outcome.shown_text();
        let ToolOutcome::Done(output) = outcome else {
            panic!("{said}")
        };
        let mut details = output.details.expect("details");
        details["said"] = said.into();
        details
    }

    /// Asks for a job until it has said this; gives all that it said since it was started.
    async fn asked_until(&self, job: &Value, words: &str) -> String {
        let mut all = job["said"].as_str().expect("text").to_owned();
        let asks = async {
            while !all.contains(words) {
                let ask = json!({"job": job["job"], "timeout": 0.05});
                all += &self.done("bash", ask).await;
            }
        };
        let asked = tokio::time::timeout(Duration::from_secs(30), asks).await;
        assert!(asked.is_ok(), "{words} is not in {all}");
        all
    }
}

#[tokio::test]
async fn a_job_runs_on_and_is_asked_for() {
    let bed = Bed::new();
    let command = "echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 3";
    let details = bed.job(command).await;
    assert_eq!(
        (&details["job"], &details["running"]),
        (&json!(1), &json!(true))
    );
    let pid = details["pid"].as_u64().expect("a pid");
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());

    let text = bed.done("bash", json!({"job": 1})).await;
    let file = details["output_file"].as_str().expect("a file");
    assert!(
        text.ends_with(&format!("[job 1 runs, pid {pid}; all its output: {file}]")),
        "{text}"
    );
    let others = bed.done("bash", json!({"command": "echo other"})).await;
    assert_eq!(others, "other\n[exit code 0]");

    bed.put("go", "");
    let text = bed.failed("bash", json!({"job": 1, "timeout": 25})).await;
    assert!(
        text.ends_with("two\n[job 1 has ended]\n[exit code 3]"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(file).expect("there"), "one\ntwo\n");
    let text = bed.failed("bash", json!({"job": 1})).await;
    assert!(text.contains("There is no job 1"), "{text}");
}

/// What was told is not told again.
#[tokio::test]
async fn output_comes_once() {
    let bed = Bed::new();
    let step = |n| format!("until [ -e {n} ]; do sleep 0.02; done; echo line {n}; ");
    let command = [step(1), step(2), "sleep 600".to_owned()].concat();
    let mut job = bed.job(&command).await;
    bed.put("1", "");
    let first = bed.asked_until(&job, "line 1").await;
    job["said"] = "".into();
    bed.put("2", "");
    let second = bed.asked_until(&job, "line 2").await;
    assert!(
        !first.contains("line 2") && !second.contains("line 1"),
        "{first}{second}"
    );
    let text = bed.done("bash", json!({"job": 1})).await;
    assert!(text.starts_with("(no output)\n[job 1 runs"), "{text}");
}

#[tokio::test]
async fn what_ends_at_once_is_told_at_once() {
    let bed = Bed::limits(|limits| limits.bash_job_start = Duration::from_secs(25));
    let start = |command: &str| json!({"command": command, "background": true});
    let text = bed.failed("bash", start("nosuchcommand")).await;
    assert!(
        text.contains("not found\n[job 1 has ended]\n[exit code 127]"),
        "{text}"
    );
    let text = bed.done("bash", start("echo quick")).await;
    assert_eq!(text, "quick\n[job 2 has ended]\n[exit code 0]");
    assert_eq!(bed.session().running_jobs(), [0_u64; 0]);
}

#[tokio::test]
async fn a_job_is_stopped() {
    let bed = Bed::limits(|limits| limits.bash_kill_grace = Duration::from_secs(25));
    let command = "exec 2>/dev/null; trap 'echo bye; exit 4' TERM; echo up; \
                   while :; do sleep 0.02; done";
    let mut job = bed.job(command).await;
    bed.asked_until(&job, "up").await;
    // It did what it was told, so the call did not fail.
    let text = bed.done("bash", json!({"job": 1, "stop": true})).await;
    assert!(
        text.ends_with("bye\n[job 1 has ended]\n[exit code 4]"),
        "{text}"
    );

    let bed = Bed::limits(|limits| limits.bash_kill_grace = Duration::from_millis(50));
    job = bed
        .job("trap '' TERM; echo up; while :; do sleep 0.02; done")
        .await;
    bed.asked_until(&job, "up").await;
    let text = bed.done("bash", json!({"job": 1, "stop": true})).await;
    assert!(
        text.ends_with("[exit code 137: killed by signal 9]"),
        "{text}"
    );
}

#[tokio::test]
async fn a_job_has_the_time_that_is_named() {
    let bed = Bed::new();
    let start = json!({"command": "echo up; sleep 600", "background": true, "timeout": 0.4});
    bed.call("bash", start).await;
    let text = bed.failed("bash", json!({"job": 1, "timeout": 25})).await;
    assert!(
        text.ends_with("[job 1 has ended]\n[timed out after 0.4 s and was killed]"),
        "{text}"
    );
    // Without, it has all the time there is.
    let bed = Bed::limits(|limits| limits.bash_timeout = Duration::from_millis(1));
    bed.job("until [ -e go ]; do sleep 0.02; done").await;
    bed.done("bash", json!({"job": 1, "timeout": 0.3})).await;
    bed.put("go", "");
    bed.done("bash", json!({"job": 1, "timeout": 25})).await;
}

#[tokio::test]
async fn an_end_that_nobody_asked_for_is_mentioned_once() {
    let bed = Bed::new();
    bed.job("until [ -e go ]; do sleep 0.02; done; echo unheard")
        .await;
    bed.put("go", "");
    let session = bed.session();
    eventually("it ends", || session.running_jobs().is_empty()).await;
    let command = json!({"command": "true"});
    assert_eq!(
        bed.done("bash", command.clone()).await,
        "(no output)\n[exit code 0]\n[job 1 has ended; ask for it with `job`]"
    );
    assert_eq!(
        bed.done("bash", command).await,
        "(no output)\n[exit code 0]"
    );
    let text = bed.done("bash", json!({"job": 1})).await;
    assert_eq!(text, "unheard\n[job 1 has ended]\n[exit code 0]");
}

#[tokio::test]
async fn arguments_that_make_no_sense_together_are_refused() {
    let bed = Bed::new();
    for (arguments, words) in [
        (json!({}), "Give `command`"),
        (json!({"timeout": 3}), "Give `command`"),
        (json!({"command": "true", "job": 1}), "not both"),
        (json!({"command": "true", "stop": true}), "`stop` needs"),
        (json!({"job": 1, "background": true}), "`background` needs"),
        (json!({"job": 1, "timeout": -1}), "`timeout`"),
        (
            json!({"command": "true", "background": true, "timeout": 0}),
            "more than 0",
        ),
        (json!({"job": 7}), "There is no job 7, nor any other"),
    ] {
        let text = bed.failed("bash", arguments.clone()).await;
        assert!(text.contains(words), "{arguments}: {text}");
    }
    bed.job("sleep 600").await;
    let text = bed.failed("bash", json!({"job": 7})).await;
    assert!(text.contains("There is no job 7; there are: 1."), "{text}");
    // Other agents' names, and what says nothing.
    let other = json!({"job_id": 1, "background": false, "stop": false});
    assert!(bed.done("bash", other).await.contains("[job 1 runs"));
}

#[tokio::test]
async fn there_are_only_so_many() {
    let bed = Bed::limits(|limits| limits.bash_jobs = 2);
    bed.job("until [ -e go ]; do sleep 0.02; done").await;
    bed.job("sleep 600").await;
    let third = json!({"command": "sleep 600", "background": true});
    let text = bed.failed("bash", third.clone()).await;
    assert!(
        text.contains("2 jobs run") && text.contains("1, 2"),
        "{text}"
    );
    // One that has ended gives way.
    bed.put("go", "");
    let session = bed.session();
    eventually("one ends", || session.running_jobs() == [2]).await;
    bed.done("bash", third).await;
    assert_eq!(session.running_jobs(), [2, 3]);
}

#[tokio::test]
async fn output_is_bounded_and_whole_in_the_file() {
    let bed = Bed::new();
    let job = bed.job("seq 1 5000; echo all; sleep 600").await;
    let text = bed.asked_until(&job, "all").await;
    assert!(
        text.len() < 60_000 && text.contains("are shown"),
        "{}",
        text.len()
    );
    let file = job["output_file"].as_str().expect("a file").to_owned();
    let whole = std::fs::read_to_string(&file).expect("there");
    assert!(whole.starts_with("1\n2\n") && whole.ends_with("5000\nall\n"));
    // It may be read, also where reading is confined.
    let text = bed.done("read", json!({"path": file})).await;
    assert!(text.starts_with("1\n2\n"));

    // A flood goes on without anybody who asks, and what is asked for is its end.
    let bed = Bed::limits(|limits| limits.bash_spill_bytes = 64 * 1024);
    let job = bed.job("seq 1 300000; echo all; sleep 600").await;
    let text = bed.asked_until(&job, "all").await;
    assert!(
        text.contains("it holds only the beginning"),
        "{}",
        &text[text.len() - 300..]
    );
}

#[tokio::test]
async fn a_job_starts_in_the_folder_and_moves_only_itself() {
    let bed = Bed::limits(|limits| limits.bash_job_start = Duration::from_secs(25));
    bed.put("a/f", "");
    bed.done("bash", json!({"command": "cd a"})).await;
    let job = json!({"command": "pwd; cd /", "background": true});
    let text = bed.done("bash", job).await;
    assert!(text.contains("/ws/a\n[job 1 has ended]"), "{text}");
    let text = bed.done("bash", json!({"command": "pwd"})).await;
    assert!(text.contains("/ws/a\n"), "{text}");
}

/// A run that is cancelled is not the session: another one may ask. A call that waits is.
#[tokio::test]
async fn cancelling_leaves_jobs_running() {
    let mut bed = Bed::new();
    let attributes = harness_core::Attributes::default();
    let run = |cancel: &CancellationToken| {
        let caller = Caller {
            attributes: attributes.clone(),
            ..Caller::default()
        };
        let run = RunContext::detached(caller).with_cancellation(cancel.clone());
        ToolContext::new(run, "c")
    };
    let cancel = CancellationToken::new();
    bed.cx = run(&cancel);
    bed.job("sleep 600").await;
    cancel.cancel();
    let outcome = bed.call("bash", json!({"job": 1, "timeout": 600})).await;
    assert_eq!(outcome, ToolOutcome::Cancelled);
    bed.cx = run(&CancellationToken::new());
    assert!(
        bed.done("bash", json!({"job": 1}))
            .await
            .contains("[job 1 runs")
    );
    // One whose start is cancelled never got a number, so it is ended.
    bed.cx = run(&cancel);
    let start = json!({"command": "sleep 600", "background": true});
    assert_eq!(
        bed.call("bash", start.clone()).await,
        ToolOutcome::Cancelled
    );
    assert_eq!(bed.session().running_jobs(), [1]);

    bed.cx = run(&CancellationToken::new());
    bed.session().end().await;
    assert_eq!(bed.session().running_jobs(), [0_u64; 0]);
    assert_eq!(bed.call("bash", start).await, ToolOutcome::Cancelled);
}

#[tokio::test]
async fn a_job_of_a_runtime_that_has_ended_is_gone() {
    let bed = std::sync::Arc::new(Bed::new());
    let other = bed.clone();
    let pid = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let job = runtime
            .expect("a runtime")
            .block_on(async { other.job("sleep 600").await });
        job["pid"].as_u64().expect("a pid")
    });
    let pid = tokio::task::spawn_blocking(|| pid.join()).await;
    let pid = pid.expect("joined").expect("no panic");
    let running = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    assert!(running.is_err() || running.is_ok_and(|stat| stat.contains(") Z ")));
    assert_eq!(bed.session().running_jobs(), [0_u64; 0]);
}

#[test]
fn the_bounds_are_these() {
    let limits = Limits::default();
    assert_eq!(
        (limits.bash_jobs, limits.bash_job_start),
        (16, Duration::from_millis(150))
    );
}
