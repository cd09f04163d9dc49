//! The output of commands while it is on its way: no file and no word about it has a secret in it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use harness_core::{Caller, Event, RunContext, Secrets, ToolContext};
use serde_json::json;

use crate::bed::Bed;

const CANARY: &str = "sk-canary-0123456789";

/// A bed whose runs know the canary, and what its calls tell of how they get on.
fn guarded() -> (Bed, Arc<Mutex<String>>) {
    let mut bed = Bed::new();
    let secrets: Secrets = [CANARY].into_iter().collect();
    let told = Arc::new(Mutex::new(String::new()));
    let tells = Arc::clone(&told);
    let run = RunContext::detached(Caller::default())
        .with_secrets(&secrets)
        .tapped(move |event| {
            if let Event::ToolProgress { text, .. } = &event {
                tells.lock().expect("a lock").push_str(text);
            }
            Some(event)
        });
    bed.cx = ToolContext::new(run, "c");
    (bed, told)
}

/// All that is in the files beside the workspace: what was kept of outputs.
fn kept(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            all.push_str(&std::fs::read_to_string(path).expect("text"));
        }
    }
    all
}

/// In two halves, in colours, and so much that it goes to a file.
#[tokio::test]
async fn a_command_shows_no_secret() {
    let (bed, told) = guarded();
    bed.put("key", CANARY);
    let command = "for n in $(seq 2100); do printf sk-canary-; printf '0123456789\\n'; \
                   printf 'sk-\\033[1mcanary\\033[0m-0123456789\\n'; done; sleep 0.6; cat key; base64 key";
    let text = bed.done("bash", json!({ "command": command })).await;
    let kept = kept(bed.outside());
    assert!(kept.contains("[key]\n[key]\n"), "{kept}");
    assert!(text.contains("[key]\n[key]"), "{text}");
    let told = told.lock().expect("a lock").clone();
    assert!(told.contains("[key]"), "{told}");
    for seen in [&text, &kept, &told] {
        assert!(!seen.contains("canary-0"), "{seen}");
        assert!(!seen.contains("c2stY2FuYXJ5"), "{seen}");
    }
}

/// Also of a command that runs on, and is asked while half of a secret is out.
#[tokio::test]
async fn a_job_shows_no_secret() {
    let (bed, _) = guarded();
    let command = "echo begun; printf 'the key: sk-canary-'; until [ -e go ]; do sleep 0.02; done; \
                   echo 0123456789; echo done";
    let mut text = bed
        .done("bash", json!({"command": command, "background": true}))
        .await;
    while !text.contains("the key: ") {
        let ask = json!({"job": 1, "timeout": 0.05});
        text.push_str(&bed.done("bash", ask).await);
    }
    assert!(text.contains("the key: [key]"), "{text}");
    bed.put("go", "");
    let end = bed.done("bash", json!({"job": 1, "timeout": 20})).await;
    assert!(end.contains("the key: [key]\ndone"), "{end}");
    let kept = kept(bed.outside());
    assert_eq!(kept, "begun\nthe key: [key]\ndone\n");
    assert!(!format!("{text}{end}").contains("canary"), "{text}{end}");
}
