//! What somebody said yes to is what runs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use futures::executor::block_on;
use harness_core::test_support::{CountingEntropy, ManualClock, Reply, ScriptedModel};
use harness_core::{
    CommandEffect, DynamicTool, LoopConfig, RunContext, RunInput, ToolEffects, run,
};
use harness_trust::{Answer, Approver, Permissions, PlaceOfRuns, Question, Rules, Scope};
use serde_json::json;

/// Says yes, and has the link lead elsewhere before it does.
struct Swapper {
    link: PathBuf,
    to: Option<PathBuf>,
}

#[async_trait]
impl Approver for Swapper {
    async fn ask(&self, _: &RunContext, question: &Question) -> Answer {
        assert!(question.preview.is_none(), "{question:?}");
        if let Some(to) = &self.to {
            fs::remove_file(&self.link).unwrap();
            symlink(to, &self.link).unwrap();
        }
        Answer::Yes(Scope::Once)
    }
}

/// How often the command ran.
fn runs(swap: bool) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("ws");
    fs::create_dir(&root).unwrap();
    let (one, other, link) = (root.join("../one"), root.join("../other"), root.join("l"));
    fs::write(&one, "1").unwrap();
    fs::write(&other, "2").unwrap();
    symlink(&one, &link).unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let command = CommandEffect::new("cat l").in_folder(root.clone());
    let schema = json!({ "type": "object" });
    let tool = DynamicTool::new("bash", "Runs.", schema, move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok("ran".into())))
    })
    .effects(move |_, _| ToolEffects::run(command.clone()));
    let to = swap.then_some(other);
    let permissions = Permissions::new(Rules::new(), PlaceOfRuns::new(root))
        .approver(Arc::new(Swapper { link, to }));
    let model = ScriptedModel::new([Reply::call("c", "bash", "{}"), Reply::text("done")]);
    let config = LoopConfig::builder(Arc::new(model))
        .clock(Arc::new(ManualClock::new()))
        .entropy(Arc::new(CountingEntropy::default()))
        .tool(tool)
        .middleware(permissions)
        .build()
        .unwrap();
    block_on(run(&config, RunInput::prompt("go")).outcome()).unwrap();
    count.load(Ordering::Relaxed)
}

#[test]
fn sec_07_a_link_that_was_swapped_while_it_was_asked_about_is_not_followed() {
    assert_eq!(runs(false), 1);
    assert_eq!(runs(true), 0);
}
