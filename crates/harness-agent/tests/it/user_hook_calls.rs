//! Hooks around calls: what they are given, what they answer, and what becomes of those that do neither.

use std::path::Path;
use std::sync::Arc;

use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::core::{
    CancellationToken, Event, HookDecision, HookVerdict, MemoryJournal, PermissionDecision,
    PermissionSource, RunInput, RunOptions, ToolOutcome, run_with,
};
use harness_agent::middlewares::{HookFile, Hooks, UserHooksMiddleware};
use serde_json::{Value, json};

use crate::user_hook_stage::{Stage, answers};

fn touch() -> Value {
    json!({ "command": "touch touched" })
}

fn decides(decision: &str, more: &Value) -> String {
    let mut specific = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": format!("because {decision}"),
    });
    specific
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    answers(&json!({ "hookSpecificOutput": specific }))
}

fn denied(outcome: &ToolOutcome) -> Option<&str> {
    match outcome {
        ToolOutcome::Denied { by, reason } if by == "hook" => Some(reason),
        _ => None,
    }
}

#[tokio::test]
async fn each_answer_before_a_call() {
    use HookDecision::{Allow, Ask};
    for (command, expected) in [
        ("exit 0".to_owned(), Ok(None)),
        ("echo all is well".to_owned(), Ok(None)),
        ("echo no >&2; exit 2".to_owned(), Err("no")),
        (
            "exit 2".to_owned(),
            Err("the hook `exit 2` of h.json gave no reason"),
        ),
        // What stands on standard output does not count then.
        (
            format!("{}\necho no >&2; exit 2", decides("allow", &json!({}))),
            Err("no"),
        ),
        (
            decides("allow", &json!({})),
            Ok(Some((Allow, "because allow"))),
        ),
        (decides("ask", &json!({})), Ok(Some((Ask, "because ask")))),
        (decides("deny", &json!({})), Err("because deny")),
        (
            answers(&json!({ "decision": "approve", "reason": "fine" })),
            Ok(Some((Allow, "fine"))),
        ),
        (
            answers(&json!({ "decision": "block", "reason": "old" })),
            Err("old"),
        ),
        (
            answers(&json!({ "continue": false, "stopReason": "over" })),
            Err("over"),
        ),
        (
            answers(&json!({
                "suppressOutput": true, "colour": 1, "session_id": "s", "hook_event_name": "PreToolUse",
                "hookSpecificOutput": { "updatedToolOutput": 1, "tool_input": {} },
            })),
            Ok(None),
        ),
    ] {
        let stage = Stage::of("PreToolUse", &[&command]);
        let (outcome, warnings) = stage.call("bash", touch()).await;
        assert_eq!(warnings, [""; 0], "{command}");
        match expected {
            Err(reason) => {
                assert_eq!(denied(&outcome), Some(reason), "{command}: {outcome:?}");
                assert!(!stage.touched());
                assert!(stage.verdicts.lock().unwrap().is_empty());
            }
            Ok(verdict) => {
                assert!(matches!(outcome, ToolOutcome::Done(_)), "{outcome:?}");
                assert!(stage.touched());
                let verdict = verdict.map(|(decision, reason)| HookVerdict {
                    decision,
                    reason: Some(reason.to_owned()),
                });
                assert_eq!(*stage.verdicts.lock().unwrap(), [verdict], "{command}");
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_is_on_the_audit_and_may_end_the_run() {
    let stop = answers(&json!({ "continue": false, "stopReason": "over", "systemMessage": "hey" }));
    let stage = Stage::of("PreToolUse", &[&stop]);
    let replies = vec![Reply::call("c1", "bash", r#"{"command": "touch touched"}"#)];
    let seen = stage.run(replies, RunInput::prompt("go")).await;
    assert_eq!(seen.outcome.status.word(), "stopped");
    assert_eq!(seen.warnings(), ["hey"]);
    let reports = seen.events.iter().filter_map(|event| match event {
        Event::Permission(report) => Some(report),
        _ => None,
    });
    let [report] = &reports.collect::<Vec<_>>()[..] else {
        panic!("one report: {:?}", seen.events);
    };
    assert_eq!((&*report.id, &*report.tool), ("c1", "bash"));
    assert_eq!(report.decision, PermissionDecision::Deny);
    assert_eq!(report.by, PermissionSource::Hook);
    assert_eq!(report.reason.as_deref(), Some("over"));
    assert_eq!(report.layer.as_deref(), Some("h.json"));
    assert!(report.rule.as_ref().unwrap().ends_with("` of h.json"));
    assert_eq!(report.effects, ["run(touch touched)"]);

    let stage = Stage::of("PreToolUse", &["exit 2"]);
    let never = CancellationToken::new();
    let config = stage.config(&Arc::new(ScriptedModel::new([])));
    let arguments = touch().to_string();
    let call =
        harness_agent::core::call_tool(&config, stage.caller.clone(), "bash", &arguments, never);
    assert!(denied(&call.await.unwrap()).is_some());
}

/// Whatever a hook fails by, the call is refused unless its file says otherwise; then it is told.
#[tokio::test]
async fn each_failure_is_closed_or_open_as_the_file_says() {
    for (command, problem) in [
        ("exit 1", "it exited with code 1"),
        ("echo oh >&2; exit 3", "it exited with code 3: oh"),
        ("/nonexistent/hook", "it exited with code 127"),
        ("kill -KILL $$", "it was ended by signal 9"),
        ("sleep 1000", "it ran out of time after 0.3 s"),
        ("echo '{'", "its answer cannot be understood"),
        (
            "echo first; echo '{\"decision\": \"block\"}'",
            "its answer cannot be understood",
        ),
        (
            "echo '{\"decision\": 1}'",
            "its answer cannot be understood",
        ),
        ("echo '{\"decision\": \"maybe\"}'", "it decided `maybe`"),
        (
            "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"defer\"}}'",
            "it decided `defer`",
        ),
        (
            "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\"}}'",
            "its answer is one for `Stop`",
        ),
        (
            "echo '{\"decison\": \"block\"}'",
            "its answer has the unknown key `decison`; did you mean `decision`?",
        ),
        (
            "echo '{\"colour\": 1, \"systemMesage\": \"hey\"}'",
            "the unknown key `systemMesage`; did you mean `systemMessage`?",
        ),
        (
            "echo '{\"hookSpecificOutput\": {\"permisionDecision\": \"deny\"}}'",
            "the unknown key `permisionDecision`; did you mean `permissionDecision`?",
        ),
        ("yes '{' | head -c 100000", "its answer is too long"),
    ] {
        for on_failure in [None, Some("closed"), Some("open")] {
            // None of them is hurried, but the one that would never end.
            let timeout = if command == "sleep 1000" { 0.3 } else { 60.0 };
            let mut hook = json!({ "command": command, "timeout": timeout });
            if let Some(word) = on_failure {
                hook["on_failure"] = word.into();
            }
            let stage = Stage::new(&json!({ "PreToolUse": [{ "hooks": [hook] }] }));
            let (outcome, warnings) = stage.call("bash", touch()).await;
            let told = if on_failure == Some("open") {
                assert!(stage.touched(), "{command}: {outcome:?}");
                let [warning] = &warnings[..] else {
                    panic!("{command}: {warnings:?}");
                };
                warning.clone()
            } else {
                assert!(!stage.touched() && warnings.is_empty(), "{command}");
                denied(&outcome).unwrap().to_owned()
            };
            assert!(told.contains(problem), "{command}: {told}");
            assert!(told.contains("of h.json failed: "), "{told}");
        }
    }
}

#[tokio::test]
async fn a_kind_that_cannot_be_run_blocks_only_where_that_was_asked_for() {
    let hook = json!({ "type": "http", "url": "http://localhost:1/", "onFailure": "block" });
    let text = json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } }).to_string();
    let file = HookFile::parse("h.json", &text).unwrap();
    assert_eq!(file.diagnostics().len(), 1);
    let mut stage = Stage::of("Stop", &[]);
    stage.middleware = UserHooksMiddleware::new(Hooks::from_files([file]));
    let (outcome, _) = stage.call("bash", touch()).await;
    assert!(
        denied(&outcome)
            .unwrap()
            .contains("a hook of type `http` is not supported")
    );
}

/// Several hooks: deny before ask before allow, the last rewriting, all contexts; and all run at once.
#[tokio::test]
async fn the_answers_of_several_hooks_are_joined() {
    let rewrite = |command: &str, context: &str| {
        let more = json!({
            "updatedInput": { "command": command }, "additionalContext": context,
        });
        decides("allow", &more)
    };
    let (one, two) = (rewrite("touch one", "c-one"), rewrite("touch two", "c-two"));
    let ask = decides("ask", &json!({}));
    let stage = Stage::of("PreToolUse", &[&one, &ask, &two]);
    let (outcome, _) = stage.call("bash", touch()).await;
    assert!(!stage.touched() && !stage.path("one").exists() && stage.path("two").exists());
    let text = outcome.shown_text();
    let context =
        |text: &str| format!("<hook_context event=\"PreToolUse\">\n{text}\n</hook_context>");
    let both = format!("{}\n{}", context("c-one"), context("c-two"));
    assert!(text.ends_with(&both), "{text}");
    let verdict = stage.verdicts.lock().unwrap()[0].clone().unwrap();
    assert_eq!(verdict.decision, HookDecision::Ask);
    assert_eq!(verdict.reason.as_deref(), Some("because ask"));

    let deny = decides("deny", &json!({}));
    let stage = Stage::of("PreToolUse", &[&one, &deny, "echo too >&2; exit 2", &ask]);
    let (outcome, _) = stage.call("bash", touch()).await;
    assert_eq!(denied(&outcome), Some("because deny; too"));

    // Each waits for the other, so neither ends before both run.
    let meets = |mine: &str, other: &str| {
        format!("touch {mine}; until [ -e {other} ]; do sleep 0.01; done")
    };
    let stage = Stage::of("PreToolUse", &[&meets("a", "b"), &meets("b", "a")]);
    let (outcome, _) = stage.call("bash", touch()).await;
    assert!(matches!(outcome, ToolOutcome::Done(_)), "{outcome:?}");
}

#[tokio::test]
async fn what_a_hook_rewrites_is_validated() {
    for input in [json!({ "command": 1 }), json!([]), json!("x")] {
        let hook = decides("allow", &json!({ "updatedInput": input }));
        let stage = Stage::of("PreToolUse", &[&hook]);
        let (outcome, _) = stage.call("bash", touch()).await;
        assert!(matches!(outcome, ToolOutcome::Failed(_)), "{outcome:?}");
        let text = outcome.shown_text();
        assert!(
            text.contains("rewrote the arguments, and they do not fit"),
            "{text}"
        );
        assert!(!stage.touched() && stage.verdicts.lock().unwrap().is_empty());
    }
    // `file_path` is what others call it; one that was left as it was given changes nothing.
    let write = json!({ "path": "a.txt", "content": "x" });
    for (filter, path) in [
        (".content = \"y\"", "a.txt"),
        (".content = \"y\" | .file_path = \"b.txt\"", "b.txt"),
        (".content = \"y\" | .path = \"c.txt\"", "c.txt"),
        ("{file_path: \"d.txt\", content: \"y\"}", "d.txt"),
    ] {
        let hook = format!(
            "jq '{{hookSpecificOutput: {{hookEventName: \"PreToolUse\", updatedInput: (.tool_input | {filter})}}}}'"
        );
        let stage = Stage::of("PreToolUse", &[&hook]);
        let (outcome, _) = stage.call("write", write.clone()).await;
        assert!(matches!(outcome, ToolOutcome::Done(_)), "{outcome:?}");
        assert_eq!(stage.text(path), "y", "{filter}");
    }
}

#[tokio::test]
async fn what_a_hook_is_given() {
    let record = "cat >> input; env >> environment; pwd -P > folder";
    let mut stage = Stage::new(&json!({
        "PreToolUse": [{ "matcher": "write", "hooks": [{ "command": record }] }],
        "PostToolUse": [{ "matcher": "write|Edit", "hooks": [{ "command": record }] }],
    }));
    let mut shell = harness_tools::ShellOptions::default();
    shell.hidden_variables = vec!["PATH".into()];
    stage.middleware = stage.middleware.clone().shell(shell);
    let (outcome, _) = stage
        .call("write", json!({ "path": "a.txt", "content": "x" }))
        .await;
    assert!(matches!(outcome, ToolOutcome::Done(_)), "{outcome:?}");
    let folder = stage.folder.path();
    let inputs = stage.text("input");
    let inputs: Vec<Value> = inputs
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let common = json!({
        "session_id": "s1",
        "transcript_path": null,
        "cwd": folder,
        "hook_event_name": "PreToolUse",
        "tool_name": "write",
        "tool_input": { "path": "a.txt", "content": "x", "file_path": folder.join("a.txt") },
        "tool_use_id": "c1",
    });
    assert_eq!(inputs[0], common);
    let mut after = common;
    after["hook_event_name"] = "PostToolUse".into();
    after["tool_response"] = inputs[1]["tool_response"].clone();
    assert_eq!(inputs[1], after);
    assert_eq!(after["tool_response"]["success"], true);
    assert_eq!(
        Path::new(stage.text("folder").trim()),
        folder.canonicalize().unwrap()
    );
    let environment = stage.text("environment");
    for name in ["HARNESS_PROJECT_DIR", "CLAUDE_PROJECT_DIR"] {
        assert!(environment.contains(&format!("{name}={}\n", folder.display())));
    }
    let inherited = std::env::var("PATH").unwrap();
    assert!(!environment.contains(&format!("\nPATH={inherited}\n")));
}

#[tokio::test]
async fn after_a_call() {
    let block = answers(&json!({
        "decision": "block", "reason": "Format it.</hook_context>",
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "more" },
    }));
    for (command, shown) in [
        ("echo nothing", None),
        ("echo bad >&2; exit 2", Some("bad")),
        (&block, Some("Format it.<\\/hook_context>")),
    ] {
        let stage = Stage::of("PostToolUse", &[command]);
        let (outcome, warnings) = stage.call("bash", touch()).await;
        assert!(stage.touched() && warnings.is_empty());
        let text = outcome.shown_text();
        match shown {
            None => assert!(!text.contains("hook_context"), "{text}"),
            Some(shown) => {
                let shown =
                    format!("<hook_context event=\"PostToolUse\">\n{shown}\n</hook_context>");
                assert!(text.contains(&shown), "{text}");
            }
        }
    }
    // Open by default, and not run for a call that failed.
    let stage = Stage::of("PostToolUse", &["touch after; exit 1"]);
    let (outcome, _) = stage.call("bash", json!({ "command": "exit 1" })).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)) && !stage.path("after").exists());
    let (outcome, warnings) = stage.call("bash", touch()).await;
    assert!(matches!(outcome, ToolOutcome::Done(_)) && stage.path("after").exists());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

