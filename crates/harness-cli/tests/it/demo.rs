//! The demonstration: real work, offline, on a copy that goes away.

use std::path::{Path, PathBuf};

use crate::program::{Bed, Start};

/// A run of it with the toolchain that these tests are built with, which needs no home.
fn demo(bed: &Bed, arguments: &[&str]) -> Start {
    let toolchain = Path::new(env!("CARGO")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(toolchain).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).unwrap();
    // Cargo keeps notes of its own at home.
    let cargo_home = bed.root().join("cargo");
    bed.run(&[&["-m", "demo"], arguments].concat())
        .env("PATH", path)
        .env("CARGO_HOME", cargo_home)
}

/// What is there, but for what cargo keeps.
fn files(bed: &Bed) -> Vec<PathBuf> {
    let mut files = bed.files();
    files.retain(|path| !path.starts_with("cargo"));
    files
}

#[test]
fn it_mends_the_project_and_leaves_nothing_behind() {
    let bed = Bed::new();
    let before = files(&bed);
    let ended = demo(&bed, &["hi"]).current_dir("/").end().exits(0);
    let answer = &ended.stdout;
    for line in [
        "-    if !(1..MAX).contains(&number) {",
        "+    if !(1..=MAX).contains(&number) {",
    ] {
        assert!(
            answer.lines().any(|it| it == line),
            "{line:?} is not in {answer}"
        );
    }
    assert!(
        answer.starts_with("The failing test passes now"),
        "{answer}"
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert_eq!(files(&bed), before);
    ended.notes("this is the built-in demonstration");
}

#[test]
fn in_json_it_is_a_run_like_any() {
    let bed = Bed::new();
    // A list of tools in the configuration is for real work, not for the demonstration.
    bed.config("tools = [\"ls\"]\n");
    let before = files(&bed);
    let ended = demo(&bed, &["--output", "json", "hi"]).end().exits(0);
    let end = ended.run_end();
    assert_eq!(end["outcome"], "finished");
    assert!(
        end["answer"]
            .as_str()
            .unwrap()
            .contains("+    if !(1..=MAX)"),
        "{end}"
    );
    assert_eq!(files(&bed), before);
}

/// Limits hold here as well, and what was copied goes in any case.
#[test]
fn a_limit_ends_it_like_any_run() {
    let bed = Bed::new();
    let before = files(&bed);
    demo(&bed, &["--max-turns", "2", "hi"])
        .end()
        .exits(3)
        .says(&["limit of 2 turns"]);
    assert_eq!(files(&bed), before);
}
