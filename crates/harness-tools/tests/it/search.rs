use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tools::test_support::MemoryFiles;
use harness_tools::{Entry, FileInfo, Files, OpenFile, ReplaceError, Replacement, Resolved};
use serde_json::json;

use crate::bed::Bed;

async fn found(bed: &Bed, pattern: &str) -> Vec<String> {
    let text = bed.done("find", json!({"pattern": pattern})).await;
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn find_02_patterns_that_look_like_options() {
    let bed = Bed::new();
    bed.put("f", "opts: --list -x1 ->\n");
    for pattern in ["--list", "-x1", "->"] {
        let text = bed.done("grep", json!({"pattern": pattern})).await;
        assert_eq!(text, "f:1: opts: --list -x1 ->");
    }
}

#[tokio::test]
async fn find_03_ignored_files_are_left_out_and_it_is_said() {
    let bed = Bed::new();
    bed.put(".gitignore", "dist/\nlogs/*\n");
    bed.put("dist/a.js", "MARK\n");
    bed.put("logs/a.log", "MARK\n");
    bed.put("src/a.js", "other\n");
    let text = bed.done("find", json!({"pattern": "dist/**"})).await;
    assert!(
        text.starts_with("No path matches.") && text.contains("`dist"),
        "{text}"
    );
    let text = bed.done("grep", json!({"pattern": "MARK"})).await;
    assert!(
        text.starts_with("No matches.") && text.contains("Ignored files were left out"),
        "{text}"
    );
    assert_eq!(
        bed.done("find", json!({"pattern": "*", "path": "dist"}))
            .await,
        "dist/a.js"
    );
    for (path, expected) in [
        ("dist", "dist/a.js:1: MARK"),
        ("dist/a.js", "dist/a.js:1: MARK"),
        ("logs/a.log", "logs/a.log:1: MARK"),
    ] {
        assert_eq!(
            bed.done("grep", json!({"pattern": "MARK", "path": path}))
                .await,
            expected
        );
    }
    assert_eq!(
        bed.done("grep", json!({"pattern": "MARK", "path": "logs"}))
            .await,
        "logs/a.log:1: MARK"
    );
    bed.put("src/own/.gitignore", "*.log\n");
    bed.put("src/own/b.log", "MARK\n");
    bed.put("src/own/b.js", "other\n");
    let text = bed
        .done("grep", json!({"pattern": "MARK", "path": "src"}))
        .await;
    assert!(text.contains("such as `src/own/b.log`"), "{text}");
    let text = bed
        .done("grep", json!({"pattern": "nowhere", "path": "dist"}))
        .await;
    assert_eq!(text, "No matches.");
}

#[tokio::test]
async fn find_04_hidden_files_are_found() {
    let bed = Bed::new();
    bed.put(".github/workflows/a.yml", "on: push\n");
    bed.put(".git/config", "on: never\n");
    assert_eq!(
        found(&bed, ".github/**/*.yml").await,
        [".github/workflows/a.yml"]
    );
    assert_eq!(
        bed.done("grep", json!({"pattern": "on:"})).await,
        ".github/workflows/a.yml:1: on: push"
    );
    assert_eq!(
        bed.done("grep", json!({"pattern": "on:", "path": ".git"}))
            .await,
        ".git/config:1: on: never"
    );
}

#[tokio::test]
async fn find_06_nested_ignore_files_hold_outside_a_repository() {
    let bed = Bed::new();
    bed.put("sub/.gitignore", "node_modules/\n");
    for n in 0..50 {
        bed.put(&format!("sub/node_modules/{n}/x.js"), "MARK\n");
    }
    bed.put("sub/x.js", "MARK\n");
    assert_eq!(found(&bed, "*.js").await, ["sub/x.js"]);
    assert_eq!(
        bed.done("grep", json!({"pattern": "MARK"})).await,
        "sub/x.js:1: MARK"
    );
}

#[tokio::test]
async fn find_07_globs_mean_what_they_usually_mean() {
    let bed = Bed::new();
    for name in ["t.x", "m/u.x", "m/n/v.x", "a/w.x", "b/y.x"] {
        bed.put(name, "");
    }
    let root = bed.workspace.root().to_string_lossy().into_owned();
    for (pattern, expected) in [
        ("*.x", &["a/w.x", "b/y.x", "m/n/v.x", "m/u.x", "t.x"][..]),
        ("**/*.x", &["a/w.x", "b/y.x", "m/n/v.x", "m/u.x", "t.x"]),
        ("m/**/*.x", &["m/n/v.x", "m/u.x"]),
        ("m/*", &["m/n/", "m/u.x"]),
        ("{a,b}/*.x", &["a/w.x", "b/y.x"]),
        ("./m/*.x", &["m/u.x"]),
        ("/t.x", &["t.x"]),
        ("m/", &["m/"]),
        ("n", &["m/n/"]),
        (&format!("{root}/m/*.x"), &["m/u.x"]),
        ("*.none", &["No path matches."]),
    ] {
        assert_eq!(found(&bed, pattern).await, expected, "{pattern}");
    }
    let below = bed
        .done("find", json!({"pattern": "n/*.x", "path": "m"}))
        .await;
    assert_eq!(below, "m/n/v.x");
    assert!(
        bed.failed("find", json!({"pattern": "a[", "path": "."}))
            .await
            .contains("invalid")
    );
}

#[tokio::test]
async fn find_10_symlink_cycles_are_safe() {
    let bed = Bed::new();
    bed.put("a/b/f.txt", "MARK\n");
    bed.link("..", "a/b/loop");
    assert_eq!(found(&bed, "**/*.txt").await, ["a/b/f.txt"]);
    assert_eq!(
        bed.done("grep", json!({"pattern": "MARK"})).await,
        "a/b/f.txt:1: MARK"
    );
    assert_eq!(
        bed.done("ls", json!({"path": "a/b"})).await,
        "f.txt\nloop@ -> ../"
    );
}

#[tokio::test]
async fn find_12_a_long_line_is_shown_around_its_match() {
    let bed = Bed::new();
    bed.put(
        "f",
        format!("{}NEEDLE{}\n", "x".repeat(2_500), "y".repeat(2_500)),
    );
    let text = bed.done("grep", json!({"pattern": "NEEDLE"})).await;
    assert!(
        text.starts_with("f:1: …x") && text.contains("xNEEDLEy"),
        "{text}"
    );
    assert!(text.contains("[line of 5006 characters]") && text.len() < 600);
}

#[tokio::test]
async fn find_13_bad_ignore_files_do_no_harm() {
    let bed = Bed::new();
    bed.put(".gitignore", b"\xe9t\xe9/\r\nout/\r\n");
    bed.put("out/a.txt", "MARK\n");
    bed.put("in/a.txt", "MARK\n");
    assert_eq!(found(&bed, "*.txt").await, ["in/a.txt"]);
    assert_eq!(
        bed.done("grep", json!({"pattern": "MARK"})).await,
        "in/a.txt:1: MARK"
    );
}

#[tokio::test]
async fn grep_parameters() {
    let bed = Bed::new();
    bed.put("a.rs", "one\nTwo\nthree\nfour\nfive\nsix two\n");
    bed.put("b.md", "a.b two\nacb\n");
    for (arguments, expected) in [
        (
            json!({"pattern": "two"}),
            "a.rs:6: six two\nb.md:1: a.b two",
        ),
        (
            json!({"pattern": "two", "ignore_case": true, "glob": "*.rs"}),
            "a.rs:2: Two\na.rs:6: six two",
        ),
        (json!({"pattern": "^Two$"}), "a.rs:2: Two"),
        (
            json!({"pattern": "a.b", "literal": true}),
            "b.md:1: a.b two",
        ),
        (json!({"pattern": "a.b"}), "b.md:1: a.b two\nb.md:2: acb"),
        (
            json!({"pattern": "Two", "context": 1}),
            "a.rs-1- one\na.rs:2: Two\na.rs-3- three",
        ),
        (
            json!({"pattern": "o$", "context": 1, "path": "a.rs"}),
            "a.rs-1- one\na.rs:2: Two\na.rs-3- three\n--\na.rs-5- five\na.rs:6: six two",
        ),
        (
            json!({"pattern": "two", "limit": 1}),
            "a.rs:6: six two\n[The first 1 matches are shown; there are more.]",
        ),
        (
            json!({"pattern": "one|six", "limit": 1, "context": 1, "path": "a.rs"}),
            "a.rs:1: one\na.rs-2- Two\n[The first 1 matches are shown; there are more.]",
        ),
        (
            json!({"pattern": "two", "limit": 2}),
            "a.rs:6: six two\nb.md:1: a.b two",
        ),
        (json!({"regex": "six", "-i": true}), "a.rs:6: six two"),
    ] {
        assert_eq!(
            bed.done("grep", arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
    let text = bed.failed("grep", json!({"pattern": "a("})).await;
    assert!(
        text.contains("`pattern` is invalid") && text.contains("literal"),
        "{text}"
    );
    assert!(
        bed.failed("grep", json!({"pattern": ""}))
            .await
            .contains("empty")
    );
    bed.put("crlf.txt", "end\r\n");
    assert_eq!(
        bed.done("grep", json!({"pattern": "end$"})).await,
        "crlf.txt:1: end"
    );
}

#[tokio::test]
async fn binary_files_are_left_out_with_a_word() {
    let bed = Bed::new();
    bed.put("bin", b"MARK\n\0\0\0MARK\n");
    bed.put("txt", "MARK\n");
    let text = bed.done("grep", json!({"pattern": "MARK"})).await;
    assert_eq!(text, "txt:1: MARK\n[1 binary file was left out.]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_results_are_the_same_each_time() {
    let bed = Bed::new();
    for n in 0..300 {
        bed.put(
            &format!("d{}/f{n:03}", n % 7),
            format!("MARK {n}\n").repeat(3),
        );
    }
    let first = bed.done("grep", json!({"pattern": "MARK"})).await;
    assert_eq!(first.lines().count(), 101);
    assert!(first.starts_with("d0/f000:1: MARK 0\n"), "{first}");
    let paths = bed
        .done("find", json!({"pattern": "f*", "limit": 20}))
        .await;
    assert_eq!(paths.lines().count(), 21);
    for _ in 0..10 {
        assert_eq!(bed.done("grep", json!({"pattern": "MARK"})).await, first);
        assert_eq!(
            bed.done("find", json!({"pattern": "f*", "limit": 20}))
                .await,
            paths
        );
    }
}

/// Each line is a text of its own, whatever the file's line endings are.
#[tokio::test]
async fn the_ends_of_a_text_are_those_of_a_line() {
    let bed = Bed::new();
    bed.put("f", "x\nneedle\nneedle y\nx needle\r\nneedle");
    for (pattern, expected) in [
        (r"needle\z", "f:2: needle\nf:4: x needle\nf:5: needle"),
        (r"\Aneedle", "f:2: needle\nf:3: needle y\nf:5: needle"),
        (r"\Aneedle\z", "f:2: needle\nf:5: needle"),
        ("(?-m)^needle$", "f:2: needle\nf:5: needle"),
        ("(?s-mU:^needle$)", "f:2: needle\nf:5: needle"),
        (r"(?x) ^ needle \z", "f:2: needle\nf:5: needle"),
        (r"\\A|\\z", "No matches."),
    ] {
        let text = bed.done("grep", json!({"pattern": pattern})).await;
        assert_eq!(text, expected, "{pattern}");
    }
}

/// What is behind the last match that is shown was looked at or not, as it came.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_left_out_is_told_the_same_each_time() {
    for (name, told) in [("a", "\n[Binary files were left out.]"), ("z", "")] {
        let bed = Bed::new();
        for n in 0..400 {
            bed.put(&format!("m/{n:03}"), "x\n");
            bed.put(&format!("{name}/{n:03}"), b"MARK\0");
        }
        bed.put("m/399", "MARK\n".repeat(3));
        let expected = format!(
            "m/399:1: MARK\nm/399:2: MARK\n[The first 2 matches are shown; there are more.]{told}"
        );
        for _ in 0..5 {
            let text = bed
                .done("grep", json!({"pattern": "MARK", "limit": 2}))
                .await;
            assert_eq!(text, expected);
        }
    }
}

/// A source of files with a folder that nobody may list.
#[derive(Debug)]
struct Closed(MemoryFiles);

impl Files for Closed {
    fn resolve(&self, path: &Path) -> io::Result<Resolved> {
        self.0.resolve(path)
    }

    fn open(&self, real: &Path) -> io::Result<OpenFile> {
        self.0.open(real)
    }

    fn replace(&self, replacement: &Replacement<'_>) -> Result<FileInfo, ReplaceError> {
        self.0.replace(replacement)
    }

    fn list(&self, real: &Path, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) -> io::Result<()> {
        if real.ends_with("closed") {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.0.list(real, visit)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.read_link(path)
    }
}

#[tokio::test]
async fn folders_that_cannot_be_read_are_told() {
    let bed = Bed::with(|workspace| {
        let files = MemoryFiles::new();
        files.put(workspace.root().join("closed/a"), "MARK\n");
        files.put(workspace.root().join("open/b"), "MARK\n");
        workspace.with_files(Arc::new(Closed(files)))
    });
    let told = "\n[1 folder could not be read.]";
    let text = bed.done("grep", json!({"pattern": "MARK"})).await;
    assert_eq!(text, format!("open/b:1: MARK{told}"));
    let text = bed.done("find", json!({"pattern": "*"})).await;
    assert_eq!(text, format!("closed/\nopen/\nopen/b{told}"));
    let text = bed
        .done("find", json!({"pattern": "*", "path": "closed"}))
        .await;
    assert_eq!(text, format!("No path matches.{told}"));
}

#[tokio::test]
async fn what_a_pattern_cannot_be() {
    let bed = Bed::new();
    bed.put("f", "a\nb\n");
    for literal in [false, true] {
        let text = bed
            .failed("grep", json!({"pattern": "a\nb", "literal": literal}))
            .await;
        assert!(text.contains("Lines are searched one by one"), "{text}");
    }
    let text = bed.failed("find", json!({"pattern": "../*"})).await;
    assert!(text.contains("Name the other folder in `path`"), "{text}");
}
