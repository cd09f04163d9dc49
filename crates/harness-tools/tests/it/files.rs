//! The same calls on this machine's files and on files in memory: the tools reach files through the
//! trait alone, and both implementations mean the same by it.

use std::sync::{Arc, Mutex};

use harness_tools::test_support::MemoryFiles;
use harness_tools::{
    Access, Files, FindArgs, GrepArgs, LocalFiles, Next, ReplaceError, Replacement, Stop, Walk,
    Workspace,
};
use serde_json::{Value, json};

use crate::bed::Bed;

/// The files that both begin with.
const TREE: &[(&str, &str)] = &[
    ("a.txt", "one\ntwo\nthree\n"),
    ("crlf.txt", "one\r\ntwo\r\n"),
    ("src/lib.rs", "fn main() {}\n// MARK\n"),
    ("src/deep/er/b.rs", "// MARK\n"),
    ("src/.hidden", "MARK\n"),
    (".gitignore", "dist/\n*.log\n!keep.log\n"),
    ("dist/out.js", "MARK\n"),
    ("x.log", "MARK\n"),
    ("keep.log", "MARK\n"),
    ("src/.gitignore", "/deep/er\n"),
    (".git/config", "MARK\n"),
    ("empty", ""),
];

const LINKS: &[(&str, &str)] = &[
    ("a.txt", "link"),
    ("src", "folder-link"),
    ("loop", "loop"),
    ("../outside", "out"),
    ("nowhere", "dangling"),
];

fn beds() -> (Bed, Bed, MemoryFiles) {
    let confined = |workspace: Workspace| workspace.with_write_access(Access::WorkspaceOnly);
    let local = Bed::with(confined);
    let files = MemoryFiles::new();
    let memory = Bed::with(|workspace| confined(workspace).with_files(Arc::new(files.clone())));
    for (path, content) in TREE {
        local.put(path, content);
        files.put(memory.path(path), content);
    }
    for (target, path) in LINKS {
        local.link(target, path);
        files.link(*target, memory.path(path));
    }
    (local, memory, files)
}

#[tokio::test]
async fn files_in_memory_are_worked_on_like_files_on_disk() {
    let (local, memory, files) = beds();
    let calls: Vec<(&str, Value)> = vec![
        ("read", json!({"path": "a.txt", "offset": 2, "limit": 1})),
        ("read", json!({"path": "link"})),
        ("read", json!({"path": "folder-link/lib.rs"})),
        ("read", json!({"path": "loop"})),
        ("read", json!({"path": "dangling"})),
        ("read", json!({"path": "src"})),
        ("read", json!({"path": "a.txt/x"})),
        ("read", json!({"path": "empty"})),
        ("read", json!({"path": "a.tx"})),
        ("ls", json!({})),
        ("ls", json!({"path": "src", "limit": 2})),
        ("ls", json!({"path": "a.txt"})),
        ("find", json!({"pattern": "**/*.rs"})),
        ("find", json!({"pattern": "*"})),
        ("find", json!({"pattern": "*.js"})),
        ("find", json!({"pattern": "*", "path": "dist"})),
        ("grep", json!({"pattern": "MARK"})),
        (
            "grep",
            json!({"pattern": "MARK", "path": "src", "glob": "*.rs"}),
        ),
        ("grep", json!({"pattern": "MARK", "path": "src/deep/er"})),
        (
            "grep",
            json!({"pattern": "t", "path": "a.txt", "context": 1}),
        ),
        ("grep", json!({"pattern": "MARK", "path": "folder-link"})),
        (
            "write",
            json!({"path": "new/er/f.txt", "content": "hello\n"}),
        ),
        ("write", json!({"path": "crlf.txt", "content": "x\ny\n"})),
        (
            "write",
            json!({"path": "link", "content": "through the link\n"}),
        ),
        ("write", json!({"path": "dangling", "content": "made\n"})),
        ("write", json!({"path": "out", "content": "no\n"})),
        ("write", json!({"path": "a.txt/x", "content": "no\n"})),
        ("write", json!({"path": "src", "content": "no\n"})),
        (
            "edit",
            json!({"path": "crlf.txt", "old_text": "x\ny", "new_text": "x\nz"}),
        ),
        (
            "edit",
            json!({"path": "src/lib.rs", "old_text": "none", "new_text": "z"}),
        ),
        (
            "edit",
            json!({"path": "folder-link/lib.rs", "old_text": "main", "new_text": "start"}),
        ),
        ("read", json!({"path": "a.txt"})),
        ("read", json!({"path": "crlf.txt"})),
        ("find", json!({"pattern": "new/**"})),
    ];
    for (tool, arguments) in calls {
        let here = local.call(tool, arguments.clone()).await;
        let there = memory.call(tool, arguments.clone()).await;
        assert_eq!(
            (here.is_error(), here.shown_text()),
            (there.is_error(), there.shown_text()),
            "{tool} {arguments}"
        );
    }
    for path in files.paths() {
        let below = path.strip_prefix(memory.path("")).expect("inside");
        let here = std::fs::read(local.path("").join(below)).expect("read");
        assert_eq!(Some(here), files.content(&path), "{}", below.display());
    }
    let outside = memory.workspace.root().with_file_name("outside");
    assert_eq!(files.content(&outside), None);
    assert!(!memory.path("").join("new").exists(), "nothing is on disk");
}

