//! A repository of a real git, to fetch skills from.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness_skills::{Checkout, GitSource, SkillSource, Update};
use tempfile::TempDir;

/// A repository that skills are fetched from, and a folder for what was fetched.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    /// A repository with one commit, which has `skills/a/SKILL.md`.
    pub(crate) fn new() -> Self {
        let world = Self {
            dir: TempDir::new().unwrap(),
        };
        fs::create_dir(world.remote()).unwrap();
        world.git(&["init", "--quiet", "-b", "main", "."]);
        world.commit("skills/a/SKILL.md", "one");
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.path("remote")
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.remote().display())
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// Of the remote, at its main branch.
    pub(crate) fn source(&self) -> GitSource {
        GitSource::new(self.url(), self.cache()).unwrap()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.remote())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(["-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"])
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Writes a file and commits all. The new revision.
    pub(crate) fn commit(&self, file: &str, text: &str) -> String {
        let path = self.remote().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self.commit_all()
    }

    pub(crate) fn commit_all(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", "change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// A program of a few lines of shell, for use in git's place. `$HERE` is this world's folder.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        let text = format!(
            "#!/bin/sh\nHERE='{}'\n{script}\n",
            self.dir.path().display()
        );
        // Written by another process: a file that this one has open for writing, or a child that is
        // just being started by another test, could not be run.
        let mut shell = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        assert!(shell.wait().unwrap().success());
        path
    }

    /// The only folder in the cache.
    pub(crate) fn of_url(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.cache()).unwrap();
        let entry = entries.next().unwrap().unwrap();
        assert!(entries.next().is_none());
        entry.path()
    }

    pub(crate) fn checkouts(&self) -> Vec<String> {
        names(&self.of_url().join("checkouts"))
    }

    pub(crate) fn nothing_is_left_behind(&self) {
        assert_eq!(names(&self.of_url().join("temporary")), [""; 0]);
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The text of the skill that every repository here has.
pub(crate) fn skill(checkout: &Checkout) -> String {
    fs::read_to_string(checkout.folder.join("a/SKILL.md")).unwrap()
}

#[track_caller]
pub(crate) fn updated(source: &GitSource, changed: bool, text: &str) -> Update {
    let update = source.update().unwrap();
    assert_eq!(
        (update.changed, skill(&update.checkout).as_str()),
        (changed, text)
    );
    assert_eq!(source.cached().unwrap().as_ref(), Some(&update.checkout));
    update
}
