//! The corpora of the fuzz targets, replayed: seeds, and what the fuzzers once found.

use std::path::Path;

use harness_tools::test_support::{
    check_decode, check_edit, check_glob, check_paging, check_path, check_terminal,
};

/// Runs every input of a target.
#[track_caller]
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut inputs: Vec<_> = std::fs::read_dir(folder.join(target))
        .expect("the target has a corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "the corpus of {target} is empty");
    for input in inputs {
        let bytes = std::fs::read(&input).expect("an input");
        let held = std::panic::catch_unwind(|| check(&bytes)).is_ok();
        assert!(held, "broken by {}", input.display());
    }
}

#[test]
fn decode() {
    replay("decode", check_decode);
}

#[test]
fn edit() {
    replay("edit", check_edit);
}

#[test]
fn glob() {
    replay("glob", check_glob);
}

#[test]
fn paging() {
    replay("paging", check_paging);
}

#[test]
fn path() {
    replay("path", check_path);
}

#[test]
fn terminal() {
    replay("terminal", check_terminal);
}

/// A target of this crate that is not replayed here would be forgotten.
#[test]
fn every_target_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let mut targets: Vec<String> = std::fs::read_dir(folder)
        .expect("the targets")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let shell = std::fs::read_to_string(path).expect("a target");
            shell.contains("harness_tools::")
        })
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into())
        .collect();
    targets.sort();
    let replayed = ["decode", "edit", "glob", "paging", "path", "terminal"];
    assert_eq!(targets, replayed);
}