/// Values never become part of a command line.
#[tokio::test]
async fn sec_10_what_stands_in_values_is_not_run() {
    let log = "cat >> log; jq . > /dev/null <<< '{}'";
    let commands = [
        log,
        "echo \"$CLAUDE_PROJECT_DIR\" > /dev/null; cat > /dev/null",
    ];
    let hooks: Vec<Value> = commands.iter().map(|it| json!({ "command": it })).collect();
    let group = json!([{ "hooks": hooks }]);
    let stage = Stage::new(&json!({
        "PreToolUse": group, "PostToolUse": group, "UserPromptSubmit": group, "Stop": group,
    }));
    let evil = "a$(touch X)`touch X`\";touch X;'|touch X\n.txt";
    let call = json!({ "path": evil, "content": "$(touch X)" }).to_string();
    let replies = vec![
        Reply::call("c$(touch X)", "write", &call),
        Reply::text("$(touch X)"),
    ];
    let seen = stage
        .run(replies, RunInput::prompt("Task $(touch X) `touch X`"))
        .await;
    assert_eq!(seen.outcome.status.word(), "finished");
    assert_eq!(stage.text("log").lines().count(), 4);
    assert!(stage.text("log").contains("$(touch X)"));
    assert!(stage.path(evil).exists());
    assert!(!stage.path("X").exists());
}

