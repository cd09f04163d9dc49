//! What neither a repository, nor an address, nor a git that hangs can do.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use harness_skills::{GitSource, SkillSource, SourceError};
use rustix::fs::{Mode, OFlags};

use crate::git_world::{World, names, updated};

#[test]
fn what_comes_is_what_was_pinned() {
    let world = World::new();
    let other = world.head();
    let wanted = world.commit("skills/a/SKILL.md", "two");
    let liar = world.program(
        "git",
        &format!("case \"$*\" in *rev-parse*) echo {other};; *) exec git \"$@\";; esac"),
    );
    let source = world.source().pinned(&wanted).unwrap().program(liar);
    let error = source.update().unwrap_err();
    assert!(
        matches!(&error, SourceError::WrongRevision { found, .. } if *found == other),
        "{error}"
    );
    assert_eq!(source.cached().unwrap(), None);
    // The name of a tag is not the name of its commit.
    world.git(&["tag", "-a", "-m", "annotated", "v1"]);
    let tag = world.git(&["rev-parse", "v1"]);
    let error = world.source().pinned(tag).unwrap().update().unwrap_err();
    assert!(
        matches!(error, SourceError::WrongRevision { .. }),
        "{error}"
    );
    world.nothing_is_left_behind();
}

#[test]
fn files_are_as_they_were_committed() {
    let world = World::new();
    world.commit("skills/a/run.sh", "#!/bin/sh\n");
    let script = world.remote().join("skills/a/run.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.remote().join("skills/a/link")).unwrap();
    world.commit("skills/a/lines", "$Id$ a\r\nb\n");
    // Of no effect on the way in: the files are committed already.
    let attributes = "skills/** ident eol=crlf working-tree-encoding=UTF-16\n";
    fs::write(world.remote().join(".gitattributes"), attributes).unwrap();
    world.git(&["add", ".gitattributes"]);
    world.git(&["commit", "--quiet", "-m", "attributes"]);

    let folder = world.source().update().unwrap().checkout.folder.join("a");
    assert_eq!(fs::read_to_string(folder.join("SKILL.md")).unwrap(), "one");
    assert_eq!(fs::read(folder.join("lines")).unwrap(), b"$Id$ a\r\nb\n");
    let mode = |name: &str| {
        fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(
        (mode("run.sh") & 0o111, mode("SKILL.md") & 0o111),
        (0o111, 0)
    );
    let link = fs::read_link(folder.join("link")).unwrap();
    assert_eq!(link, Path::new("/etc/passwd"));
}

#[test]
fn nothing_of_a_repository_is_run() {
    let world = World::new();
    let touch = format!("touch {}; cat", world.path("was-run").display());
    let configuration = format!(
        "[filter \"evil\"]\n\tsmudge = {touch}\n\trequired = true\n\
         [filter \"lfs\"]\n\tsmudge = {touch}\n\trequired = true\n\
         [core]\n\thooksPath = {hooks}\n\tfsmonitor = {touch}\n\
         [init]\n\ttemplateDir = {template}\n\tdefaultObjectFormat = sha256\n",
        hooks = world.path("template/hooks").display(),
        template = world.path("template").display(),
    );
    fs::write(world.path("configuration"), configuration).unwrap();
    fs::create_dir_all(world.path("template/hooks")).unwrap();
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "post-merge",
        "fsmonitor-watchman",
        "pre-auto-gc",
    ] {
        let hook = format!("template/hooks/{hook}");
        world.program(&hook, "touch \"$HERE/was-run\"");
        // And in the remote.
        let name = hook.rsplit('/').next().unwrap();
        fs::copy(
            world.path(&hook),
            world.remote().join(".git/hooks").join(name),
        )
        .unwrap();
    }
    let git = world.program(
        "git",
        "export GIT_CONFIG_GLOBAL=\"$HERE/configuration\"\nexec git \"$@\"",
    );
    world.commit(
        ".gitattributes",
        "[attr]m filter=evil\n*.md m\n*.txt filter=lfs\n",
    );
    world.commit("skills/a/b.txt", "text");
    let source = world.source().program(git);
    updated(&source, true, "one");
    world.commit("skills/a/SKILL.md", "two");
    updated(&source, true, "two");
    assert!(!world.path("was-run").exists());
}

#[test]
fn submodules_are_not_fetched() {
    let world = World::new();
    let other = World::new();
    let url = other.url();
    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "--quiet",
        &url,
        "skills/m",
    ]);
    world.commit_all();
    let update = updated(&world.source(), true, "one");
    assert_eq!(names(&update.checkout.folder.join("m")), [""; 0]);
}

#[test]
fn more_than_a_disk_holds_is_refused() {
    let world = World::new();
    // Each folder has the one before it eight times: two million files in a few hundred bytes.
    let mut tree = world.git(&["rev-parse", "HEAD:skills"]);
    for _ in 0..7 {
        let list: Vec<String> = (0..8)
            .map(|n| format!("040000 tree {tree}\\tf{n}\\n"))
            .collect();
        let list = list.concat();
        let make = format!(
            "printf '{list}' | git -C '{}' mktree",
            world.remote().display()
        );
        let output = Command::new("sh").args(["-c", &make]).output().unwrap();
        tree = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    }
    let bomb = world.git(&["commit-tree", "-m", "bomb", &tree]);
    world.git(&["update-ref", "refs/heads/bomb", &bomb]);
    let source = world.source().at("bomb").unwrap();
    let error = source.update().unwrap_err();
    assert!(matches!(&error, SourceError::TooLarge { .. }), "{error}");
    assert_eq!(source.cached().unwrap(), None);
    world.nothing_is_left_behind();
}

