//! The demonstration, with its tools played by hand on a copy of the real project.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use harness_core::{Message, MessageRef, Model, ModelRequest, ToolCall, ToolOutcome};
use serde_json::Value;

use crate::conversation::results;
use crate::line::{complete, run};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/roman-numerals")
}

/// What the real tools do, in a few lines.
fn execute(folder: &Path, call: &ToolCall) -> ToolOutcome {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let path = || folder.join(arguments["path"].as_str().unwrap());
    match call.name.as_str() {
        "ls" => {
            let names: Vec<String> = std::fs::read_dir(path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            ToolOutcome::done(names.join("\n"))
        }
        "grep" => {
            let text = std::fs::read_to_string(path().join("lib.rs")).unwrap();
            let pattern = arguments["pattern"].as_str().unwrap();
            let lines: Vec<&str> = text.lines().filter(|line| line.contains(pattern)).collect();
            ToolOutcome::done(lines.join("\n"))
        }
        "read" => ToolOutcome::done(std::fs::read_to_string(path()).unwrap()),
        "edit" => {
            let mut text = std::fs::read_to_string(path()).unwrap();
            for edit in arguments["edits"].as_array().unwrap() {
                let (old, new) = (
                    edit["old_text"].as_str().unwrap(),
                    edit["new_text"].as_str().unwrap(),
                );
                assert_eq!(text.matches(old).count(), 1);
                text = text.replace(old, new);
            }
            std::fs::write(path(), text).unwrap();
            ToolOutcome::done("-old\n+new")
        }
        "bash" => {
            let output = Command::new("sh")
                .args(["-c", arguments["command"].as_str().unwrap()])
                .current_dir(folder)
                .env("CARGO_TARGET_DIR", folder.join("target"))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() {
                ToolOutcome::done(text)
            } else {
                ToolOutcome::failed(text)
            }
        }
        other => panic!("the demonstration calls {other}"),
    }
}

#[test]
fn the_demonstration_mends_the_bug() {
    let folder = std::env::temp_dir().join(format!("harness-demo-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    for file in [
        "Cargo.toml",
        "Cargo.lock",
        "src/lib.rs",
        "tests/numerals.rs",
    ] {
        std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        std::fs::copy(project().join(file), folder.join(file)).unwrap();
    }
    let model: Arc<dyn Model> = Arc::new(harness_providers::demo().unwrap());
    let mut history: Vec<MessageRef> = vec![Message::user("Fix the failing test.").into()];
    let mut used = Vec::new();
    let answer = loop {
        let request = ModelRequest::new(Arc::clone(&model), history.clone());
        let reply = run(complete(request)).unwrap();
        let calls: Vec<ToolCall> = reply.tool_calls().cloned().collect();
        if calls.is_empty() {
            break reply.text();
        }
        history.push(Message::Assistant(reply).into());
        used.extend(calls.iter().map(|call| call.name.clone()));
        let outcomes: Vec<(&str, &str, ToolOutcome)> = calls
            .iter()
            .map(|call| (&*call.id, &*call.name, execute(&folder, call)))
            .collect();
        history.push(results(outcomes));
    };
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(used, ["ls", "grep", "read", "bash", "edit", "bash"]);
    assert!(answer.ends_with("-old\n+new"), "{answer}");
}