#[tokio::test]
async fn a_hook_that_reads_nothing_or_everything_is_not_waited_for_in_vain() {
    let content = "x".repeat(1024 * 1024);
    for command in [
        "exit 0",
        "exec <&-; sleep 0.1",
        "head -c 1 > /dev/null",
        "exec >&- 2>&-; cat > /dev/null",
        "tr x y",
        "tr x y >&2",
    ] {
        let stage = Stage::of("PreToolUse", &[command]);
        let (outcome, _) = stage
            .call("write", json!({ "path": "a", "content": content }))
            .await;
        assert!(
            matches!(outcome, ToolOutcome::Done(_)) || command.starts_with("tr"),
            "{command}: {}",
            outcome.shown_text()
        );
    }
}

#[tokio::test]
async fn much_output_is_bounded() {
    let stage = Stage::of("PreToolUse", &["yes no | head -c 10000000 >&2; exit 2"]);
    let (outcome, _) = stage.call("bash", touch()).await;
    let reason = denied(&outcome).unwrap();
    assert!(
        (64 * 1024 - 16..64 * 1024 + 100).contains(&reason.len()),
        "{}",
        reason.len()
    );
    assert!(reason.ends_with("[cut: a hook may say 65536 bytes]"));
}

/// Which of the processes whose ids are in this file run.
fn alive(file: &Path) -> Vec<String> {
    let pids = std::fs::read_to_string(file).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    let runs = |pid: &&str| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    pids.lines().filter(runs).map(str::to_owned).collect()
}

