//! Where skills are fetched from: folders, and repositories of a real git.

use std::fs::{self, File};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use harness_skills::{FolderSource, GitSource, Root, SkillSource, SourceError};
use tempfile::TempDir;

use crate::git_world::{World, names, skill, updated};
use crate::tree::{codes, discover, settled};

#[test]
fn a_plain_folder_is_what_it_is() {
    let dir = TempDir::new().unwrap();
    let source = FolderSource::new(dir.path().join("skills"));
    assert_eq!(source.cached().unwrap(), None);
    assert!(matches!(source.update(), Err(SourceError::NoFolder { .. })));
    fs::create_dir(source.folder()).unwrap();
    let update = source.update().unwrap();
    assert_eq!(update.checkout.folder, source.folder());
    assert_eq!((update.changed, &update.checkout.revision), (false, &None));
    assert_eq!(source.cached().unwrap(), Some(update.checkout));
    assert_eq!(
        source.origin(),
        format!("folder {}", source.folder().display())
    );

    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let source = FolderSource::new(file);
    assert!(matches!(source.cached(), Err(SourceError::NoFolder { .. })));
    let sources: [Box<dyn SkillSource>; 2] = [Box::new(source), Box::new(World::new().source())];
    assert_eq!(sources.len(), 2);
}

#[test]
fn fetches_what_is_newest() {
    let world = World::new();
    let source = world.source();
    assert_eq!(source.cached().unwrap(), None);
    assert!(!world.cache().exists(), "looking writes nothing");
    assert_eq!(source.origin(), format!("git {} at HEAD", world.url()));

    let first = updated(&source, true, "one");
    let head = world.head();
    assert_eq!(first.checkout.revision.as_deref(), Some(head.as_str()));
    assert_eq!(
        names(first.checkout.folder.parent().unwrap()),
        ["skills"],
        "no .git"
    );
    assert_eq!(
        source.origin(),
        format!("git {} at HEAD ({})", world.url(), &head[..7])
    );
    updated(&source, false, "one");

    world.commit("skills/a/SKILL.md", "two");
    assert_eq!(
        source.cached().unwrap(),
        Some(first.checkout.clone()),
        "looking fetches nothing"
    );
    updated(&source, true, "two");
    assert_eq!(skill(&first.checkout), "one", "whoever reads it reads on");
    updated(&source, false, "two");
    world.nothing_is_left_behind();
}

#[test]
fn a_path_is_an_address() {
    let world = World::new();
    let path = world.remote();
    let source = GitSource::new(path.to_str().unwrap(), world.cache()).unwrap();
    updated(&source, true, "one");
}

#[test]
fn branches_tags_and_commits() {
    let world = World::new();
    let one = world.head();
    world.git(&["tag", "-a", "-m", "annotated", "v1"]);
    let two = world.commit("skills/a/SKILL.md", "two");
    world.git(&["branch", "other"]);
    world.git(&["branch", "both"]);
    world.git(&["tag", "both", &one]);
    world.commit("skills/a/SKILL.md", "three");

    let at = |name: &str| world.source().at(name).unwrap();
    for (name, text, revision) in [
        ("main", "three", world.head()),
        ("other", "two", two.clone()),
        ("v1", "one", one.clone()),
        ("both", "one", one.clone()),
        ("refs/heads/both", "two", two.clone()),
    ] {
        let update = updated(&at(name), true, text);
        assert_eq!(update.checkout.revision, Some(revision.clone()), "{name}");
        assert!(
            at(name)
                .origin()
                .ends_with(&format!(" at {name} ({})", &revision[..7]))
        );
    }
    // One that is not at the end of any branch, in capitals; and as a reference.
    world.git(&["branch", "-D", "other"]);
    world.git(&["branch", "-D", "both"]);
    for pinned in [world.source().pinned(two.to_uppercase()).unwrap(), at(&two)] {
        assert!(pinned.origin().ends_with(&format!(" at {}", &two[..7])));
        let update = updated(&pinned, false, "two");
        assert_eq!(update.checkout.revision, Some(two.clone()));
    }
    let missing = at("nowhere").update().unwrap_err();
    assert!(
        matches!(&missing, SourceError::Git { step: "fetch", .. }),
        "{missing}"
    );
    assert!(
        !missing.is_retryable() && missing.to_string().contains("nowhere"),
        "{missing}"
    );
    assert_eq!(at("nowhere").cached().unwrap(), None);
}

