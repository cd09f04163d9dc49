//! The examples do what they say.

use std::process::Command;

fn output(example: &str) -> String {
    // Cargo builds a package's examples together with its tests, beside them.
    let mut folder = std::env::current_exe().unwrap();
    while folder.file_name().is_some_and(|name| name != "deps") {
        folder.pop();
    }
    folder.pop();
    let output = Command::new(folder.join("examples").join(example))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{example}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn own_tool() {
    let printed = output("own_tool");
    let lines = include_str!("../../Cargo.toml").lines().count();
    assert!(printed.contains("calls count_lines"), "{printed}");
    assert!(
        printed.contains(&format!("Cargo.toml has {lines} lines.")),
        "{printed}"
    );
}

#[test]
fn own_middleware() {
    let printed = output("own_middleware");
    assert!(printed.contains("first model:"), "{printed}");
    assert!(printed.contains("The second model answers."), "{printed}");
}

#[test]
fn own_permissions() {
    let printed = output("own_permissions");
    assert_eq!(printed.matches("may ").count(), 1, "{printed}");
    assert!(printed.starts_with("may write be done? "), "{printed}");
    assert!(printed.contains("run(git push *)"), "{printed}");
}

#[test]
fn own_provider() {
    assert_eq!(output("own_provider"), "[Say ][this ][again, ][please.]\n");
}

#[test]
fn every_hook() {
    let printed = output("every_hook");
    let expected = [
        "on_reasoning: 1 messages",
        "on_model_call: a reply",
        "on_acting: 2 calls",
        "on_tool_call: denied",
        "after_turn: 1",
        "on_turn: 1 continues",
        "on_reasoning: 3 messages",
        "on_model_call: a reply",
        "after_turn: 2",
        "on_turn: 2 ended",
        "on_agent: finished after 2 turns",
        "on_event: 2 calls ended",
        "Noted.",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn own_section() {
    let printed = output("own_section");
    assert!(printed.contains("role (by user template:system-prompt/role): You are a proofreader."));
    assert!(printed.contains("workspace (by short-workspace): You work in /srv/texts."));
    assert!(!printed.contains("Platform"), "{printed}");
}

#[test]
fn kept_session() {
    let printed = output("kept_session");
    assert!(printed.starts_with("Noted: milk.\nMilk.\n"), "{printed}");
    assert_eq!(printed.matches("user ").count(), 1, "{printed}");
    assert_eq!(printed.matches("assistant ").count(), 2, "{printed}");
}
