//! Hook files: whose are used, and that they are obeyed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Bed, Ended};

/// Writes a hook file with one hook of one event.
fn hook(path: &Path, event: &str, command: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let hooks = json!([{ "matcher": "", "hooks": [{ "type": "command", "command": command }] }]);
    fs::write(path, json!({ "hooks": { event: hooks } }).to_string()).unwrap();
}

#[track_caller]
fn play(bed: &Bed, calls: &[Value], flags: &[&str]) -> Ended {
    let script = json!({ "turns": [{ "calls": calls }, { "text": "Done." }] });
    bed.write("script.json", script.to_string());
    let arguments = [
        &["-m", "scripted:script.json", "--output", "json"],
        flags,
        &["go"],
    ]
    .concat();
    bed.guarded(&arguments).end()
}

fn write(path: &str) -> Value {
    json!({ "tool": "write", "arguments": { "path": path, "content": "x" } })
}

fn ls() -> Value {
    json!({ "tool": "ls", "arguments": {} })
}

/// The reason of the first call that was denied.
fn denied(ended: &Ended) -> String {
    let events = ended.events();
    let end = events
        .iter()
        .find(|event| event["outcome"]["status"] == "denied");
    end.map_or_else(String::new, |end| {
        end["outcome"]["reason"].as_str().unwrap().to_owned()
    })
}

#[test]
fn a_hook_of_the_user_refuses_and_allows() {
    let bed = Bed::new();
    let file = bed.home().join(".config/harness/hooks.json");
    hook(&file, "PreToolUse", "echo 'not today' >&2; exit 2");
    let ended = play(&bed, &[write("a.txt")], &["--trust"]).exits(0);
    assert!(denied(&ended).contains("not today"), "{ended:#?}");
    assert!(!bed.work().join("a.txt").exists());
    // An allow spares the question that nobody could be asked, and opens nothing that a rule denies.
    let allow = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#;
    hook(&file, "PreToolUse", allow);
    play(&bed, &[write("a.txt")], &["--no-trust"]).exits(0);
    assert!(bed.work().join("a.txt").exists());
    let ended = play(
        &bed,
        &[write("b.txt")],
        &["--no-trust", "--deny", "write(b.txt)"],
    )
    .exits(0);
    assert!(denied(&ended).contains("deny write(b.txt)"), "{ended:#?}");
    assert!(!bed.work().join("b.txt").exists());
}

/// What a hook makes of a call is judged like any call.
#[test]
fn what_a_hook_rewrites_is_judged() {
    let bed = Bed::new();
    let outside = bed.root().join("outside.txt");
    let answer = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": { "path": outside, "content": "x" },
    }});
    let file = bed.home().join(".config/harness/hooks.json");
    hook(&file, "PreToolUse", &format!("echo '{answer}'"));
    // The bed lies in the folder for temporary files of the machine, but not in its own.
    let ended = play(&bed, &[write("a.txt")], &["--trust"]).exits(0);
    assert!(denied(&ended).contains("outside.txt"), "{ended:#?}");
    assert!(!outside.exists() && !bed.work().join("a.txt").exists());
}

#[test]
fn a_project_has_hooks_only_if_it_is_trusted() {
    let bed = Bed::new();
    fs::create_dir(bed.work().join(".git")).unwrap();
    let ran = bed.root().join("ran");
    let touch = format!("touch {}", ran.display());
    hook(
        &bed.work().join(".harness/hooks.json"),
        "UserPromptSubmit",
        &touch,
    );
    play(&bed, &[ls()], &[])
        .exits(0)
        .notes(".harness/hooks.json is not read; `harness trust allow");
    assert!(!ran.exists());
    play(&bed, &[ls()], &["--trust"]).exits(0);
    assert!(ran.exists());
    // Those of Claude Code are read where the configuration says so.
    fs::remove_file(&ran).unwrap();
    fs::remove_file(bed.work().join(".harness/hooks.json")).unwrap();
    hook(
        &bed.home().join(".claude/settings.json"),
        "SessionEnd",
        &touch,
    );
    play(&bed, &[ls()], &["--trust"]).exits(0);
    assert!(!ran.exists());
    bed.config("[hooks]\nclaude = true\n");
    play(&bed, &[ls()], &["--trust"]).exits(0);
    assert!(ran.exists());
    // Off is off.
    fs::remove_file(&ran).unwrap();
    bed.config("[hooks]\nclaude = true\nenabled = false\n");
    play(&bed, &[ls()], &["--trust"]).exits(0);
    assert!(!ran.exists());
}

/// What a broken file was to forbid is not known.
#[test]
fn a_broken_file_is_an_error_with_its_place() {
    let bed = Bed::new();
    let file = bed.home().join(".config/harness/hooks.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n \"hooks\": [}").unwrap();
    let ended = bed.guarded(&["-m", "scripted:absent", "go"]).end().exits(2);
    ended.says(&["hooks.json"]);
    let report = bed.harness(&["doctor", "-m", "demo"]).end().exits(2);
    assert!(report.stdout.contains("hooks.json"), "{report:#?}");
}