#[test]
fn a_pinned_commit_is_fetched_once() {
    let world = World::new();
    let one = world.head();
    world.commit("skills/a/SKILL.md", "two");
    let source = world.source().pinned(&one).unwrap();
    assert_eq!(source.cached().unwrap(), None);
    updated(&source, true, "one");

    let no_git = source.clone().program("/nowhere/git");
    updated(&no_git, false, "one");
    fs::remove_dir_all(world.remote()).unwrap();
    updated(&source, false, "one");

    let error = world.source().program("/nowhere/git").update().unwrap_err();
    assert!(matches!(error, SourceError::Program { .. }), "{error}");
}

#[test]
fn a_server_may_refuse_single_commits() {
    let world = World::new();
    let one = world.head();
    world.commit("skills/a/SKILL.md", "two");
    // Version 0 of the protocol gives only what references stand for.
    let old = world.program("old-git", "exec git -c protocol.version=0 \"$@\"");
    let source = || world.source().program(&old);
    // The bare repository that this leaves has no history.
    updated(&source(), true, "two");
    updated(&source().pinned(&one).unwrap(), true, "one");
    let none = source()
        .pinned("0".repeat(40))
        .unwrap()
        .update()
        .unwrap_err();
    assert!(none.to_string().contains("it has no 000"), "{none}");
}

#[test]
fn without_the_remote_the_cache_is_used() {
    let world = World::new();
    let source = world.source();
    let first = updated(&source, true, "one");
    fs::rename(world.remote(), world.path("away")).unwrap();
    for _ in 0..2 {
        let error = source.update().unwrap_err();
        assert!(
            matches!(&error, SourceError::Git { step: "fetch", .. }),
            "{error}"
        );
        assert_eq!(source.cached().unwrap(), Some(first.checkout.clone()));
    }
    assert_eq!(skill(&first.checkout), "one");
    world.nothing_is_left_behind();
    fs::rename(world.path("away"), world.remote()).unwrap();
    world.commit("skills/a/SKILL.md", "two");
    updated(&source, true, "two");
}

#[test]
fn a_cache_that_was_damaged_is_mended() {
    let world = World::new();
    let source = world.source();
    let first = updated(&source, true, "one");
    let folder = world.of_url();
    fs::remove_dir_all(folder.join("repository/objects")).unwrap();
    world.commit("skills/a/SKILL.md", "two");
    source.update().unwrap_err();
    assert_eq!(source.cached().unwrap(), Some(first.checkout));
    updated(&source, true, "two");

    fs::remove_dir_all(folder.join("checkouts").join(world.head())).unwrap();
    assert_eq!(source.cached().unwrap(), None);
    updated(&source, true, "two");

    for record in names(&folder.join("references")) {
        fs::write(folder.join("references").join(record), "revision ../../x\n").unwrap();
    }
    assert_eq!(source.cached().unwrap(), None);
    updated(&source, true, "two");
    // Of a process that was killed.
    fs::create_dir_all(folder.join("temporary/1-0/x")).unwrap();
    updated(&source, false, "two");
    world.nothing_is_left_behind();
}

