//! What the program says about itself.

use crate::program::Bed;

#[test]
fn the_version() {
    let bed = Bed::new();
    for flag in ["--version", "-V"] {
        let ended = bed.harness(&[flag]).end().exits(0);
        assert_eq!(ended.stderr, "");
        ended.answers(concat!("harness ", env!("CARGO_PKG_VERSION")));
    }
}

/// The options are a contract with scripts.
#[test]
fn the_help_of_each_command() {
    let bed = Bed::new();
    for command in [
        &[][..],
        &["run"],
        &["prompt"],
        &["prompt", "show"],
        &["tools"],
        &["tools", "list"],
        &["tools", "call"],
        &["skills"],
        &["skills", "list"],
        &["skills", "show"],
        &["skills", "validate"],
        &["skills", "new"],
        &["skills", "update"],
        &["agents"],
        &["agents", "list"],
        &["agents", "show"],
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["sessions", "tree"],
        &["sessions", "fork"],
        &["sessions", "label"],
        &["sessions", "name"],
        &["sessions", "export"],
        &["sessions", "repair"],
        &["sessions", "delete"],
        &["sessions", "search"],
        &["trace"],
        &["doctor"],
    ] {
        let ended = bed.harness(&[command, &["--help"]].concat()).end().exits(0);
        assert_eq!(ended.stderr, "");
        let name = [&["help"], command].concat().join("-");
        insta::assert_snapshot!(name, ended.stdout);
        let short = bed.harness(&[command, &["-h"]].concat()).end().exits(0);
        assert!(short.stdout.contains("Usage: harness"), "{short:#?}");
    }
}

/// Without a command there is nothing to do: what there is goes to standard error.
#[test]
fn no_command_is_wrong_usage() {
    let bed = Bed::new();
    for command in [
        &[][..],
        &["prompt"],
        &["tools"],
        &["skills"],
        &["agents"],
        &["sessions"],
    ] {
        let ended = bed.harness(command).end().exits(2);
        assert_eq!(ended.stdout, "", "{ended:#?}");
        assert!(ended.stderr.contains("Usage: harness"), "{ended:#?}");
    }
    bed.harness(&["rum"])
        .end()
        .exits(2)
        .says(&["'rum'", "'run'"]);
    bed.harness(&["--nope"])
        .end()
        .exits(2)
        .says(&["'--nope'", "--help"]);
}