/// What is wrong with one entry is told once, with its place, and turns off no other one.
#[test]
fn what_is_wrong_in_a_file_is_told_at_the_start_and_by_the_doctor() {
    let bed = Bed::new();
    let file = bed.home().join(".config/harness/hooks.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let guard = json!({ "command": "echo 'not today' >&2; exit 2", "tiemout": 5 });
    let hooks = json!({
        "PreToolUse": [
            { "matcher": "Write", "hooks": [guard] },
            { "matcher": "Bsah", "hooks": [{ "command": "true", "async": true }] },
            { "matcher": "mcp__memory__.*", "hooks": [{ "command": "true" }] },
            { "matcher": "Edit", "hook": [{ "command": "true" }] },
        ],
        "PostToolUs": [],
        "SessionStart": [{ "matcher": "startp", "hooks": [{ "command": "true" }] }],
    });
    fs::write(&file, json!({ "hooks": hooks }).to_string()).unwrap();
    let lines = [
        "PreToolUse[0].hooks[0]: `tiemout` is no key of a hook, and is ignored; did you mean `timeout`?",
        "PreToolUse[1]: matcher \"Bsah\" fits no tool, so its hooks never run; did you mean `Bash`?",
        "PreToolUse[3]: `hook` is no key of a group, and is ignored; did you mean `hooks`?",
        "PreToolUse[3]: it has no `hooks`; until that is mended, every call that it is for is refused",
        "PostToolUs: there is no such event, and its hooks never run; did you mean `PostToolUse`?",
        "SessionStart[0]: matcher \"startp\" fits no source of SessionStart, so its hooks never run; \
         did you mean `startup`?",
    ];
    let note = "PreToolUse[1].hooks[0]: `async` is not supported; it is ignored";
    let ended = play(&bed, &[write("a.txt")], &["--trust"]).exits(0);
    assert!(denied(&ended).contains("not today"), "{ended:#?}");
    for line in lines {
        let line = format!("warning: {}: {line}\n", file.display());
        assert_eq!(ended.stderr.matches(&line).count(), 1, "{line} {ended:#?}");
    }
    assert_eq!(ended.stderr.matches("warning: ").count(), lines.len());
    ended.notes(note);
    // The call that cannot be guarded is refused, and says why.
    let edit = json!({ "tool": "edit", "arguments": {
        "path": "a.txt", "edits": [{ "old_text": "x", "new_text": "y" }],
    }});
    let ended = play(&bed, &[edit], &["--trust"]).exits(0);
    assert!(denied(&ended).contains("it has no `hooks`"), "{ended:#?}");
    let report = bed.harness(&["doctor", "-m", "demo"]).end().exits(0).stdout;
    for line in lines.iter().chain([&note]) {
        assert!(report.contains(line), "{line}: {report}");
    }
}

/// Hooks that people bring read the conversation where they are told that it is.
#[test]
fn hooks_are_told_where_the_conversation_is() {
    let bed = Bed::new();
    let file = bed.home().join(".config/harness/hooks.json");
    let given = bed.root().join("given");
    hook(
        &file,
        "UserPromptSubmit",
        &format!("cat > {}", given.display()),
    );
    let asked = |flags: &[&str]| {
        // The script has nothing for a session that goes on; hooks are asked before.
        play(&bed, &[ls()], &[&["--trust"], flags].concat());
        let given: Value = serde_json::from_str(&fs::read_to_string(&given).unwrap()).unwrap();
        given["transcript_path"].clone()
    };
    let first = asked(&[]);
    let kept = fs::read_to_string(first.as_str().unwrap()).unwrap();
    assert!(kept.contains("\"go\"") && kept.contains("Done."), "{kept}");
    assert_eq!(asked(&["--continue"]), first);
    assert_eq!(asked(&["--no-session"]), Value::Null);
}

/// Who decided what about a call is in the session.
#[test]
fn sessions_show_which_hook_decided() {
    let bed = Bed::new();
    let file = bed.home().join(".config/harness/hooks.json");
    let shown = |answer: &Value| {
        hook(&file, "PreToolUse", &format!("echo '{answer}'"));
        play(&bed, &[write("a.txt")], &["--no-trust"]).exits(0);
        let show = bed.harness(&["sessions", "show", "--entries"]);
        show.end().exits(0).stdout
    };
    let decides = |decision: &str| {
        json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": decision,
            "permissionDecisionReason": "fine by me",
        }})
    };
    let named = |text: &str, line: &str| {
        let here = text.lines().find(|it| it.contains(line));
        let here = here.unwrap_or_else(|| panic!("{line}: {text}"));
        assert!(here.contains("`echo '{"), "{here}");
    };
    named(&shown(&decides("allow")), "hook: allow by `echo");
    named(
        &shown(&decides("allow")),
        "permission: allow by the hook `echo",
    );
    named(&shown(&decides("deny")), "hook: deny by `echo");
    let text = shown(&json!({}));
    assert!(text.contains("hook: nothing decided (1 asked)"), "{text}");
    assert!(text.contains("permission: deny by nobody"), "{text}");
}
