//! A glob of the shell is held to the rules by what it finds.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use harness_trust::{Atoms, Decisions, Layer, Rule, Rules, Surroundings, Verdict};

use Verdict::{Allow, Ask, Deny};

/// Decides about command lines in `ws`, a folder in an empty one, once it has been filled.
fn check(is_trusted: bool, fill: impl Fn(&Path), lines: &[(&str, Verdict)]) {
    let (_folder, surroundings) = stage(is_trusted, fill);
    for (line, expected) in lines {
        let decided = decide(line, &surroundings);
        assert_eq!(decided.verdict, *expected, "{line}: {:?}", decided.each);
    }
}

fn stage(is_trusted: bool, fill: impl Fn(&Path)) -> (tempfile::TempDir, Surroundings) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("ws");
    fs::create_dir(&root).unwrap();
    fill(&root);
    let surroundings = Surroundings::new(root).trusted(is_trusted);
    (folder, surroundings.sandboxed(is_trusted))
}

fn decide(line: &str, surroundings: &Surroundings) -> Decisions {
    let deny = ["read(private/**)", "read(geh-é)"];
    let rules = deny.iter().fold(Rules::new(), |rules, text| {
        rules.with(Layer::User, Rule::parse(Deny, text).unwrap())
    });
    let atoms = Atoms::of_command(line, surroundings.root(), surroundings);
    rules.decide_all(&atoms, surroundings)
}

/// What cannot be followed is not the same as what leads nowhere: for the command, it leads somewhere.
#[test]
fn a_link_that_nobody_can_follow_is_not_passed_over() {
    let fill = |root: &Path| {
        symlink("/proc/self/cwd/../notes", root.join("notes")).unwrap();
        symlink("/proc/self/cwd/../notes", root.join("migrations")).unwrap();
        symlink("missing", root.join("dangling")).unwrap();
    };
    check(
        false,
        fill,
        &[
            ("cat notes", Ask),
            ("cat n*", Ask),
            ("cat */x", Deny),
            ("ls n*", Ask),
            ("cat d*", Allow),
        ],
    );
    check(true, fill, &[("base64 n*", Deny), ("base64 d*", Allow)]);
}

/// Before its version 5.2, bash finds the folder above by `.*`.
#[test]
fn a_glob_can_find_the_folder_above() {
    let fill = |root: &Path| {
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("a.md"), "").unwrap();
        fs::write(root.join("../outside"), "").unwrap();
        fs::write(root.join("../.env"), "").unwrap();
    };
    check(
        false,
        fill,
        &[
            ("cat .*/outside", Ask),
            ("cat .?/outside", Ask),
            ("cat src/.?/.?/outside", Ask),
            ("ls .*", Ask),
            ("cat .?/a.md", Allow),
            ("cat src/.?/a.md", Allow),
            ("cat .x*/outside", Allow),
        ],
    );
    check(
        true,
        fill,
        &[("base64 .*/.en?", Ask), ("base64 .*/a.md", Allow)],
    );
}

/// A command that lists folders lists those that a glob finds.
#[test]
fn a_folder_that_a_glob_finds_is_listed() {
    let fill = |root: &Path| {
        for folder in ["private", "src/deep", ".aws"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("src/a"), "").unwrap();
    };
    check(
        false,
        fill,
        &[
            ("ls private", Deny),
            ("ls p*", Deny),
            ("find p* -type f", Deny),
            ("du -a *", Deny),
            ("ls .a*", Ask),
            ("ls s*", Allow),
            ("ls s*/*", Allow),
        ],
    );
}

/// In a locale without such characters, each of their bytes is one for the shell.
#[test]
fn a_name_is_held_to_the_rules_in_any_locale() {
    let fill = |root: &Path| fs::write(root.join("geh-é"), "").unwrap();
    check(
        false,
        fill,
        &[
            ("cat geh-?", Deny),
            ("cat geh-??", Deny),
            ("cat geh-???", Allow),
        ],
    );
}

/// Whatever lies in the workspace, a decision looks at so much of it, and names so many places.
#[test]
fn what_is_looked_at_is_bounded() {
    let (_folder, surroundings) = stage(true, |root| {
        fs::create_dir(root.join("links")).unwrap();
        fs::create_dir(root.join("keys")).unwrap();
        for number in 0..5000 {
            symlink(
                format!("../a{number}"),
                root.join(format!("links/{number}")),
            )
            .unwrap();
            fs::write(root.join(format!("a{number}")), "").unwrap();
            fs::write(root.join(format!("keys/{number}.pem")), "").unwrap();
        }
    });
    for (line, expected, atoms) in [
        ("cat links/*".to_owned(), Ask, 3),
        ("cat links/1?".to_owned(), Allow, 20),
        // Each of them looks at the folder again.
        ("cat a1* ".repeat(10), Allow, 3),
        (format!("cat {}", "a1* ".repeat(200)), Ask, 210),
        (format!("base64 {}", "k*/* ".repeat(200)), Ask, 3),
    ] {
        let decided = decide(&line, &surroundings);
        assert_eq!(decided.verdict, expected, "{line}");
        assert!(
            decided.each.len() <= atoms,
            "{line}: {}",
            decided.each.len()
        );
    }
}

/// Names of variables can be secret, and their values are.
#[test]
fn a_program_that_prints_the_environment_is_asked_about() {
    check(
        false,
        |_| {},
        &[
            ("awk 'BEGIN { print ENVIRON[\"X\"] }'", Ask),
            ("awk '{ print $1 }' a", Allow),
        ],
    );
}

/// It opens what has one name in both folders, and follows links to it.
#[test]
fn diff_reads_more_than_its_operands_where_they_are_folders() {
    let fill = |root: &Path| {
        for folder in ["one", "two", "private", "three"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        fs::write(root.join("../outside"), "").unwrap();
        fs::write(root.join("one/k"), "").unwrap();
        fs::write(root.join("one/plain"), "").unwrap();
        fs::write(root.join("two/plain"), "").unwrap();
        symlink("../../outside", root.join("two/k")).unwrap();
        fs::write(root.join("private/plan"), "").unwrap();
        symlink("../private/plan", root.join("three/plain")).unwrap();
        symlink("three", root.join("linked")).unwrap();
    };
    check(
        false,
        fill,
        &[
            ("diff one/k one/plain", Allow),
            ("diff one/k missing", Allow),
            ("diff one two", Ask),
            ("diff -q one two", Ask),
            ("diff -y one two", Ask),
            ("diff -N one missing", Ask),
            ("diff -N one/k missing", Allow),
            ("diff -N one/k two", Ask),
            ("diff one/k two", Ask),
            ("diff two one/k", Ask),
            ("diff one/plain two", Allow),
            ("diff ./one/plain two/", Allow),
            ("diff one/*", Ask),
            ("diff o* tw*", Ask),
            ("diff one/plain three", Deny),
            ("diff one/plain linked", Deny),
            ("diff one three", Deny),
            ("diff one linked", Deny),
            ("diff o* linked", Deny),
            ("diff three one", Deny),
        ],
    );
    check(
        true,
        fill,
        &[
            ("diff one two", Allow),
            ("diff one/k two", Ask),
            ("diff one/plain three", Deny),
            ("diff one three", Deny),
            ("diff -N three missing", Deny),
            ("diff -N private missing", Deny),
            ("diff -s one two", Allow),
            ("diff on* tw*", Allow),
            ("diff on* th*", Deny),
        ],
    );
}
