//! Rows I: what a second look sees.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use harness_skills::{Layer, RefreshOptions, Skills, Status};

use crate::tree::{Tree, agrees, codes, discover, instructions, settled, text};

/// Good and bad ones, of which none is to be read again.
fn some_of_all(tree: &Tree) {
    tree.skill("skills/a");
    tree.named("skills/b", "a");
    tree.write("skills/invalid/SKILL.md", "---\nname: x\n");
    tree.write("skills/empty/SKILL.md", "");
    tree.write("skills/flat.md", "# Flat");
    tree.link("nowhere", "skills/broken");
    tree.link("/dev/null", "skills/device/SKILL.md");
    tree.folder("skills/two");
    tree.link("/dev/zero", "skills/two/SKILL.md");
    tree.write("skills/two/skill.md", text("two", "Body."));
    let pipe = tree.folder("skills/pipe").join("SKILL.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
}

#[test]
fn i01_nothing_changed() {
    let tree = Tree::new();
    some_of_all(&tree);
    let skills = tree.skills();
    let first = skills.catalogue();
    let second = settled(&skills);
    assert!(Arc::ptr_eq(&first, &second));

    let changes = skills.refresh();
    assert!(changes.is_empty());
    assert_eq!((changes.unchanged, changes.files_read), (1, 0));
    assert!(Arc::ptr_eq(&first, &skills.catalogue()));
}

#[test]
fn i01_a_change_reads_what_changed_and_nothing_else() {
    let tree = Tree::new();
    some_of_all(&tree);
    let skills = tree.skills();
    let before = settled(&skills);
    tree.skill("skills/new");
    let changes = skills.refresh();
    assert_eq!(changes.files_read, 1);
    assert_eq!(changes.added, ["new"]);
    assert_eq!(changes.unchanged, 1);
    // The skills that were there are the very same values.
    let after = skills.catalogue();
    assert!(Arc::ptr_eq(
        before.find("a").unwrap(),
        after.find("a").unwrap()
    ));
    agrees(&skills);
}

#[test]
fn each_kind_of_change_is_seen() {
    let tree = Tree::new();
    tree.skill("skills/edited");
    tree.skill("skills/removed");
    tree.skill("skills/renamed");
    tree.skill("skills/g/moved");
    tree.skill("elsewhere/target");
    tree.link("../elsewhere/target", "skills/link");
    let skills = tree.skills();
    settled(&skills);

    tree.write("skills/edited/SKILL.md", text("edited", "Other."));
    assert_eq!(skills.refresh().changed, ["edited"]);
    fs::remove_file(tree.path("skills/removed/SKILL.md")).unwrap();
    assert_eq!(skills.refresh().removed, ["removed"]);
    fs::rename(tree.path("skills/renamed"), tree.path("skills/other")).unwrap();
    assert_eq!(skills.refresh().changed, ["renamed"]);
    fs::rename(tree.path("skills/g/moved"), tree.path("moved")).unwrap();
    assert_eq!(skills.refresh().removed, ["moved"]);
    fs::rename(tree.path("moved"), tree.path("skills/g/moved")).unwrap();
    assert_eq!(skills.refresh().added, ["moved"]);
    fs::remove_file(tree.path("skills/link")).unwrap();
    assert_eq!(skills.refresh().removed, ["target"]);
    tree.skill("skills/g/deep/new");
    assert_eq!(skills.refresh().added, ["new"]);
    agrees(&skills);
}

#[test]
fn a_root_that_comes_and_goes() {
    let tree = Tree::new();
    let skills = tree.skills();
    settled(&skills);
    tree.skill("skills/a");
    assert_eq!(skills.refresh().added, ["a"]);
    settled(&skills);
    fs::rename(tree.path("skills"), tree.path("away")).unwrap();
    assert_eq!(skills.refresh().removed, ["a"]);
    assert_eq!(skills.catalogue().entries().len(), 0);
}

/// Size and time are as they were, and so is the number of the file: only its content tells, and the time of
/// the change, which nobody can set.
#[test]
fn i03_same_size_and_same_time() {
    let tree = Tree::new();
    let file = tree.write("skills/a/SKILL.md", text("a", "One."));
    crate::tree::old(&file);
    let skills = tree.skills();
    settled(&skills);
    tree.write("skills/a/SKILL.md", text("a", "Two."));
    crate::tree::old(&file);
    let changes = skills.refresh_with(RefreshOptions::default().verify_content());
    assert_eq!(changes.changed, ["a"]);
    assert_eq!(changes.files_read, 1);
    assert_eq!(instructions(&skills, "a"), "Two.");

    // What was written just now is read again without being asked to.
    for round in 0..20 {
        tree.write("skills/a/SKILL.md", text("a", &format!("{round:04}")));
        crate::tree::old(&file);
        assert_eq!(skills.refresh().changed, ["a"], "round {round}");
    }
}

#[test]
fn i03_verifying_reads_all_and_changes_nothing() {
    let tree = Tree::new();
    some_of_all(&tree);
    let skills = tree.skills();
    let before = settled(&skills);
    let changes = skills.refresh_with(RefreshOptions::default().verify_content());
    assert!(changes.is_empty());
    assert!(changes.files_read >= 4);
    assert!(Arc::ptr_eq(&before, &skills.catalogue()));
}

#[test]
fn i04_the_winner_goes() {
    let tree = Tree::new();
    tree.skill("project/x");
    tree.skill("user/x");
    let skills = discover(&[
        tree.root(Layer::Project, "project"),
        tree.root(Layer::User, "user"),
    ]);
    settled(&skills);
    fs::remove_dir_all(tree.path("project/x")).unwrap();
    let changes = skills.refresh();
    assert_eq!(changes.changed, ["x"]);
    assert!(changes.removed.is_empty() && changes.added.is_empty());
    assert_eq!(changes.files_read, 0);
    assert_eq!(instructions(&skills, "x"), "Canary of user/x.");
    agrees(&skills);
}

#[test]
fn i05_a_file_becomes_invalid() {
    let tree = Tree::new();
    tree.skill("skills/a");
    tree.skill("skills/b");
    let skills = tree.skills();
    settled(&skills);
    tree.write("skills/a/SKILL.md", "---\nname: a\n---\nNo description.\n");
    let changes = skills.refresh();
    assert_eq!(changes.removed, ["a"]);
    assert_eq!(changes.unchanged, 1);
    let entry = tree.entry(&skills, "skills/a");
    assert_eq!(entry.status, Status::Invalid);
    assert_eq!(codes(&entry.diagnostics), ["E-DESC-MISSING"]);
    assert_eq!(instructions(&skills, "b"), "Canary of skills/b.");
    agrees(&skills);

    tree.skill("skills/a");
    assert_eq!(skills.refresh().added, ["a"]);
}

#[test]
fn i06_a_half_written_file() {
    let tree = Tree::new();
    tree.skill("skills/a");
    let keep = RefreshOptions::default().keep_last_good();
    let half = "---\nname: a\ndescr";

    let skills = tree.skills();
    settled(&skills);
    let before = skills.catalogue();
    tree.write("skills/a/SKILL.md", half);
    let changes = skills.refresh_with(keep);
    assert!(changes.is_empty(), "{changes:?}");
    assert!(Arc::ptr_eq(
        skills.catalogue().find("a").unwrap(),
        before.find("a").unwrap()
    ));
    // Once, and then it is an error.
    assert_eq!(skills.refresh_with(keep).removed, ["a"]);
    assert_eq!(
        codes(&tree.entry(&skills, "skills/a").diagnostics),
        ["E-UNCLOSED"]
    );

    // Written to its end in the meantime, it is a change like any other.
    tree.skill("skills/a");
    settled(&skills);
    tree.write("skills/a/SKILL.md", half);
    assert!(skills.refresh_with(keep).is_empty());
    tree.write("skills/a/SKILL.md", text("a", "Whole."));
    assert_eq!(skills.refresh_with(keep).changed, ["a"]);

    // Who does not ask for it has the error at once.
    tree.write("skills/a/SKILL.md", half);
    assert_eq!(skills.refresh().removed, ["a"]);
}

/// Also where there is nothing to say of the file but that it cannot be read.
#[test]
fn i06_what_cannot_be_read_is_kept_once() {
    let tree = Tree::new();
    let file = tree.skill("skills/a");
    let keep = RefreshOptions::default().keep_last_good();
    let skills = tree.skills();
    settled(&skills);
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o600.into()).unwrap();
    assert!(skills.refresh_with(keep).is_empty());
    assert_eq!(skills.refresh_with(keep).removed, ["a"]);
    assert_eq!(
        codes(&tree.entry(&skills, "skills/a").diagnostics),
        ["E-NOT-REGULAR"]
    );
}

