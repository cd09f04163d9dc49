use std::time::{Duration, Instant};

use harness_core::{CancellationToken, ToolContext, ToolOutcome, TraceContext};
use harness_tools::{CommandLine, ShellOptions, Workspace, default_tools, run_command};
use serde_json::json;

use crate::bed::{Bed, eventually, runs};

async fn bash(command: &str) -> ToolOutcome {
    Bed::new().call("bash", json!({"command": command})).await
}

async fn text(command: &str) -> String {
    bash(command).await.shown_text()
}

#[tokio::test]
async fn bash_01_a_background_process_does_not_hold_the_call() {
    let started = Instant::now();
    for command in [
        "sleep 30117 & echo done",
        "(while :; do echo x; sleep 0.05; done) & echo done",
        "sleep 30117 >/dev/null 2>&1 & echo done",
    ] {
        let text = text(command).await;
        assert!(
            text.contains("done") && text.contains("background were ended"),
            "{text}"
        );
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(!runs("sleep 30117"));
}

#[tokio::test]
async fn bash_03_05_a_timeout_kills_everything_and_keeps_the_output() {
    let bed = Bed::new();
    let command = "echo early; bash -c 'sleep 30987 & sleep 30986'; echo late";
    let text = bed
        .failed("bash", json!({"command": command, "timeout": 1}))
        .await;
    assert!(text.contains("early") && !text.contains("late"), "{text}");
    assert!(text.contains("timed out after 1 s"), "{text}");
    assert!(!runs("sleep 30987") && !runs("sleep 30986"));
}

#[tokio::test]
async fn processes_in_groups_of_their_own_are_killed_too() {
    let bed = Bed::new();
    let command = "set -m; sleep 30555 & timeout 100 sleep 30556 & trap '' TERM; sleep 30557";
    bed.failed("bash", json!({"command": command, "timeout": 0.5}))
        .await;
    for part in ["sleep 30555", "sleep 30556", "sleep 30557"] {
        assert!(!runs(part), "{part}");
    }
}

#[tokio::test]
async fn bash_06_22_23_the_exit_code_is_told_and_nothing_is_called_a_success() {
    for (command, expected, failed) in [
        ("true", "(no output)\n[exit code 0]", false),
        ("false", "(no output)\n[exit code 1]", true),
        ("exit 3", "(no output)\n[exit code 3]", true),
        ("echo x; echo y >&2; exit 4", "x\ny\n[exit code 4]", true),
        (
            "sh -c 'echo FAIL; exit 1' | tail -1",
            "FAIL\n[exit code 0]",
            false,
        ),
        (
            "kill -9 $$",
            "(no output)\n[exit code 137: killed by signal 9]",
            true,
        ),
        (
            "nosuchcommand 2>/dev/null",
            "(no output)\n[exit code 127]",
            true,
        ),
    ] {
        let outcome = bash(command).await;
        assert_eq!(outcome.shown_text(), expected, "{command}");
        assert_eq!(outcome.is_error(), failed, "{command}");
    }
}

#[tokio::test]
async fn bash_08_an_interactive_rebase_fails_and_changes_nothing() {
    let bed = Bed::new();
    let git = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false";
    let setup = format!(
        "git init -q . && for n in 1 2 3; do echo $n > f && git add f && {git} commit -qm $n; done && git rev-parse HEAD"
    );
    let before = bed.done("bash", json!({"command": setup})).await;
    bed.failed(
        "bash",
        json!({"command": format!("{git} rebase -i HEAD~2")}),
    )
    .await;
    bed.failed("bash", json!({"command": format!("{git} commit --amend")}))
        .await;
    let after = bed
        .done("bash", json!({"command": "git rev-parse HEAD"}))
        .await;
    assert_eq!(before, after);
}

#[tokio::test]
async fn bash_10_a_flood_of_output_does_not_stop_the_clock() {
    let bed = Bed::limits(|limits| limits.bash_spill_bytes = 64 * 1024);
    let started = Instant::now();
    let text = bed
        .failed("bash", json!({"command": "yes", "timeout": 1}))
        .await;
    assert!(started.elapsed() < Duration::from_secs(8));
    assert!(text.contains("timed out after 1 s") && text.len() < 60_000);
    assert!(
        text.contains("it holds only the beginning"),
        "{}",
        &text[text.len() - 400..]
    );
}

#[tokio::test]
async fn bash_11_the_failure_path_is_bounded_too() {
    let bed = Bed::limits(|limits| limits.bash_spill_bytes = 1024 * 1024);
    let command = "head -c 200M /dev/zero | tr '\\0' 'x'; exit 1";
    let text = bed.failed("bash", json!({"command": command})).await;
    assert!(text.len() < 60_000 && text.ends_with("[exit code 1]"));
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .expect("a line");
    let kib: u64 = peak
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .expect("a number");
    assert!(kib < 400 * 1024, "{peak}");
}

#[tokio::test]
async fn bash_12_13_split_characters_stay_whole() {
    assert_eq!(
        text("printf '\\342'; sleep 0.2; printf '\\206\\222\\n'").await,
        "\u{2192}\n[exit code 0]"
    );
    let text =
        text("printf '\\360'; sleep 0.2; echo err >&2; sleep 0.2; printf '\\237\\230\\200\\n'")
            .await;
    assert!(
        text.contains("err") && text.contains('\u{1f600}') && !text.contains('\u{fffd}'),
        "{text}"
    );
}

#[tokio::test]
async fn bash_16_a_missing_folder_is_named() {
    let bed = Bed::with(|workspace| {
        let gone = workspace.root().join("gone");
        harness_tools::Workspace::new(gone)
    });
    let text = bed.failed("bash", json!({"command": "echo hi"})).await;
    assert!(
        text.contains("/ws/gone") && text.contains("working folder"),
        "{text}"
    );
}

#[tokio::test]
async fn bash_17_hidden_variables_are_not_inherited() {
    // The test runner sets variables; one of them plays the key.
    let bed = Bed::with(|workspace| {
        let mut shell = ShellOptions::default();
        shell.hidden_variables = vec!["CARGO_MANIFEST_DIR".into()];
        shell.variables = vec![("EXTRA".into(), "given".into())];
        workspace.with_shell(shell)
    });
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let text = bed.done("bash", json!({"command": "env"})).await;
    assert!(!text.contains("CARGO_MANIFEST_DIR="));
    for line in [
        "EXTRA=given",
        "PAGER=cat",
        "GIT_PAGER=cat",
        "TERM=dumb",
        "GIT_EDITOR=false",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

/// A call that has a place in a trace tells its command, in the foreground and in the background; another one
/// does not make one up.
#[tokio::test]
async fn a_command_knows_its_place_in_a_trace() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut bed = Bed::with(|workspace| {
        let mut shell = workspace.shell().clone();
        shell.variables = vec![("TRACESTATE".into(), "of=another".into())];
        workspace.with_shell(shell)
    });
    let command = json!({"command": "echo \"[$TRACEPARENT][$TRACESTATE]\""});
    let text = bed.done("bash", command.clone()).await;
    assert!(text.starts_with("[][of=another]\n"), "{text}");
    for (state, expected) in [(Some("a=1"), "a=1"), (None, "")] {
        let trace = TraceContext::new(PARENT, state).expect("sound");
        bed.cx = ToolContext::new(bed.cx.run().with_value(trace), "call");
        let text = bed.done("bash", command.clone()).await;
        let expected = format!("[{PARENT}][{expected}]\n");
        assert!(text.starts_with(&expected), "{text}");
    }
}

/// BASH-18: what a command exports is not carried over, and no value that a command is given gets into
/// a command line.
#[tokio::test]
async fn bash_18_values_are_in_no_command_line() {
    let bed = Bed::with(|workspace| {
        let mut shell = ShellOptions::default();
        shell.variables = vec![("GIVEN".into(), "canary-given".into())];
        workspace.with_shell(shell)
    });
    let export = "export OWN=canary-$((17 + 1)); sleep 600 & echo $OWN $GIVEN";
    let text = bed.done("bash", json!({"command": export})).await;
    assert!(text.starts_with("canary-18 canary-given\n"), "{text}");
    let job = json!({"command": export.replace("echo", "wait; echo"), "background": true});
    bed.done("bash", job).await;
    // The first counts the values, the second the command lines of the job.
    let look = "echo [$OWN]; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > lines; \
                grep -ac 'canary-[1g]' lines; grep -aqF 'wait; echo $OWN' lines && echo seen";
    let text = bed.done("bash", json!({"command": look})).await;
    let root = bed.workspace.root();
    assert_eq!(text, "[]\n0\nseen\n[exit code 0]", "in {}", root.display());
}

/// FIND-05: a command is what it says; no tool of ours takes the place of one that it names.
#[tokio::test]
async fn find_05_grep_in_the_shell_finds_what_is_ignored() {
    let bed = Bed::new();
    bed.put(".gitignore", ".env\n");
    bed.put(".env", "NEEDLE=1\n");
    let git = "git init -q . && git check-ignore .env";
    assert_eq!(
        bed.done("bash", json!({"command": git})).await,
        ".env\n[exit code 0]"
    );
    for command in ["grep -rl NEEDLE .", "find . -name .env"] {
        let text = bed.done("bash", json!({"command": command})).await;
        assert_eq!(text, "./.env\n[exit code 0]", "{command}");
    }
}

#[tokio::test]
async fn bash_19_20_what_is_shown_is_what_a_terminal_shows() {
    let command = "for i in $(seq 1 1000); do printf '\\r\\033[32m%d%%\\033[0m' $i; done; echo; \
                   printf 'Lo\\rLoading\\n\\033[?25l\\033]8;;http://x\\007link\\033]8;;\\007\\na\\r\\nb\\r\\n'";
    assert_eq!(
        text(command).await,
        "1000%\nLoading\nlink\na\nb\n[exit code 0]"
    );
}

#[tokio::test]
async fn bash_25_the_shell_is_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let cancel = CancellationToken::new();
    let workspace = Workspace::new(folder.path());
    let line = CommandLine {
        command: "x=1; echo $x",
        folder: folder.path(),
        timeout: Duration::from_secs(10),
        trace: None,
        secrets: None,
    };
    for shell in [None, Some("/bin/sh")] {
        let mut options = ShellOptions::default();
        options.shell = shell.map(Into::into);
        let workspace = workspace.clone().with_shell(options);
        let report = run_command(line.clone(), &workspace, &cancel, |_| {})
            .await
            .expect("ran");
        assert_eq!(report.output, "1\n");
    }
    let mut options = ShellOptions::default();
    options.shell = Some("/no/such/shell".into());
    let workspace = workspace.with_shell(options);
    let error = run_command(line, &workspace, &cancel, |_| {})
        .await
        .expect_err("no shell");
    assert!(error.to_string().contains("/no/such/shell"));
}

#[tokio::test]
async fn bash_27_unfinished_syntax_ends_at_once() {
    for command in ["echo \"abc", "( echo a", "cat <<EOF"] {
        let started = Instant::now();
        text(command).await;
        assert!(started.elapsed() < Duration::from_secs(2), "{command}");
    }
    assert!(bash("echo \"abc").await.is_error());
}

#[tokio::test]
async fn a_command_that_the_system_does_not_take_is_told_from_a_missing_shell() {
    let text = text(&format!("cat <<'E'\n{}\nE", "x".repeat(3_000_000))).await;
    assert!(
        text.contains("3000012 bytes") && text.contains("`write`"),
        "{text}"
    );
}

#[tokio::test]
async fn nothing_waits_for_input() {
    assert_eq!(text("cat; read x; echo got $x").await, "got\n[exit code 0]");
    assert!(text("cat < /dev/tty").await.contains("[exit code 1]"));
}

#[tokio::test]
async fn cancel_and_drop_end_everything() {
    let bed = Bed::new();
    let tools = default_tools(&bed.workspace);
    let bash = tools[3].clone();

    let cancel = CancellationToken::new();
    let run = harness_core::RunContext::detached(harness_core::Caller::default())
        .with_cancellation(cancel.clone());
    let cx = ToolContext::new(run, "c");
    let call = tokio::spawn({
        let bash = bash.clone();
        async move {
            bash.call(&cx, json!({"command": "sleep 30771 & sleep 30772"}))
                .await
        }
    });
    eventually("it runs", || runs("sleep 30772")).await;
    cancel.cancel();
    let outcome = tokio::time::timeout(Duration::from_secs(5), call)
        .await
        .expect("soon")
        .expect("ends");
    assert_eq!(outcome, ToolOutcome::Cancelled);
    assert!(!runs("sleep 30771") && !runs("sleep 30772"));

    let call = tokio::spawn(async move {
        bash.call(
            &ToolContext::detached(),
            json!({"command": "set -m; sleep 30773 & sleep 30774"}),
        )
        .await
    });
    eventually("it runs", || runs("sleep 30774")).await;
    call.abort();
    eventually("all are gone", || {
        !runs("sleep 30773") && !runs("sleep 30774")
    })
    .await;
}

#[tokio::test]
async fn long_output_goes_to_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let bed = Bed::new();
    let outcome = bed.call("bash", json!({"command": "seq 1 5000"})).await;
    let ToolOutcome::Done(output) = &outcome else {
        panic!("not done")
    };
    let details = output.details.clone().expect("details");
    let file = std::path::PathBuf::from(details["output_file"].as_str().expect("a path"));
    let whole = (1..=5000)
        .map(|n| format!("{n}\n"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(std::fs::read_to_string(&file).expect("read"), whole);
    assert_eq!(
        std::fs::metadata(&file)
            .expect("there")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    let text = outcome.shown_text();
    assert!(
        text.starts_with("3001\n") && text.contains("[Lines 3001-5000 of 5000 are shown"),
        "{}",
        &text[text.len() - 300..]
    );
}

#[tokio::test]
async fn a_bad_time_limit_is_refused() {
    let bed = Bed::new();
    for timeout in [0.0, -1.0] {
        let text = bed
            .failed("bash", json!({"command": "true", "timeout": timeout}))
            .await;
        assert!(text.contains("more than 0"), "{text}");
    }
}

#[tokio::test]
async fn how_it_gets_on_is_told_while_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = CommandLine {
        command: "echo first; sleep 0.6; echo second",
        folder: folder.path(),
        timeout: Duration::from_secs(10),
        trace: None,
        secrets: None,
    };
    let workspace = Workspace::new(folder.path());
    let mut told = Vec::new();
    let cancel = CancellationToken::new();
    run_command(line, &workspace, &cancel, |text| told.push(text))
        .await
        .expect("ran");
    assert_eq!(
        told.first().map(String::as_str),
        Some("first\n"),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_command_has_time_to_say_its_last_words() {
    let text = text("sleep 0.4; (sleep 0.03; echo last) & echo done").await;
    assert!(text.starts_with("done\nlast\n"), "{text}");
    let bed = Bed::new();
    let command = "trap 'echo cleaned; exit' TERM; sleep 30881 & wait";
    let text = bed
        .failed("bash", json!({"command": command, "timeout": 0.5}))
        .await;
    assert!(
        text.starts_with("cleaned\n[timed out after 0.5 s"),
        "{text}"
    );
    assert!(!runs("sleep 30881"));
}