#[test]
fn old_checkouts_go_unless_somebody_needs_them() {
    let world = World::new();
    let one = world.head();
    world.git(&["tag", "v1"]);
    let source = world.source();
    let tag = world.source().at("v1").unwrap();
    updated(&source, true, "one");
    updated(&tag, true, "one");
    let two = world.commit("skills/a/SKILL.md", "two");
    updated(&source, true, "two");
    // Here because of the branch; from now on also because of the pin.
    let pinned = world.source().pinned(&two).unwrap();
    updated(&pinned, false, "two");

    let mut last = Vec::new();
    for number in 3..7 {
        last.push(world.commit("skills/a/SKILL.md", &number.to_string()));
        updated(&source, true, &number.to_string());
    }
    let mut expected = vec![one, two];
    expected.extend(last.split_off(2));
    expected.sort();
    assert_eq!(world.checkouts(), expected);
    assert_eq!(skill(&tag.cached().unwrap().unwrap()), "one");
    assert_eq!(skill(&pinned.cached().unwrap().unwrap()), "two");
}

#[test]
fn the_folder_of_the_skills() {
    let world = World::new();
    let elsewhere = || world.source().skills_folder("more/./skills").unwrap();
    let first = elsewhere().update().unwrap_err();
    assert!(
        matches!(&first, SourceError::NoSkillsFolder { .. }),
        "{first}"
    );
    assert_eq!(
        world.source().cached().unwrap(),
        None,
        "it is not what anything stands for"
    );
    world.commit("more/skills/a/SKILL.md", "more");
    updated(&elsewhere(), true, "more");
    updated(&world.source(), false, "one");

    // Without a folder of that name, all of it.
    world.git(&["mv", "skills/a", "a"]);
    world.commit_all();
    updated(&world.source(), true, "one");
    // Links are followed as long as they stay inside.
    let _ = fs::remove_dir(world.remote().join("skills"));
    std::os::unix::fs::symlink("more/skills", world.remote().join("skills")).unwrap();
    world.commit_all();
    let update = updated(&world.source(), true, "more");
    for target in ["..", "/", "/etc", "more/../.."] {
        fs::remove_file(world.remote().join("skills")).unwrap();
        std::os::unix::fs::symlink(target, world.remote().join("skills")).unwrap();
        world.commit_all();
        let error = world.source().update().unwrap_err();
        assert!(
            matches!(&error, SourceError::NoSkillsFolder { .. }),
            "{target}: {error}"
        );
        assert_eq!(
            world.source().cached().unwrap(),
            Some(update.checkout.clone())
        );
    }
}

#[test]
fn two_updates_at_once() {
    let world = World::new();
    for round in 0..3 {
        let text = format!("round {round}");
        world.commit("skills/a/SKILL.md", &text);
        let barrier = Arc::new(Barrier::new(4));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (source, barrier) = (world.source(), Arc::clone(&barrier));
                thread::spawn(move || {
                    barrier.wait();
                    skill(&source.update().unwrap().checkout)
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), text);
        }
        assert_eq!(skill(&world.source().cached().unwrap().unwrap()), text);
    }
    updated(&world.source(), false, "round 2");
    world.nothing_is_left_behind();
}