/// Two states of a tree, one after the other; a reader sees one of them, whole.
#[test]
fn i08_a_reader_has_a_whole_catalogue() {
    let tree = Tree::new();
    tree.skill("skills/even-a");
    tree.skill("skills/even-b");
    let skills = tree.skills();
    let is_done = AtomicBool::new(false);
    let held = skills.catalogue();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| read_until(&skills, &is_done)))
            .collect();
        for round in 0..30 {
            let (old, new) = if round % 2 == 0 {
                ("even", "odd")
            } else {
                ("odd", "even")
            };
            // Both folders change between two refreshes.
            let roots = tree.path("skills");
            for name in ["a", "b"] {
                let from = roots.join(format!("{old}-{name}"));
                fs::rename(from, roots.join(format!("{new}-{name}"))).unwrap();
                tree.skill(format!("skills/{new}-{name}"));
            }
            skills.refresh();
        }
        is_done.store(true, Ordering::Release);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    // Who has one keeps it.
    let names: Vec<String> = held.active().map(|skill| skill.name()).collect();
    assert_eq!(names, ["even-a", "even-b"]);
    agrees(&skills);
}

fn read_until(skills: &Skills, is_done: &AtomicBool) {
    while !is_done.load(Ordering::Acquire) {
        let catalogue = skills.catalogue();
        let names: Vec<String> = catalogue.active().map(|skill| skill.name()).collect();
        let is_whole = names == ["even-a", "even-b"] || names == ["odd-a", "odd-b"];
        assert!(is_whole, "{names:?}");
    }
}

/// Nothing in the folder of the link changes by that.
#[test]
fn a_file_behind_a_link_becomes_a_folder() {
    let tree = Tree::new();
    let target = tree.write("elsewhere/a", "A file.");
    tree.link("../elsewhere/a", "skills/a");
    let inner = tree.folder("elsewhere/b");
    tree.link(&inner, "skills/b/SKILL.md");
    let skills = tree.skills();
    settled(&skills);
    fs::remove_file(&target).unwrap();
    tree.skill("elsewhere/a");
    assert_eq!(skills.refresh().added, ["a"]);
    fs::remove_dir(&inner).unwrap();
    fs::write(&inner, text("b", "Body.")).unwrap();
    assert_eq!(skills.refresh().added, ["b"]);
    agrees(&skills);
}

/// The time of its content is whatever somebody sets it to.
#[test]
fn a_file_of_the_future_is_read_once() {
    let tree = Tree::new();
    let path = tree.skill("skills/a");
    let file = fs::File::open(&path).unwrap();
    let future = SystemTime::now() + Duration::from_secs(1_000_000);
    file.set_modified(future).unwrap();
    let skills = tree.skills();
    settled(&skills);
    assert_eq!(skills.refresh().files_read, 0);
}
