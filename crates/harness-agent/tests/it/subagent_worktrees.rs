//! Subagents that work in a git worktree of their own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use harness_agent::core::test_support::Reply;
use harness_agent::core::{Limits, SystemClock};
use harness_agent::middlewares::SubagentOptions;
use harness_agent::{AgentDeclaration, AgentHarness, Isolation, Workspace, default_tools};
use serde_json::json;

use crate::subagent_stage::{Cast, agents, task};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with two files in one commit.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(folder.path().join("b.txt"), "b\n").unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "-m", "first"]);
    folder
}

fn agent(cast: &Arc<Cast>, root: &Path, trusted: bool) -> AgentHarness {
    let mut limits = Limits::default();
    limits.max_turns = 40;
    let workspace = Workspace::new(root);
    let apart = AgentDeclaration::new("apart", "Works apart.", "You work apart.")
        .isolation(Isolation::Worktree);
    AgentHarness::builder()
        .shared_model(cast.clone())
        .clock(Arc::new(SystemClock))
        .limits(limits)
        .tools(default_tools(&workspace))
        .workspace(&workspace)
        .subagents(SubagentOptions::new(agents().with(apart)).worktrees(trusted))
        .build()
        .unwrap()
}

/// What the parent is told of a subagent that makes these calls, one after another.
async fn told(root: &Path, calls: &[(&str, serde_json::Value)], trusted: bool) -> String {
    let mut acts: Vec<Reply> = calls
        .iter()
        .enumerate()
        .map(|(number, (tool, arguments))| {
            Reply::call(&format!("c{number}"), tool, &arguments.to_string())
        })
        .collect();
    acts.push(Reply::text("I am done."));
    let cast = Arc::new(
        Cast::new()
            .actor(
                "go",
                [
                    Reply::call("1", "agent_spawn", &task("apart", "work")),
                    Reply::text("done"),
                ],
            )
            .actor("work", acts),
    );
    let outcome = agent(&cast, root, trusted)
        .prompt("go")
        .outcome()
        .await
        .unwrap();
    let results = outcome.history.iter().find_map(|message| match &**message {
        harness_agent::core::Message::ToolResults(results) => Some(results),
        _ => None,
    });
    results.unwrap().results[0].outcome.shown_text()
}

fn worktrees(root: &Path) -> usize {
    git(root, &["worktree", "list"]).lines().count()
}

#[tokio::test]
async fn what_was_changed_is_merged_and_the_worktree_is_gone() {
    let folder = repository();
    let root = folder.path();
    std::fs::write(root.join("b.txt"), "mine, not committed\n").unwrap();
    let calls = [
        (
            "write",
            json!({ "path": "a.txt", "content": "one\nchanged\n" }),
        ),
        ("write", json!({ "path": "new/c.txt", "content": "c\n" })),
        (
            "bash",
            json!({ "command": "pwd; cat b.txt; git status --short" }),
        ),
    ];
    let told = told(root, &calls, true).await;
    assert!(
        told.contains("in the workspace now, not committed: a.txt, new/c.txt"),
        "{told}"
    );
    assert_eq!(
        std::fs::read_to_string(root.join("a.txt")).unwrap(),
        "one\nchanged\n"
    );
    assert_eq!(
        std::fs::read_to_string(root.join("new/c.txt")).unwrap(),
        "c\n"
    );
    assert_eq!(
        std::fs::read_to_string(root.join("b.txt")).unwrap(),
        "mine, not committed\n"
    );
    assert_eq!(worktrees(root), 1);
    assert!(!git(root, &["branch"]).contains("harness/"));
    assert_eq!(git(root, &["log", "--oneline"]).lines().count(), 1);
    assert!(!git(root, &["status", "--short"]).contains(".worktrees"));
}

