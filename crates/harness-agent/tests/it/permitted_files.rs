//! Links that lead out of the workspace, and links that come and go.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use harness_agent::AgentHarness;
use harness_agent::core::ToolOutcome;
use harness_trust::Verdict;
use serde_json::{Value, json};

use crate::permitted::{ONCE, Place, answers, call, is_done};

/// Calls that reach `out/f` and `out/new/x`, where `out` leads out of the workspace.
fn calls() -> Vec<(&'static str, Value)> {
    let edits = json!([{"old_text": "canary", "new_text": "evil"}]);
    let mut calls = Vec::new();
    for path in [
        "out/f",
        "out/new/x",
        "./deep/../out/f",
        "deep/er/f",
        "out/./f",
    ] {
        calls.extend([
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "evil"})),
            ("edit", json!({"path": path, "edits": edits})),
            ("ls", json!({"path": path})),
            ("grep", json!({"pattern": "canary", "path": path})),
            ("find", json!({"pattern": "*", "path": path})),
        ]);
    }
    for path in ["out", "out/", "deep/er", "out/../outside"] {
        calls.extend([
            ("ls", json!({"path": path})),
            ("grep", json!({"pattern": "canary", "path": path})),
            ("find", json!({"pattern": "*", "path": path})),
        ]);
    }
    calls
}

fn with_links() -> Place {
    let place = Place::new();
    std::os::unix::fs::symlink(place.outside(), place.ws().join("out")).unwrap();
    std::fs::create_dir(place.ws().join("deep")).unwrap();
    // A link to a link.
    std::os::unix::fs::symlink("../out", place.ws().join("deep/er")).unwrap();
    place
}

fn is_unchanged(place: &Place) {
    let outside = place.outside();
    assert_eq!(
        std::fs::read_to_string(outside.join("f")).unwrap(),
        "canary\n"
    );
    let names: Vec<_> = std::fs::read_dir(outside)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(names, ["f"]);
}

#[tokio::test]
async fn sec_04_a_link_that_leads_out_is_asked_about_by_where_it_leads() {
    for (tool, arguments) in calls() {
        let place = with_links();
        let approver = answers([]);
        let agent = place.agent(&[(Verdict::Allow, "write(**)")], &approver);
        let outcome = call(&agent, tool, &arguments).await;
        let what = format!("{tool} {arguments}: {outcome:?}");
        assert!(matches!(outcome, ToolOutcome::Denied { .. }), "{what}");
        assert!(!outcome.shown_text().contains("canary"), "{what}");
        let questions = approver.questions();
        assert_eq!(questions.len(), 1, "{what}");
        let outside = place.outside().display().to_string();
        assert!(
            questions[0].effects.iter().all(|it| it.contains(&outside)),
            "{questions:?}"
        );
        is_unchanged(&place);
    }
}

#[tokio::test]
async fn sec_06_new_files_behind_a_link_are_asked_about_by_the_deepest_folder_that_is_there() {
    let edits = json!([{"old_text": "a", "new_text": "b"}]);
    for (tool, arguments) in [
        ("write", json!({"path": "out/new/x", "content": "evil"})),
        ("write", json!({"path": "out/a/b/c/x", "content": "evil"})),
        ("write", json!({"path": "deep/er/new/x", "content": "evil"})),
        ("edit", json!({"path": "out/new/x", "edits": edits})),
    ] {
        let place = with_links();
        let approver = answers([]);
        let outcome = call(&place.agent(&[], &approver), tool, &arguments).await;
        assert!(matches!(outcome, ToolOutcome::Denied { .. }), "{outcome:?}");
        let shown = &approver.questions()[0].effects[0];
        let outside = place.outside();
        assert!(
            shown.starts_with(&format!("writes {}/", outside.display())),
            "{shown}"
        );
        is_unchanged(&place);
    }
}

/// A rule about the path as it is written is no rule about where it leads.
#[tokio::test]
async fn sec_04_a_rule_is_about_real_paths() {
    let place = with_links();
    let arguments = json!({"path": "out/f"});
    let approver = answers([]);
    let agent = place.agent(&[(Verdict::Allow, "read(out/**)")], &approver);
    assert!(!is_done(&call(&agent, "read", &arguments).await));
    let real = format!("read({}/**)", place.outside().display());
    let agent = place.agent(&[(Verdict::Allow, &real)], &approver);
    assert!(is_done(&call(&agent, "read", &arguments).await));
    let agent = place.agent(
        &[(Verdict::Allow, "read"), (Verdict::Deny, &real)],
        &approver,
    );
    let outcome = call(&agent, "read", &arguments).await;
    assert!(outcome.shown_text().contains("deny read("), "{outcome:?}");
    assert_eq!(approver.questions().len(), 1);
}

