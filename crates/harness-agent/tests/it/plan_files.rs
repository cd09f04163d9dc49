//! The plan file: what outlives a process, whose it is, and what is no plan file.

use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness_agent::core::test_support::Reply;
use harness_agent::core::{Caller, Event, ToolOutcome};
use harness_agent::middlewares::{PlanModeMiddleware, PlanState};
use harness_tools::{
    Entry, FileInfo, Files, LocalFiles, OpenFile, ReplaceError, Replacement, Resolved,
};
use serde_json::json;

use crate::plan_mode::{Hands, builder, is_denied, plan_md, scripted};

#[tokio::test]
async fn a_plan_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = |session| Hands::new(folder.path(), session, PlanModeMiddleware::new());
    let write = || json!({"path": "a", "content": "x"});
    for session in [None, Some("s-1")] {
        let hands = fresh(session);
        hands.call("plan_enter", json!({})).await;
        assert!(is_denied(&fresh(session).call("write", write()).await));
        hands
            .call("plan_write", json!({"content": "# Plan\n"}))
            .await;
        fresh(session).at(PlanState::Planning);
        hands.call("plan_exit", json!({"summary": "s"})).await;
        let next = fresh(session);
        next.at(PlanState::Proposed);
        next.mode.approve().unwrap();
        let last = fresh(session);
        last.at(PlanState::Approved);
        assert!(!is_denied(&last.call("write", write()).await));
    }
    let text = std::fs::read_to_string(folder.path().join(".harness/plans/s-1.md")).unwrap();
    assert_eq!(text, "---\nstatus: approved\nsession: s-1\n---\n\n# Plan\n");
    // The approved plan is told of in a new process' first turn.
    let model = scripted([Reply::text("Done.")]);
    let agent = builder(&model, folder.path(), PlanModeMiddleware::new())
        .build()
        .unwrap();
    let caller = Caller {
        session: Some("s-1".to_owned()),
        ..Caller::default()
    };
    let mut session = agent.session().with_caller(caller);
    session.prompt("Go on.").outcome().await.unwrap();
    let system = model.requests()[0].system.clone().unwrap();
    assert!(
        system.contains("The plan in .harness/plans/s-1.md is approved."),
        "{system}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path().join(".harness/plans"))
            .unwrap()
            .count(),
        2
    );
}

