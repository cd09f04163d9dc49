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