#[tokio::test]
async fn with_a_yes_it_is_what_was_said_yes_to() {
    let place = with_links();
    let approver = answers([ONCE, ONCE]);
    let agent = place.agent(&[], &approver);
    let outcome = call(&agent, "read", &json!({"path": "out/f"})).await;
    assert!(outcome.shown_text().contains("canary"), "{outcome:?}");
    let arguments = json!({"path": "out/new/x", "content": "good\n"});
    assert!(is_done(&call(&agent, "write", &arguments).await));
    assert_eq!(
        std::fs::read_to_string(place.outside().join("new/x")).unwrap(),
        "good\n"
    );
    assert_eq!(approver.left(), 0);
}

/// A path that leads nowhere yet: nobody can say where it will.
#[tokio::test]
async fn a_dangling_link_is_never_written_through() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.outside().join("new"), place.ws().join("x")).unwrap();
    let arguments = json!({"path": "x", "content": "evil"});
    for rules in [&[][..], &[(Verdict::Allow, "write(**)")]] {
        let approver = answers([]);
        let outcome = call(&place.agent(rules, &approver), "write", &arguments).await;
        assert!(matches!(outcome, ToolOutcome::Denied { .. }), "{outcome:?}");
        is_unchanged(&place);
    }
}

/// How often something is swapped and called.
const ITERATIONS: usize = 1_000;

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes these calls, one after another, again and again, while a thread swaps things.
fn race(agent: &AgentHarness, calls: &[(&str, Value)], swap: impl Fn() + Send) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = StopOnDrop(&stop);
        let is_over = stop.0;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                swap();
            }
        });
        runtime.block_on(async {
            for (tool, arguments) in calls.iter().cycle().take(ITERATIONS) {
                let outcome = call(agent, tool, arguments).await;
                let shown = outcome.shown_text();
                assert!(!shown.contains("canary"), "{tool}: {shown}");
            }
        });
    });
}

fn edit(path: &str) -> (&'static str, Value) {
    let edits = json!([{"old_text": "in", "new_text": "IN"}]);
    ("edit", json!({"path": path, "edits": edits}))
}

fn write(path: &str) -> (&'static str, Value) {
    ("write", json!({"path": path, "content": "inside\n"}))
}

/// Puts something made by `make` at `path`, in one step.
fn put(path: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) {
    let new = path.with_extension("new");
    make(&new).unwrap();
    std::fs::rename(&new, path).unwrap();
}

/// What is outside says `in` as well, so that an edit would change it.
fn with_target() -> Place {
    let place = Place::new();
    std::fs::write(place.outside().join("f"), "canary within\n").unwrap();
    place
}

#[test]
fn sec_07_a_file_and_a_link_that_take_turns() {
    let place = with_target();
    let (file, outside) = (place.ws().join("x"), place.outside().join("f"));
    std::fs::write(&file, "inside\n").unwrap();
    let approver = answers([]);
    let agent = place.agent(&[(Verdict::Allow, "write(x)")], &approver);
    let read = ("read", json!({"path": "x"}));
    race(&agent, &[write("x"), edit("x"), read], || {
        put(&file, |new| std::os::unix::fs::symlink(&outside, new));
        put(&file, |new| std::fs::write(new, "inside\n"));
    });
    assert_eq!(
        std::fs::read_to_string(&outside).unwrap(),
        "canary within\n"
    );
    // With nobody in between, they do what they are for.
    std::fs::remove_file(&file).unwrap();
    for (tool, arguments) in [write("x"), edit("x")] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert!(is_done(&runtime.block_on(call(&agent, tool, &arguments))));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "INside\n");
}

#[test]
fn sec_07_a_folder_and_a_link_that_take_turns() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let place = with_target();
    let (folder, link) = (place.ws().join("d"), place.ws().join("other"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("f"), "inside\n").unwrap();
    std::os::unix::fs::symlink(place.outside(), &link).unwrap();
    let approver = answers([]);
    let agent = place.agent(&[(Verdict::Allow, "write(d/**)")], &approver);
    let calls = [
        write("d/f"),
        edit("d/f"),
        write("d/new/x"),
        ("read", json!({"path": "d/f"})),
        ("grep", json!({"pattern": "canary", "path": "d"})),
    ];
    race(&agent, &calls, || {
        renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    });
    let outside = place.outside();
    assert_eq!(
        std::fs::read_to_string(outside.join("f")).unwrap(),
        "canary within\n"
    );
    let names: Vec<_> = std::fs::read_dir(outside)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(names, ["f"]);
}
