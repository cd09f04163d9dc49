//! Secrets that an agent was told of.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use harness_agent::core::Secrets;
use harness_agent::core::test_support::{Reply, ScriptedModel};
use harness_agent::middlewares::EvictionOptions;
use harness_agent::{AgentHarness, DefaultOptions, default_harness};
use harness_tools::{Workspace, default_tools};
use serde_json::json;

const CANARY: &str = "sk-canary-0123456789";

fn secrets() -> Secrets {
    [CANARY].into_iter().collect()
}

/// All that is in the files under a folder.
fn all_text(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&all_text(&path));
        } else {
            all.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    all
}

/// What was masked when a tool gave it back is masked in the file that it gives way to.
#[tokio::test]
async fn a_result_in_a_file_shows_no_secret() {
    let (folder, evicted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let line = format!("a line with {CANARY} in it\n");
    fs::write(folder.path().join("long"), line.repeat(500)).unwrap();
    for name in ["AGENTS.md", "short"] {
        fs::write(folder.path().join(name), &line).unwrap();
    }
    let mut replies = vec![Reply::call("c0", "read", r#"{"path":"long"}"#)];
    for n in 1..10 {
        let arguments = json!({ "path": "." }).to_string();
        replies.push(Reply::call(&format!("c{n}"), "ls", &arguments));
    }
    replies.push(Reply::text("Done."));
    let model = Arc::new(ScriptedModel::new(replies));
    let workspace = Workspace::new(folder.path());
    let mut options = EvictionOptions::default();
    options.threshold_tokens = 1_000;
    options.folder = Some(evicted.path().to_owned());
    let agent = AgentHarness::builder()
        .shared_model(model.clone())
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .tool_result_eviction(options)
        .secrets(secrets())
        .build()
        .unwrap();
    // The files go with the session.
    let mut session = agent.session();
    let outcome = session.prompt("look at @short").outcome().await.unwrap();
    assert_eq!(outcome.status.word(), "finished");
    let kept = all_text(evicted.path());
    assert!(kept.contains("a line with [key] in it"), "{kept}");
    let requests = format!("{:?}", model.requests());
    assert!(requests.contains("a line with [key] in it"), "{requests}");
    let history = format!("{:?}", outcome.history);
    for seen in [kept, requests, history] {
        assert!(!seen.contains("canary"), "{seen}");
    }
    for entry in fs::read_dir(evicted.path()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

/// The mask is no text of the file: an edit of it fails, and the file stays as it is.
#[tokio::test]
async fn a_mask_cannot_be_edited() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, format!("key = {CANARY}\n")).unwrap();
    let model = Arc::new(ScriptedModel::new([
        Reply::call("c0", "read", r#"{"path":"key"}"#),
        Reply::call(
            "c1",
            "edit",
            r#"{"path":"key","edits":[{"old_text":"key = [key]","new_text":"key = none"}]}"#,
        ),
        Reply::text("Done."),
    ]));
    let mut options = DefaultOptions::new(model.clone(), Workspace::new(folder.path()));
    options.secrets = secrets();
    let agent = default_harness(options).unwrap();
    agent.prompt("Change it.").outcome().await.unwrap();
    assert_eq!(
        fs::read_to_string(file).unwrap(),
        format!("key = {CANARY}\n")
    );
    let requests = format!("{:?}", model.requests());
    assert!(
        requests.contains("key = [key]") && !requests.contains(CANARY),
        "{requests}"
    );
    assert!(requests.contains("Failed("), "{requests}");
}