#[tokio::test]
async fn what_was_committed_is_merged_too() {
    let folder = repository();
    let commit = "echo three >> a.txt && git add -A && \
                  git -c user.name=a -c user.email=a@b commit --quiet -m more";
    let told = told(
        folder.path(),
        &[("bash", json!({ "command": commit }))],
        true,
    )
    .await;
    assert!(told.contains("not committed: a.txt"), "{told}");
    let text = std::fs::read_to_string(folder.path().join("a.txt")).unwrap();
    assert_eq!(text, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn one_that_changed_nothing_leaves_nothing() {
    let folder = repository();
    let told = told(folder.path(), &[("ls", json!({}))], true).await;
    assert!(told.contains("changed nothing"), "{told}");
    assert_eq!(worktrees(folder.path()), 1);
    assert_eq!(git(folder.path(), &["status", "--short"]), "");
}

#[tokio::test]
async fn what_stands_against_a_merge_leaves_the_worktree_with_its_path() {
    let folder = repository();
    let root = folder.path();
    std::fs::write(root.join("a.txt"), "mine\n").unwrap();
    let write = json!({ "path": "a.txt", "content": "theirs\n" });
    let told = told(root, &[("write", write)], true).await;
    assert!(
        told.contains("a.txt has changes here that are not committed"),
        "{told}"
    );
    assert_eq!(
        std::fs::read_to_string(root.join("a.txt")).unwrap(),
        "mine\n"
    );
    let path = told
        .split(" in ")
        .find(|part| part.contains(".worktrees/apart-"))
        .unwrap();
    let path = Path::new(path.split(" (branch").next().unwrap());
    assert_eq!(
        std::fs::read_to_string(path.join("a.txt")).unwrap(),
        "theirs\n"
    );
}

/// What a subagent writes into its worktree does not make git run anything: not even another `.git`.
#[tokio::test]
async fn sec_what_is_in_a_worktree_runs_nothing() {
    let folder = repository();
    let root = folder.path();
    let script = "git init --quiet fake && git -C fake config filter.x.clean 'touch ../../../canary; cat' && \
                  git -C fake config core.fsmonitor 'touch ../../../canary' && \
                  mv fake/.git .fake && echo \"gitdir: $PWD/.fake\" > .git && rmdir fake && \
                  echo '*.txt filter=x' > .gitattributes && echo evil > a.txt";
    let told = told(root, &[("bash", json!({ "command": script }))], true).await;
    assert!(!root.join("canary").exists(), "{told}");
    assert!(!root.parent().unwrap().join("canary").exists(), "{told}");
    assert!(told.contains("worktree"), "{told}");
}

#[tokio::test]
async fn the_parent_went_on_meanwhile() {
    let folder = repository();
    let root = folder.path();
    let script = "git -C ../.. -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m meanwhile; \
                  echo x > x.txt";
    let told = told(root, &[("bash", json!({ "command": script }))], true).await;
    assert!(told.contains("not committed: x.txt"), "{told}");
    assert_eq!(git(root, &["log", "--oneline"]).lines().count(), 2);
}

#[tokio::test]
async fn where_there_can_be_no_worktree_it_is_said() {
    let folder = repository();
    let refused = told(folder.path(), &[], false).await;
    assert!(refused.contains("not switched on"), "{refused}");
    let plain = tempfile::tempdir().unwrap();
    let refused = told(plain.path(), &[], true).await;
    assert!(refused.contains("no git repository"), "{refused}");
    git(plain.path(), &["init", "--quiet"]);
    let refused = told(plain.path(), &[], true).await;
    assert!(refused.contains("Nothing is committed yet"), "{refused}");
}

/// A folder of a repository is the workspace: the subagent works in the same folder of its worktree.
#[tokio::test]
async fn a_folder_of_a_repository_is_the_same_folder_there() {
    let folder = repository();
    let part = folder.path().join("part");
    std::fs::create_dir(&part).unwrap();
    std::fs::write(part.join("p.txt"), "p\n").unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "-m", "part"]);
    let write = json!({ "path": "p.txt", "content": "changed\n" });
    let told = told(
        &part,
        &[("read", json!({ "path": "p.txt" })), ("write", write)],
        true,
    )
    .await;
    assert!(told.contains("not committed: part/p.txt"), "{told}");
    assert_eq!(
        std::fs::read_to_string(part.join("p.txt")).unwrap(),
        "changed\n"
    );
}

/// What git would not carry is not taken away.
#[tokio::test]
async fn what_git_does_not_carry_stays_in_its_worktree() {
    for script in [
        "mkdir out && echo 1 > out/result.csv",
        "git init --quiet new && cd new && echo 1 > a && git add a && \
         git -c user.name=a -c user.email=a@b commit --quiet -m new",
    ] {
        let folder = repository();
        std::fs::write(folder.path().join(".gitignore"), "out/\n").unwrap();
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["commit", "--quiet", "-m", "ignore"]);
        let told = told(
            folder.path(),
            &[("bash", json!({ "command": script }))],
            true,
        )
        .await;
        assert!(told.contains("Its worktree is left"), "{told}");
        assert_eq!(worktrees(folder.path()), 2);
    }
}