#[tokio::test]
async fn two_sessions_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let agent_model = scripted([]);
    let agent = builder(&agent_model, folder.path(), PlanModeMiddleware::new())
        .build()
        .unwrap();
    let session = |id: &str, replies: Vec<Reply>| {
        let context = harness_agent::LoopContext {
            model: Some(scripted(replies)),
            ..Default::default()
        };
        let caller = Caller {
            session: Some(id.to_owned()),
            ..Caller::default()
        };
        let mut session = agent.session().with_caller(caller);
        session.reconfigure(&context).unwrap();
        session
    };
    let write = |name: &str| json!({"path": name, "content": "x"}).to_string();
    let mut planning = session(
        "one",
        vec![
            Reply::call("1", "plan_write", r##"{"content": "# One"}"##),
            Reply::call("2", "write", &write("by-one")),
            Reply::call("3", "write", &write("by-one")),
            Reply::text("Done."),
        ],
    );
    let mut free = session(
        "two",
        vec![
            Reply::call("1", "ls", "{}"),
            Reply::call("2", "write", &write("by-two")),
            Reply::call("3", "plan_exit", r#"{"summary": "s"}"#),
            Reply::text("Done."),
        ],
    );
    let (one, two) = futures::join!(
        planning.prompt("/plan It.").outcome(),
        free.prompt("Do it.").outcome()
    );
    one.unwrap();
    let two = format!("{:?}", two.unwrap().history);
    assert!(two.contains("Plan mode is off"), "{two}");
    assert!(!folder.path().join("by-one").exists());
    assert!(folder.path().join("by-two").exists());
    assert!(!folder.path().join(".harness/plans/two.md").exists());
}

/// An id that is no file name makes none.
#[tokio::test]
async fn ids_that_are_no_names() {
    for id in [
        "../../evil",
        "a/b",
        ".",
        "..",
        "",
        "a\nstatus: approved",
        &"x".repeat(300),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let hands = Hands::new(folder.path(), Some(id), PlanModeMiddleware::new());
        hands.call("plan_enter", json!({})).await;
        assert_eq!(
            std::fs::read_to_string(plan_md(&folder)).unwrap(),
            "---\nstatus: planning\n---\n\n"
        );
    }
}

type Make<'a> = Box<dyn Fn(&Path) + 'a>;

#[tokio::test]
async fn hostile_files() {
    let big = format!("---\nstatus: planning\n---\n\n{}", "x".repeat(256 * 1024));
    let binary = b"---\nstatus: planning\n---\n\xff\xfe\0".to_vec();
    let cases: Vec<(&str, Make<'_>, bool)> = vec![
        (
            "binary",
            Box::new(|path| std::fs::write(path, &binary).unwrap()),
            false,
        ),
        (
            "huge",
            Box::new(|path| std::fs::write(path, &big).unwrap()),
            false,
        ),
        (
            "broken",
            Box::new(|path| std::fs::write(path, "---\nstatus: approved\nx").unwrap()),
            true,
        ),
        (
            "of another",
            Box::new(|path| {
                std::fs::write(path, "---\nstatus: approved\nsession: other\n---\n\nx").unwrap();
            }),
            true,
        ),
        (
            "pipe",
            Box::new(|path| {
                let made = std::process::Command::new("mkfifo").arg(path).status();
                assert!(made.unwrap().success());
            }),
            false,
        ),
        (
            "folder",
            Box::new(|path| std::fs::create_dir(path).unwrap()),
            false,
        ),
        (
            "symlink",
            Box::new(|path| symlink("/etc/passwd", path).unwrap()),
            false,
        ),
        (
            "dangling",
            Box::new(|path| symlink("../../made", path).unwrap()),
            false,
        ),
        (
            "loop",
            Box::new(|path| symlink("plan.md", path).unwrap()),
            false,
        ),
    ];
    for (name, make, usable) in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = plan_md(&folder);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        make(&file);
        let model = scripted([
            Reply::call("1", "plan_enter", "{}"),
            Reply::call("2", "plan_write", r##"{"content": "# Plan"}"##),
            Reply::call("3", "ls", "{}"),
            Reply::text("Done."),
        ]);
        let agent = builder(&model, folder.path(), PlanModeMiddleware::new())
            .build()
            .unwrap();
        let mut run = agent.prompt("Go.");
        let mut warnings = 0;
        let mut results: Vec<Arc<ToolOutcome>> = Vec::new();
        while let Some(event) = run.next().await {
            match event {
                Event::Warning { message } => {
                    assert!(
                        message.contains("plan.md cannot be used"),
                        "{name}: {message}"
                    );
                    warnings += 1;
                }
                Event::ToolEnd { outcome, .. } => results.push(outcome),
                _ => {}
            }
        }
        run.outcome().await.unwrap();
        assert_eq!(warnings, 1, "{name}");
        let done = matches!(&*results[0], ToolOutcome::Done(_));
        assert_eq!(done, usable, "{name}: {results:?}");
        if usable {
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(text, "---\nstatus: planning\n---\n\n# Plan", "{name}");
        } else {
            assert!(
                results[1].shown_text().contains("Plan mode is off"),
                "{name}: {results:?}"
            );
        }
        assert!(!folder.path().join("made").exists(), "{name}");
    }
}

/// A project cannot choose where its plans are written; a host can.
#[tokio::test]
async fn folders_that_lead_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    for link in [".harness", ".harness/plans"] {
        let path = folder.path().join(link);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(outside.path(), &path).unwrap();
        let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
        let outcome = hands.call("plan_enter", json!({})).await;
        assert!(outcome.shown_text().contains("leads out of"), "{outcome:?}");
        hands.at(PlanState::Off);
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    // After it was found to be sound.
    let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
    hands.call("plan_enter", json!({})).await;
    std::fs::remove_dir_all(folder.path().join(".harness/plans")).unwrap();
    symlink(outside.path(), folder.path().join(".harness/plans")).unwrap();
    for (tool, arguments) in [
        ("plan_write", json!({"content": "x"})),
        (
            "write",
            json!({"path": ".harness/plans/plan.md", "content": "x"}),
        ),
        (
            "write",
            json!({"path": outside.path().join("plan.md"), "content": "x"}),
        ),
    ] {
        let outcome = hands.call(tool, arguments).await;
        assert!(
            !matches!(outcome, ToolOutcome::Done(_)),
            "{tool}: {outcome:?}"
        );
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);

    let plan = PlanModeMiddleware::new().folder(outside.path());
    let hands = Hands::new(folder.path(), None, plan);
    hands.call("plan_enter", json!({})).await;
    hands.at(PlanState::Planning);
    assert!(outside.path().join("plan.md").exists());
}

/// An approved plan that is taken away, or broken, is no plan any more.
#[tokio::test]
async fn an_approved_plan_that_changes() {
    for (text, state) in [
        (None, PlanState::Off),
        (Some("# Mine\n"), PlanState::Off),
        (
            Some("---\nstatus: approved\n---\n\n- [x] one\n"),
            PlanState::Approved,
        ),
        (
            Some("---\nstatus: planning\n---\n\n# Again\n"),
            PlanState::Planning,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
        hands.call("plan_enter", json!({})).await;
        hands
            .call("plan_write", json!({"content": "# Plan\n"}))
            .await;
        hands.mode.approve().unwrap();
        match text {
            None => std::fs::remove_file(plan_md(&folder)).unwrap(),
            Some(text) => std::fs::write(plan_md(&folder), text).unwrap(),
        }
        let model = scripted([Reply::text("Done.")]);
        let agent = builder(&model, folder.path(), PlanModeMiddleware::new())
            .build()
            .unwrap();
        let mut session = agent.session().with_caller(hands.caller.clone());
        session.prompt("Go.").outcome().await.unwrap();
        hands.at(state);
        let system = model.requests()[0].system.clone().unwrap();
        assert_eq!(system.contains("is approved"), state == PlanState::Approved);
    }
}

/// Many calls at once, of one session, and of many: nothing is torn and nothing gets through.
#[tokio::test]
async fn many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let sessions: Vec<Hands> = (0..8)
        .map(|number| {
            let id = format!("s{number}");
            Hands::new(folder.path(), Some(&id), PlanModeMiddleware::new())
        })
        .collect();
    for hands in &sessions {
        hands.call("plan_enter", json!({})).await;
    }
    let calls = sessions.iter().enumerate().flat_map(|(number, hands)| {
        (0..12).map(move |turn| async move {
            let path = format!(".harness/plans/s{}.md", (number + turn % 2) % 8);
            let (tool, arguments) = match turn % 4 {
                0 | 1 => (
                    "write",
                    json!({"path": path, "content": format!("# {number}\n")}),
                ),
                2 => ("plan_write", json!({"content": format!("# {number}\n")})),
                _ => ("plan_exit", json!({"summary": "s"})),
            };
            (turn % 4 == 1, hands.call(tool, arguments).await)
        })
    });
    for (of_another, outcome) in futures::future::join_all(calls).await {
        assert_eq!(is_denied(&outcome), of_another, "{outcome:?}");
    }
    for (number, hands) in sessions.iter().enumerate() {
        assert!(hands.mode.state().is_read_only());
        let text = std::fs::read_to_string(hands.mode.path().unwrap()).unwrap();
        let state = hands.mode.state().word();
        let expected = format!("---\nstatus: {state}\nsession: s{number}\n---\n\n# {number}\n");
        assert_eq!(text, expected);
    }
}

/// Counts the looks at the plan file.
#[derive(Debug, Default)]
struct Counting {
    files: LocalFiles,
    looks: AtomicUsize,
    opened: AtomicUsize,
}

impl Files for Counting {
    fn resolve(&self, path: &Path) -> io::Result<Resolved> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.files.resolve(path)
    }

    fn open(&self, real: &Path) -> io::Result<OpenFile> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.files.open(real)
    }

    fn replace(&self, replacement: &Replacement<'_>) -> Result<FileInfo, ReplaceError> {
        self.files.replace(replacement)
    }

    fn list(&self, real: &Path, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) -> io::Result<()> {
        self.files.list(real, visit)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.read_link(path)
    }
}