/// Two processes, one of which leaves the session, whose ids are written down before anything else.
const FAMILY: &str = "sleep 1000 & echo $! > pids; setsid sleep 1000 & echo $! >> pids; touch up;";

#[tokio::test]
async fn nothing_of_a_hook_runs_on() {
    for (end, timeout) in [
        ("sleep 1000", 3.0),
        ("exit 0", 60.0),
        ("exec >&- 2>&-", 60.0),
    ] {
        let hook = json!({ "command": format!("{FAMILY} {end}"), "timeout": timeout });
        let stage = Stage::new(&json!({ "PreToolUse": [{ "hooks": [hook] }] }));
        let (outcome, _) = stage.call("bash", touch()).await;
        assert_eq!(alive(&stage.path("pids")), [""; 0], "{end}");
        assert_eq!(
            denied(&outcome).is_some(),
            end == "sleep 1000",
            "{outcome:?}"
        );
    }
}

/// Waits until a hook has come so far.
async fn until(path: &Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_cancel_ends_a_hook() {
    let stage = Stage::of("PreToolUse", &[&format!("{FAMILY} sleep 1000")]);
    let model = Arc::new(ScriptedModel::new([Reply::call(
        "c1",
        "bash",
        &touch().to_string(),
    )]));
    let cancel = CancellationToken::new();
    let options = RunOptions {
        caller: stage.caller.clone(),
        cancellation: Some(cancel.clone()),
        ..RunOptions::default()
    };
    let config = stage.config(&model);
    let run = run_with(&config, RunInput::prompt("go"), options);
    let stop = async {
        until(&stage.path("up")).await;
        cancel.cancel();
    };
    let (outcome, ()) = futures::join!(run.outcome(), stop);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status.word(), "cancelled");
    assert!(!stage.touched());
    assert_eq!(alive(&stage.path("pids")), [""; 0]);

    // Dropped, it ends as well.
    std::fs::remove_file(stage.path("up")).unwrap();
    let model = Arc::new(ScriptedModel::new([Reply::call(
        "c1",
        "bash",
        &touch().to_string(),
    )]));
    let config = stage.config(&model);
    let options = RunOptions {
        caller: stage.caller.clone(),
        ..RunOptions::default()
    };
    let run = Box::pin(run_with(&config, RunInput::prompt("go"), options).outcome());
    let up = stage.path("up");
    let first = futures::future::select(run, Box::pin(until(&up))).await;
    drop(first);
    assert_eq!(alive(&stage.path("pids")), [""; 0]);
}