/// The end of a pipe at `$HERE/fifo`, to be read from.
fn fifo(world: &World) -> OwnedFd {
    let path = world.path("fifo");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
}

/// Waits for the last process that holds the other end.
fn all_have_ended(fifo: OwnedFd) {
    rustix::fs::fcntl_setfl(&fifo, OFlags::empty()).unwrap();
    let (send, ended) = mpsc::channel();
    thread::spawn(move || send.send(fs::File::from(fifo).read(&mut [0]).unwrap()));
    let length = ended.recv_timeout(Duration::from_secs(30));
    assert_eq!(length, Ok(0), "one of them lives");
}

#[test]
fn a_git_that_hangs_is_ended_with_its_children() {
    let world = World::new();
    let first = updated(&world.source(), true, "one");
    let reader = fifo(&world);
    // Both hold the pipe open for as long as they live, and neither listens to a polite signal.
    let git = world.program(
        "git",
        "exec 9> \"$HERE/fifo\"
         trap '' TERM INT HUP
         (trap '' TERM INT HUP; exec sleep 1000) > /dev/null 2>&1 < /dev/null &
         echo $! > \"$HERE/child.new\"
         mv \"$HERE/child.new\" \"$HERE/child\"
         exec sleep 1000",
    );
    let mut timeout = Duration::from_millis(100);
    while !world.path("child").exists() {
        let source = world.source().program(&git).timeout(timeout);
        let error = source.update().unwrap_err();
        assert!(matches!(&error, SourceError::TimedOut { .. }), "{error}");
        assert!(error.is_retryable());
        assert_eq!(source.cached().unwrap(), Some(first.checkout.clone()));
        // On a busy machine it may not have come so far.
        timeout *= 2;
    }
    all_have_ended(reader);
    world.nothing_is_left_behind();
    updated(&world.source(), false, "one");
}

#[test]
fn what_a_git_leaves_running_ends_with_it() {
    let world = World::new();
    let reader = fifo(&world);
    // It keeps the pipes of its parent too.
    let git = world.program(
        "git",
        "exec 9<> \"$HERE/fifo\"\nsleep 1000 &\ngit \"$@\" 9>&-",
    );
    updated(&world.source().program(git), true, "one");
    all_have_ended(reader);
}

#[test]
fn output_without_end_is_bounded() {
    let world = World::new();
    let git = world.program(
        "git",
        "case \"$*\" in *rev-parse*) exec yes;; *fetch*) yes x | head -c 1000000 >&2; exec git \"$@\";; \
         *) exec git \"$@\";; esac",
    );
    let error = world.source().program(git).update().unwrap_err();
    assert!(matches!(&error, SourceError::TooLarge { .. }), "{error}");
    let git = world.program("git2", "yes x | head -c 1000000 >&2; echo last >&2; exit 3");
    let error = world
        .source()
        .program(git)
        .update()
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("x\nlast") && error.len() < 1000, "{error}");
}

#[test]
fn hostile_words_are_refused() {
    let world = World::new();
    let marker = world.path("was-run");
    for url in [
        format!("ext::sh -c touch% {}", marker.display()),
        format!("--upload-pack=touch {}", marker.display()),
        format!("ssh://-oProxyCommand=touch {}/x", marker.display()),
        "git://host/x".to_owned(),
        String::new(),
    ] {
        let error = GitSource::new(&url, world.cache()).unwrap_err();
        assert!(matches!(&error, SourceError::Url { .. }), "{url}: {error}");
    }
    for name in ["", "-x", "--upload-pack=x", "a b", "a:b", "a..b", "a\nb"] {
        let error = world.source().at(name).unwrap_err();
        assert!(
            matches!(&error, SourceError::Reference { .. }),
            "{name}: {error}"
        );
    }
    for revision in ["", "4f2a9c1", "main", &"g".repeat(40), &"a".repeat(41)] {
        let error = world.source().pinned(revision).unwrap_err();
        assert!(
            matches!(&error, SourceError::Revision { .. }),
            "{revision}: {error}"
        );
    }
    for folder in ["", "/etc", "..", "a/../..", "a/.."] {
        let error = world.source().skills_folder(folder).unwrap_err();
        assert!(
            matches!(&error, SourceError::SkillsFolder { .. }),
            "{folder}: {error}"
        );
    }
    assert!(!marker.exists() && !world.cache().exists());
}

#[test]
fn credentials_are_not_shown() {
    let world = World::new();
    let git = world.program("git", "echo \"fatal: $*: hunter2 \" >&2; exit 1");
    let url = "https://someone:hunter2@host.invalid/x.git?token=hunter3";
    let source = GitSource::new(url, world.cache()).unwrap().program(git);
    let error = source.update().unwrap_err();
    assert_eq!(source.origin(), "git https://host.invalid/x.git at HEAD");
    for text in [
        format!("{error}"),
        format!("{error:?}"),
        format!("{source:?}"),
        source.origin(),
    ] {
        assert!(!text.contains("hunter"), "{text}");
    }
    for name in names(&world.cache()) {
        assert!(!name.contains("hunter"), "{name}");
    }
}
