//! Commands that the kernel confines. Where it cannot, the tests say so, and check that nothing is run.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use harness_core::{Caller, RunContext, Tool as _, ToolContext, async_trait};
use harness_sandbox::{Abilities, Policy, Profile};
use harness_tools::{BashTool, Error, Process, ProcessSpec, Processes, ShellOptions};
use serde_json::json;

use crate::bed::{Bed, eventually, runs};

/// A bed whose folder beside the workspace has a secret. `None` where this kernel cannot confine.
async fn bed(profile: Profile, change: impl FnOnce(Policy) -> Policy) -> Option<Bed> {
    let mut bed = Bed::new();
    let policy = Policy::new(profile).with_hidden(bed.outside().join("secret"));
    let missing = Abilities::of_this_machine().missing(&policy);
    let required = missing.iter().find(|missing| missing.is_required());
    bed.workspace = bed.workspace.clone().with_sandbox(change(policy));
    std::fs::write(bed.outside().join("secret"), "CANARY").expect("written");
    std::fs::write(bed.outside().join("plain"), "plain").expect("written");
    if let Some(missing) = required {
        let _ = writeln!(std::io::stderr(), "left out: {missing}");
        let text = bed.failed("bash", json!({"command": "echo run"})).await;
        assert!(text.contains("cannot be enforced"), "{text}");
        return None;
    }
    Some(bed)
}

async fn writing() -> Option<Bed> {
    bed(Profile::WorkspaceWrite, |policy| policy).await
}

#[tokio::test]
async fn only_the_workspace_is_written_and_the_result_says_so() {
    let Some(bed) = writing().await else { return };
    bed.done("bash", json!({"command": "echo new > new"})).await;
    assert_eq!(bed.text("new"), "new\n");
    let text = bed
        .failed("bash", json!({"command": "echo x > ../plain"}))
        .await;
    let notice = format!(
        "[this ran in the sandbox `workspace-write`: files can be written only in {}, some with credentials \
         cannot be read, and there is no network and no socket]",
        bed.workspace.root().display()
    );
    assert!(text.contains("Permission denied"), "{text}");
    assert!(text.ends_with(&notice), "{text}");
    let text = bed
        .failed("bash", json!({"command": "cat ../plain ../secret"}))
        .await;
    assert!(text.contains("plain") && !text.contains("CANARY"), "{text}");
    // A failure of another kind is no reason to speak of it.
    let text = bed
        .failed("bash", json!({"command": "cat nothing-there"}))
        .await;
    assert!(!text.contains("sandbox"), "{text}");
    // The other tools do not go through it.
    bed.done("write", json!({"path": "../plain", "content": "other"}))
        .await;
}

#[tokio::test]
async fn jobs_are_confined_as_well() {
    let Some(bed) = writing().await else { return };
    let job = "cat ../plain; echo x > ../new || echo refused > told; exit 3";
    let arguments = json!({"command": job, "background": true});
    let mut text = bed.call("bash", arguments).await.shown_text();
    eventually("the job is done", || bed.path("told").exists()).await;
    if !text.contains("has ended") {
        text = bed
            .call("bash", json!({"job": 1, "timeout": 20}))
            .await
            .shown_text();
    }
    assert!(text.contains("this ran in the sandbox"), "{text}");
    assert!(!bed.outside().join("new").exists());
}

#[tokio::test]
async fn the_working_folder_lasts_in_each_shell_and_profile() {
    for profile in [Profile::ReadOnly, Profile::WorkspaceWrite] {
        for shell in ["/bin/bash", "/bin/sh"] {
            let Some(mut bed) = bed(profile, |policy| policy).await else {
                return;
            };
            let mut options = ShellOptions::default();
            options.shell = Some(Path::new(shell).to_owned());
            bed.outside().clone_into(&mut options.output_folder);
            bed.workspace = bed.workspace.clone().with_shell(options);
            bed.put("a/f", "");
            let text = bed.done("bash", json!({"command": "cd a"})).await;
            assert!(text.ends_with("[working directory: a]"), "{text}");
            let text = bed.done("bash", json!({"command": "ls"})).await;
            assert_eq!(text, "f\n[exit code 0]", "{profile} {shell}");
        }
    }
}

