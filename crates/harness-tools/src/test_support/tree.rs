//! A workspace full of traps, and what must not change around it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What the files outside hold, and no other file.
pub(super) const CANARY: &str = "canary";

/// A folder with the workspace `ws` in it, and with what is outside.
#[derive(Debug)]
pub(super) struct Tree {
    folder: TempDir,
    /// What is outside, as it was made.
    before: Vec<String>,
}

/// Symlinks in the workspace, and where they lead; `$` is the folder around it.
const LINKS: &[(&str, &str)] = &[
    ("ws/in", "dir"),
    ("ws/out", "../outside"),
    ("ws/outfile", "../outside/secret.txt"),
    ("ws/abs", "$/outside"),
    ("ws/up", ".."),
    ("ws/top", "/"),
    ("ws/new", "../outside/new.txt"),
    ("ws/gone", "nowhere/at/all"),
    ("ws/loop", "pool"),
    ("ws/pool", "loop"),
    ("ws/self", "self/self"),
    ("ws/back", "$/outside/home"),
    ("ws/dir/far", "../../outside/sub/.."),
    ("ws/dir/root", "../."),
    ("outside/home", "../ws/dir"),
];

impl Tree {
    pub(super) fn new() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path();
        fs::create_dir_all(path.join("outside/sub"))?;
        fs::create_dir_all(path.join("home"))?;
        for file in ["outside/secret.txt", "outside/sub/deep.txt", "home/key"] {
            fs::write(path.join(file), CANARY)?;
        }
        // A name that begins like the workspace's.
        fs::create_dir_all(path.join("ws2"))?;
        fs::write(path.join("ws2/a.txt"), CANARY)?;
        let mut tree = Self {
            folder,
            before: Vec::new(),
        };
        tree.make_inside()?;
        tree.before = tree.outside()?;
        Ok(tree)
    }

    fn make_inside(&self) -> io::Result<()> {
        let path = self.path();
        fs::create_dir_all(self.root().join("dir/sub"))?;
        fs::write(self.root().join("a.txt"), "inside\n")?;
        fs::write(self.root().join("dir/b.txt"), "inside\n")?;
        fs::write(self.root().join("e\u{301}\u{202f}x"), "inside\n")?;
        for (link, target) in LINKS {
            let target = target.replace('$', &path.to_string_lossy());
            match symlink(target, path.join(link)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Makes the workspace anew.
    pub(super) fn restore(&self) -> io::Result<()> {
        fs::remove_dir_all(self.root())?;
        self.make_inside()
    }

    /// The folder around the workspace.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn root(&self) -> PathBuf {
        self.path().join("ws")
    }

    /// Whether all that is outside is as it was made.
    pub(super) fn is_untouched(&self) -> bool {
        self.outside().is_ok_and(|now| now == self.before)
    }

    /// Every path outside, with the content of files; symlinks are not followed.
    fn outside(&self) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let kind = fs::symlink_metadata(&path)?.file_type();
                let content = if kind.is_file() {
                    fs::read_to_string(&path)?
                } else {
                    String::new()
                };
                found.push(format!("{} {kind:?} {content}", path.display()));
                if kind.is_dir() && path != self.root() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}