#[test]
fn a_cache_that_cannot_be_written_is_still_read() {
    let world = World::new();
    let source = world.source().pinned(world.head()).unwrap();
    updated(&source, true, "one");
    // A file in the way of every folder and of the lock: permissions do not hold for everybody.
    let folder = world.of_url();
    for name in ["lock", "temporary", "references", "repository"] {
        let path = folder.join(name);
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
    }
    fs::create_dir(folder.join("lock")).unwrap();
    fs::write(folder.join("temporary"), "").unwrap();
    fs::write(folder.join("references"), "").unwrap();
    updated(&source, false, "one");
    let error = world.source().update().unwrap_err();
    assert!(matches!(&error, SourceError::Io { .. }), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_a_passing_error() {
    let world = World::new();
    // A port that nobody listens at any more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let source = GitSource::new(format!("http://{address}/x.git"), world.cache()).unwrap();
    let error = source.update().unwrap_err();
    assert!(
        matches!(&error, SourceError::Git { step: "fetch", .. }),
        "{error}"
    );
    assert!(error.is_retryable(), "{error}");
}

#[test]
fn somebody_who_tidies_up_is_waited_for() {
    let world = World::new();
    let source = world.source();
    let pinned = source.clone().pinned(world.head()).unwrap();
    updated(&source, true, "one");
    let lock = File::open(world.of_url().join("lock")).unwrap();
    lock.lock().unwrap();
    let short = Duration::from_millis(20);
    let error = source.clone().timeout(short).update().unwrap_err();
    assert!(
        matches!(&error, SourceError::Io { action: "lock", .. }),
        "{error}"
    );
    assert!(error.is_retryable());
    updated(&pinned.timeout(short), false, "one");
    let waiting = thread::spawn(move || source.update().unwrap().changed);
    lock.unlock().unwrap();
    assert!(!waiting.join().unwrap());
}

fn text(name: &str) -> String {
    format!("---\n{name}description: Does a thing.\n---\nBody.\n")
}

#[test]
fn links_lead_to_all_of_a_repository_and_not_out_of_it() {
    let world = World::new();
    fs::create_dir_all(world.path("outside/c")).unwrap();
    fs::write(world.path("outside/c/SKILL.md"), text("name: c\n")).unwrap();
    let link = |target: &str, link: &str| {
        std::os::unix::fs::symlink(target, world.remote().join(link)).unwrap();
    };
    link("../lib/b", "skills/b");
    link(world.path("outside/c").to_str().unwrap(), "skills/c");
    link("../../lib/note.md", "skills/a/note.md");
    world.commit("lib/note.md", "A note.");
    world.commit("skills/a/SKILL.md", &text("name: a\n"));
    world.commit("lib/b/SKILL.md", &text("name: b\n"));
    let source = world.source();
    let checkout = source.update().unwrap().checkout;
    assert_eq!(checkout.folder, checkout.root.join("skills"));
    let skills = discover(&[Root::source(Arc::new(source)).trusted()]);
    let catalogue = skills.catalogue();
    let names: Vec<String> = catalogue.active().map(|skill| skill.name()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(codes(catalogue.notes()), ["W-LINK-REFUSED"]);
    let again = settled(&skills);
    assert!(Arc::ptr_eq(&catalogue, &again));
}

/// Nobody has called a skill after a commit.
#[test]
fn a_repository_may_be_one_skill() {
    let world = World::new();
    world.git(&["rm", "--quiet", "-r", "skills"]);
    world.commit("SKILL.md", &text(""));
    let source = Arc::new(world.source());
    source.update().unwrap();
    let root = Root::source(source.clone()).trusted();
    let skills = discover(std::slice::from_ref(&root));
    let entry = skills.catalogue().entries()[0].clone();
    assert_eq!(codes(&entry.diagnostics), ["E-NAME-MISSING"]);

    world.commit("SKILL.md", &text("name: deploy\n"));
    source.update().unwrap();
    skills.refresh();
    let catalogue = settled(&skills);
    let entry = &catalogue.entries()[0];
    assert_eq!(entry.skill.name(), "deploy");
    assert_eq!(codes(&entry.diagnostics), [""; 0]);
    assert_eq!(codes(catalogue.notes()), [""; 0]);
    let activation = catalogue.activate("deploy", skills.limits()).unwrap();
    assert_eq!(codes(&activation.diagnostics), [""; 0]);
}

#[test]
fn only_what_can_be_fetched_is_to_be_fetched() {
    let world = World::new();
    let git = Arc::new(world.source());
    let folder = Arc::new(FolderSource::new(world.path("nowhere")));
    let skills = discover(&[Root::source(git), Root::source(folder)]);
    let catalogue = skills.catalogue();
    let [first, second] = catalogue.notes() else {
        panic!("{:?}", catalogue.notes())
    };
    assert_eq!(codes(catalogue.notes()), ["W-SOURCE"]);
    assert_eq!(first.hint.as_deref(), Some("fetch it first"));
    assert_eq!(second.hint, None);
    assert!(second.message.ends_with("nothing is there"), "{second}");
}