#[tokio::test]
async fn read_only_writes_nothing() {
    let Some(bed) = bed(Profile::ReadOnly, |policy| policy).await else {
        return;
    };
    bed.put("f", "text\n");
    let text = bed
        .failed("bash", json!({"command": "cat f; echo x > f"}))
        .await;
    let notice = "`read-only`: files can be written only in";
    assert!(!text.contains(notice), "{text}");
    assert!(
        text.contains("`read-only`: no files can be written"),
        "{text}"
    );
    assert_eq!(bed.text("f"), "text\n");
}

/// The root that may be written is that of the call.
#[tokio::test]
async fn the_root_of_the_call_counts() {
    let Some(mut bed) = writing().await else {
        return;
    };
    let other = bed.outside().join("other");
    std::fs::create_dir(&other).expect("made");
    let caller = Caller {
        working_dir: Some(other.clone()),
        ..Default::default()
    };
    bed.cx = ToolContext::new(RunContext::detached(caller), "");
    bed.done("bash", json!({"command": "echo x > here"})).await;
    assert!(other.join("here").exists());
    bed.failed("bash", json!({"command": "echo x > ../ws/here"}))
        .await;
    assert!(!bed.path("here").exists());
}

/// What is killed is still all that a command started, and the kernel's walls do not keep it from that.
#[tokio::test]
async fn nothing_is_left() {
    let Some(bed) = writing().await else { return };
    let mark = format!("sandboxed-{}", std::process::id());
    let line = format!(
        "setsid sh -c 'exec sleep 987 {mark}' & setsid -f bash -c ': {mark}; sleep 987; :'"
    );
    let _ = bed
        .call("bash", json!({"command": line, "timeout": 5}))
        .await;
    assert!(!runs(&mark));
    let text = bed
        .failed(
            "bash",
            json!({"command": format!("bash -c ': {mark}; sleep 987; :'"), "timeout": 0.5}),
        )
        .await;
    assert!(text.contains("timed out"), "{text}");
    assert!(!runs(&mark));
}

#[tokio::test]
async fn a_sandbox_that_is_off_is_none() {
    let bed = Bed::with(|workspace| workspace.with_sandbox(Policy::new(Profile::Off)));
    assert!(bed.workspace.sandbox().is_none());
    bed.done("bash", json!({"command": "echo x > ../new"}))
        .await;
    assert!(bed.outside().join("new").exists());
}

/// Another place that knows of no sandbox.
#[derive(Debug)]
struct Elsewhere;

#[async_trait]
impl Processes for Elsewhere {
    async fn start(&self, _: ProcessSpec<'_>) -> Result<Box<dyn Process>, Error> {
        Err(Error::Command("it was started".to_owned()))
    }
}

#[tokio::test]
async fn where_nothing_confines_nothing_is_run() {
    let bed = Bed::with(|workspace| workspace.with_processes(Arc::new(Elsewhere)));
    let text = bed.failed("bash", json!({"command": "true"})).await;
    assert!(text.contains("it was started"), "{text}");
    let bed = Bed::with(|workspace| {
        workspace
            .with_processes(Arc::new(Elsewhere))
            .with_sandbox(Policy::new(Profile::ReadOnly))
    });
    let words = "The sandbox `read-only` cannot be enforced";
    for arguments in [
        json!({"command": "true"}),
        json!({"command": "true", "background": true}),
    ] {
        let text = bed.failed("bash", arguments).await;
        assert!(text.contains(words), "{text}");
    }
    let why = BashTool::new(&bed.workspace).unavailable();
    assert!(why.is_some_and(|why| why.contains(words)));
}