#[tokio::test]
async fn one_look_a_turn() {
    for (state, looks) in [
        (PlanState::Off, 0),
        (PlanState::Planning, 11),
        (PlanState::Proposed, 11),
        (PlanState::Approved, 11),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files = Arc::new(Counting::default());
        let plan = PlanModeMiddleware::new().files(files.clone());
        let hands = Hands::new(folder.path(), None, plan.clone());
        if state != PlanState::Off {
            hands.call("plan_enter", json!({})).await;
            hands
                .call("plan_write", json!({"content": "# Plan\n"}))
                .await;
        }
        if state == PlanState::Proposed {
            hands.call("plan_exit", json!({"summary": "s"})).await;
        }
        if state == PlanState::Approved {
            hands.mode.approve().unwrap();
        }
        let turns = (1..10).map(|turn| Reply::call(&turn.to_string(), "ls", "{}"));
        let model = scripted(turns.chain([Reply::text("Done.")]));
        let agent = builder(&model, folder.path(), plan).build().unwrap();
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let before = (count(&files.looks), count(&files.opened));
        let mut session = agent.session().with_caller(hands.caller.clone());
        session.prompt("Go.").outcome().await.unwrap();
        hands.at(state);
        // Ten turns, and the end of the run.
        assert_eq!(count(&files.looks) - before.0, looks, "{state:?}");
        assert_eq!(count(&files.opened) - before.1, 0, "{state:?}");
    }
}