/// Another machine's files: only what must be there, so that the default walk is used.
#[test]
fn a_walk_stops_at_its_bound_and_when_it_is_told_to() {
    let (local, memory, _) = beds();
    for bed in [&local, &memory] {
        let files: &dyn Files = bed.workspace.files();
        let folder = files.resolve(bed.workspace.root()).expect("there").real;
        let stop = Stop::default();
        let walk = Walk {
            folder: &folder,
            ignore_files: false,
            sorted: false,
            max_entries: 3,
            stop: &stop,
        };
        let end = files.walk(&walk, &|_| Next::Continue);
        assert_eq!((end.visited, end.bounded), (3, true));
        let sorted = Walk {
            sorted: true,
            max_entries: 1_000,
            ..walk
        };
        let paths = Mutex::new(Vec::new());
        let end = files.walk(&sorted, &|entry| {
            let mut paths = paths.lock().expect("no panic");
            paths.push(entry.path.to_owned());
            match (paths.len(), entry.path.ends_with("dist")) {
                (10, _) => Next::Stop,
                (_, true) => Next::Skip,
                _ => Next::Continue,
            }
        });
        let paths = paths.into_inner().expect("no panic");
        assert!(paths.is_sorted(), "{paths:?}");
        assert!(!paths.iter().any(|path| path.ends_with("dist/out.js")));
        assert_eq!((end.visited, end.bounded, paths.len()), (10, false, 10));
        stop.stop();
        let end = files.walk(&walk, &|_| Next::Continue);
        assert_eq!((end.visited, end.bounded), (0, false));
        let found = harness_tools::find_paths(
            &bed.workspace,
            &FindArgs {
                pattern: "*".to_owned(),
                ..FindArgs::default()
            },
            &stop,
        );
        assert!(matches!(found, Err(harness_tools::Error::Stopped)));
        let found = harness_tools::search_files(
            &bed.workspace,
            &GrepArgs {
                pattern: "x".to_owned(),
                ..GrepArgs::default()
            },
            &stop,
        );
        assert!(matches!(found, Err(harness_tools::Error::Stopped)));
    }
}

/// Who replaces a file holds it meanwhile, so that another process cannot come in between the last look
/// and the last step.
#[test]
fn edit_23_processes_take_turns_too() {
    let bed = Bed::new();
    let (real, other) = (bed.put("f", "old"), bed.put("other", "new"));
    let real = real.canonicalize().expect("there");
    let files = LocalFiles::new();
    let expected = files.resolve(&real).expect("there").info;
    let held = std::fs::File::open(&real).expect("open");
    held.lock().expect("held");
    let replaced = std::thread::scope(|scope| {
        let replaced = scope.spawn(|| {
            files.replace(&Replacement {
                real: &real,
                content: &[b"lost"],
                expected: expected.map(|info| info.version),
                stop: &Stop::default(),
            })
        });
        std::fs::rename(&other, &real).expect("renamed");
        drop(held);
        replaced.join().expect("no panic")
    });
    assert!(
        matches!(replaced, Err(ReplaceError::Changed)),
        "{replaced:?}"
    );
    assert_eq!(bed.text("f"), "new");
}