#[tokio::test]
async fn what_is_on_record_is_not_asked_again() {
    let before = answers(&json!({
        "systemMessage": "told once",
        "hookSpecificOutput": { "updatedInput": { "command": "touch rewritten" } },
    }));
    let stage = Stage::new(&json!({
        "PreToolUse": [{ "hooks": [{ "command": format!("echo before >> log; {before}") }] }],
        "PostToolUse": [{ "hooks": [{ "command": "echo after >> log; echo seen >&2; exit 2" }] }],
    }));
    let mut steps = Vec::new();
    let mut histories = Vec::new();
    for round in 0..2 {
        let replies = [
            Reply::call("c1", "bash", &touch().to_string()),
            Reply::text("Done."),
        ];
        let model = Arc::new(ScriptedModel::new(if round == 0 {
            replies.to_vec()
        } else {
            Vec::new()
        }));
        let journal = MemoryJournal::from_steps(steps);
        let config = stage.config(&model);
        let options = RunOptions {
            caller: stage.caller.clone(),
            journal: Some(&journal),
            ..RunOptions::default()
        };
        let outcome = run_with(&config, RunInput::prompt("go"), options)
            .outcome()
            .await
            .unwrap();
        histories.push(outcome.history);
        steps = journal.steps();
    }
    assert_eq!(stage.text("log"), "before\nafter\n");
    let texts = |history: &[harness_agent::core::MessageRef]| {
        let texts = history.iter().map(|message| format!("{:?}", **message));
        texts.collect::<Vec<_>>()
    };
    assert_eq!(texts(&histories[0]), texts(&histories[1]));
    assert!(stage.path("rewritten").exists() && !stage.touched());
}

#[tokio::test]
async fn a_call_that_cannot_be_made_is_not_shown_to_hooks() {
    let stage = Stage::of("PreToolUse", &["touch asked; exit 2"]);
    for (tool, arguments) in [("fly", json!({})), ("bash", json!({ "command": 1 }))] {
        let (outcome, _) = stage.call(tool, arguments).await;
        assert!(matches!(outcome, ToolOutcome::Failed(_)), "{outcome:?}");
    }
    assert!(!stage.path("asked").exists());
}