#[tokio::test]
async fn plans_that_are_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
    let file = plan_md(&folder);
    hands.call("plan_enter", json!({})).await;
    hands
        .call("plan_write", json!({"content": "# Plan\n"}))
        .await;
    let before = std::fs::read_to_string(&file).unwrap();
    let large = "---\nstatus: approved\n---\n".to_owned() + &"x".repeat(256 * 1024 - 40);
    let larger = "x".repeat(300 * 1024);
    let outcome = hands.call("plan_write", json!({"content": larger})).await;
    assert!(
        outcome.shown_text().contains("larger than 256 KiB"),
        "{outcome:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);

    let write = |content: &str| json!({"path": ".harness/plans/plan.md", "content": content});
    let outcome = hands.call("write", write(&large)).await;
    assert!(matches!(outcome, ToolOutcome::Done(_)), "{outcome:?}");
    hands.at(PlanState::Planning);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("---\nstatus: planning\n")
    );

    let outcome = hands.call("write", write(&larger)).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)), "{outcome:?}");
    hands.at(PlanState::Planning);
    assert!(matches!(
        hands.call("plan_exit", json!({"summary": "s"})).await,
        ToolOutcome::Failed(_)
    ));
    hands.mode.approve().unwrap_err();
    let outcome = hands
        .call("plan_write", json!({"content": "# Plan\n"}))
        .await;
    assert!(matches!(outcome, ToolOutcome::Done(_)), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

/// Somebody works on the same file while many calls run, on several threads.
#[test]
fn races_with_somebody_else() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    std::fs::write(&target, "keep").unwrap();
    let hands = Hands::new(folder.path(), None, PlanModeMiddleware::new());
    let run = |tool: &str, arguments: serde_json::Value| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(hands.call(tool, arguments))
    };
    run("plan_enter", json!({}));
    let file = plan_md(&folder);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..200 {
                match turn % 4 {
                    0 => drop(std::fs::write(&file, "---\nstatus: approved\n---\n\nx")),
                    2 => drop(symlink(&target, &file)),
                    _ => drop(std::fs::remove_file(&file)),
                }
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..40 {
                    run("plan_write", json!({"content": "# Plan\n"}));
                    run("plan_exit", json!({"summary": "s"}));
                    let outcome = run("write", json!({"path": "a", "content": "x"}));
                    assert!(is_denied(&outcome), "{outcome:?}");
                }
            });
        }
    });
    assert!(hands.mode.state().is_read_only());
    assert!(!folder.path().join("a").exists());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "keep");
}
