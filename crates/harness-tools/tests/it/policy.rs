use std::sync::atomic::{AtomicBool, Ordering};

use harness_tools::Access;
use serde_json::json;

use crate::bed::Bed;

fn confined() -> Bed {
    Bed::with(|workspace| {
        workspace
            .with_read_access(Access::WorkspaceOnly)
            .with_write_access(Access::WorkspaceOnly)
    })
}

#[tokio::test]
async fn sec_04_a_symlink_does_not_lead_out() {
    let bed = confined();
    let outside = bed.outside().join("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::write(outside.join("f"), "CANARY\n").expect("written");
    bed.link(&outside, "out");
    bed.link(outside.join("f"), "file");
    let absolute = outside.join("f").to_string_lossy().into_owned();
    for path in ["out/f", "file", "../outside/f", absolute.as_str()] {
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            (
                "edit",
                json!({"path": path, "old_text": "CANARY", "new_text": "x"}),
            ),
            ("grep", json!({"path": path, "pattern": "CAN"})),
        ] {
            let outcome = bed.call(tool, arguments).await;
            assert!(
                matches!(outcome, harness_core::ToolOutcome::Denied { .. }),
                "{tool} {path}"
            );
            assert!(!outcome.shown_text().contains("CANARY"));
        }
    }
    for (tool, arguments) in [
        ("ls", json!({"path": "out"})),
        ("find", json!({"path": "out", "pattern": "*"})),
        ("grep", json!({"path": "out", "pattern": "CAN"})),
    ] {
        let text = bed.failed(tool, arguments).await;
        assert!(text.contains("outside the workspace"), "{tool}: {text}");
    }
    assert_eq!(
        bed.done("grep", json!({"pattern": "CANARY"})).await,
        "No matches."
    );
    assert_eq!(std::fs::read(outside.join("f")).expect("read"), b"CANARY\n");
}

#[tokio::test]
async fn sec_06_new_files_are_checked_by_their_deepest_folder() {
    let bed = confined();
    let outside = bed.outside().join("o");
    std::fs::create_dir(&outside).expect("made");
    bed.link(&outside, "d");
    bed.link(outside.join("not-there"), "dangling");
    for path in ["d/new/x", "d/x", "dangling", "new/../../o/x", "d/../o/x"] {
        let text = bed
            .failed("write", json!({"path": path, "content": "x"}))
            .await;
        assert!(text.contains("outside the workspace"), "{path}: {text}");
    }
    assert_eq!(std::fs::read_dir(&outside).expect("listed").count(), 0);
    bed.done("write", json!({"path": "in/../in2/x", "content": "x"}))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sec_07_swapping_a_link_in_changes_nothing_outside() {
    let bed = confined();
    let outside = bed.outside().join("victim");
    std::fs::write(&outside, "CANARY").expect("written");
    std::fs::create_dir(bed.outside().join("vdir")).expect("made");
    let victim_dir = bed.outside().join("vdir");
    let (x, d) = (bed.path("x"), bed.path("d"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = std::fs::remove_file(&x);
                let _ = std::os::unix::fs::symlink(&outside, &x);
                let _ = std::fs::remove_file(&x);
                let _ = std::fs::write(&x, "inside");
                let _ = std::fs::remove_dir_all(&d);
                let _ = std::os::unix::fs::symlink(&victim_dir, &d);
                let _ = std::fs::remove_file(&d);
                let _ = std::fs::create_dir(&d);
            }
        });
        let workspace = bed.workspace.clone();
        let write = |path: &str| {
            let args = harness_tools::WriteArgs {
                path: path.to_owned(),
                content: "MODEL".to_owned(),
            };
            let seen = harness_tools::SeenFiles::new();
            let _ = harness_tools::write_file(
                &workspace,
                &args,
                &seen,
                &harness_tools::Stop::default(),
            );
            let args = harness_tools::ReadArgs {
                path: path.to_owned(),
                ..Default::default()
            };
            if let Ok(harness_tools::ReadResult::Text(read)) =
                harness_tools::read_file(&workspace, &args, &seen, &harness_tools::Stop::default())
            {
                assert!(!read.text.contains("CANARY"));
            }
        };
        for _ in 0..1_000 {
            write("x");
            write("d/y");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read(&outside).expect("read"), b"CANARY");
    assert_eq!(std::fs::read_dir(&victim_dir).expect("listed").count(), 0);
}

#[tokio::test]
async fn what_is_outside_and_may_be_read() {
    let bed = Bed::with(|workspace| {
        let skills = workspace.root().with_file_name("skills");
        workspace
            .with_read_access(Access::WorkspaceOnly)
            .with_readable(skills)
    });
    std::fs::create_dir(bed.outside().join("skills")).expect("made");
    std::fs::write(bed.outside().join("skills/s.md"), "skill\n").expect("written");
    assert_eq!(
        bed.done("read", json!({"path": "../skills/s.md"})).await,
        "skill\n"
    );
    let text = bed.done("bash", json!({"command": "seq 1 5000"})).await;
    let file = text
        .split("Full output: ")
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .expect("a file");
    assert!(
        bed.done("read", json!({"path": file, "limit": 1}))
            .await
            .starts_with("1\n")
    );
    assert!(
        bed.failed("read", json!({"path": "/etc/hostname"}))
            .await
            .contains("outside")
    );
}

#[tokio::test]
async fn a_run_with_its_own_folder_works_there() {
    let mut bed = confined();
    bed.put("sub/f", "sub\n");
    bed.put("f", "top\n");
    let caller = harness_core::Caller {
        working_dir: Some(bed.path("sub")),
        ..Default::default()
    };
    bed.cx = harness_core::ToolContext::new(harness_core::RunContext::detached(caller), "");
    assert_eq!(bed.done("read", json!({"path": "f"})).await, "sub\n");
    assert!(
        bed.failed("read", json!({"path": "../f"}))
            .await
            .contains("outside")
    );
    let text = bed.done("bash", json!({"command": "pwd"})).await;
    assert!(text.contains("/ws/sub\n"), "{text}");
}
