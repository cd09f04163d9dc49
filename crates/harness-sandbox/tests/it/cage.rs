//! A home with a workspace in it, and commands that are confined to that.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness_sandbox::{Abilities, Policy, Profile};
use tempfile::TempDir;

pub(crate) struct Cage {
    folder: TempDir,
    abilities: Abilities,
}

impl Cage {
    /// `None`, with a word about it, where this kernel cannot confine.
    pub(crate) fn new() -> Option<Self> {
        let abilities = Abilities::probe();
        let wanted = Policy::new(Profile::WorkspaceWrite);
        let missing = abilities.missing(&wanted);
        if let Some(missing) = missing.iter().find(|missing| missing.is_required()) {
            let _ = writeln!(std::io::stderr(), "left out: {missing}");
            assert!(
                wanted.prepare(&abilities).is_err(),
                "never half on in silence"
            );
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let cage = Self { folder, abilities };
        for name in ["home/ws", "home/.ssh", "home/.config/app", "tmp"] {
            std::fs::create_dir_all(cage.path(name)).expect("made");
        }
        cage.put("home/.ssh/id", "CANARY\n");
        cage.put("home/.config/app/token", "CANARY\n");
        cage.put("home/.config/app/settings", "settings\n");
        cage.put("home/notes", "notes\n");
        cage.put("home/ws/file", "file\n");
        Some(cage)
    }

    pub(crate) fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("read")
    }

    pub(crate) fn link(&self, target: &str, name: &str) {
        symlink(self.path(target), self.path(name)).expect("linked");
    }

    /// The workspace and a folder for temporary files can be written; secrets are hidden.
    pub(crate) fn policy(&self, profile: Profile) -> Policy {
        Policy::new(profile)
            .with_writable(self.path("home/ws"))
            .with_scratch(self.path("tmp"))
            .with_hidden(self.path("home/.ssh"))
            .with_hidden(self.path("home/.config/app/token"))
            .with_hidden(self.path("home/.netrc"))
    }

    /// A command of the shell in the workspace, confined.
    pub(crate) fn command(&self, policy: &Policy, line: &str) -> Command {
        self.program(policy, "/bin/sh", ["-c", line])
    }

    pub(crate) fn program<A: AsRef<OsStr>>(
        &self,
        policy: &Policy,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("home/ws"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("OUT", self.folder.path());
        policy
            .prepare(&self.abilities)
            .expect("prepared")
            .confine(&mut command);
        command
    }

    pub(crate) fn run(&self, policy: &Policy, line: &str) -> Said {
        Said::of(&mut self.command(policy, line))
    }

    /// Under the usual policy.
    pub(crate) fn says(&self, line: &str) -> Said {
        self.run(&self.policy(Profile::WorkspaceWrite), line)
    }
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    output: Output,
}

impl Said {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self {
            output: command.output().expect("started"),
        }
    }

    /// Standard output and standard error.
    pub(crate) fn text(&self) -> String {
        let both = [&self.output.stdout[..], &self.output.stderr].concat();
        String::from_utf8_lossy(&both).into_owned()
    }

    #[track_caller]
    pub(crate) fn worked(&self) -> String {
        assert!(self.output.status.success(), "{self:?}");
        self.text()
    }

    #[track_caller]
    pub(crate) fn was_refused(&self) -> String {
        assert!(!self.output.status.success(), "{self:?}");
        let text = self.text();
        // The last one is what a link or a move between folders gets.
        let refused = ["denied", "not permitted", "PermissionError", "cross-device"];
        assert!(refused.iter().any(|word| text.contains(word)), "{text}");
        text
    }
}

/// Whether a program is there to test with.
pub(crate) fn has(program: &str) -> bool {
    let there = Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        let _ = writeln!(std::io::stderr(), "left out: there is no {program}");
    }
    there
}

pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
