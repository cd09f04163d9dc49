//! What the tools work on: a tree of 50,000 files, a wide folder and a large file. Each is made below
//! `target/bench-tree` when it is first needed, byte for byte the same on every machine, and kept.

pub(crate) mod plan;
pub(crate) mod text;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::bench::figure::time;
use crate::bench::ground::plan::Planned;
use crate::bench::ground::text::Text;
use crate::bench::rig::failed;
use crate::bench::seed::Seed;
use crate::failure::Failure;

/// Raised whenever something else is made. What has another version is made anew.
const VERSION: &str = "1\n";

/// Entries of the wide folder.
pub(crate) const ENTRIES: usize = 20_000;

/// Bytes of the large file.
pub(crate) const LARGE: usize = 100_000_000;

/// Stands once in the large file, in its middle.
pub(crate) const MARK: &str = "the one mark of this file";

/// Where all of it is.
#[derive(Debug)]
pub(crate) struct Ground {
    folder: PathBuf,
}

impl Ground {
    pub(crate) fn below(target: &Path) -> Ground {
        Ground {
            folder: target.join("bench-tree"),
        }
    }

    /// The tree of 50,000 files.
    pub(crate) fn tree(&self) -> Result<PathBuf, Failure> {
        self.part("tree", make_tree)
    }

    /// The folder of 20,000 entries.
    pub(crate) fn wide(&self) -> Result<PathBuf, Failure> {
        self.part("wide", make_wide)
    }

    /// The file of 100 MB. It stays as it is: what is changed is a copy.
    pub(crate) fn large(&self) -> Result<PathBuf, Failure> {
        self.part("large.txt", make_large)
    }

    /// A folder for such copies.
    pub(crate) fn scratch(&self) -> Result<PathBuf, Failure> {
        self.part("scratch", |path| fs::create_dir(path))
    }

    /// A folder with nothing in it.
    pub(crate) fn empty(&self) -> Result<PathBuf, Failure> {
        self.part("empty", |path| fs::create_dir(path))
    }

    /// A part as it is when it is whole, else made now.
    fn part(
        &self,
        name: &'static str,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, Failure> {
        let path = self.folder.join(name);
        // It is written last, so what has it is whole.
        let stamp = self.folder.join(format!("{name}.version"));
        if fs::read_to_string(&stamp).is_ok_and(|it| it == VERSION) {
            return Ok(path);
        }
        let start = Instant::now();
        let anew = || {
            for old in [&stamp, &path] {
                remove(old)?;
            }
            fs::create_dir_all(&self.folder)?;
            make(&path)?;
            fs::write(&stamp, VERSION)
        };
        anew().map_err(failed(name))?;
        println!("  made {name} in {}", time(start.elapsed().as_secs_f64()));
        Ok(path)
    }
}

/// Removes what may be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(old) if old.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_tree(root: &Path) -> io::Result<()> {
    let text = Text::new();
    let mut made = PathBuf::new();
    let mut content = Vec::new();
    for (number, file) in plan::plan().iter().enumerate() {
        let Planned { path, .. } = file;
        let path = root.join(path);
        let folder = path.parent().unwrap_or(root);
        if folder != made {
            fs::create_dir_all(folder)?;
            folder.clone_into(&mut made);
        }
        file.write(number, &text, &mut content);
        fs::write(&path, &content)?;
    }
    settle()
}

/// Waits until what was written is on the disk. Else the first minutes of measuring would see it
/// written.
fn settle() -> io::Result<()> {
    Command::new("sync").status().map(drop)
}

/// Files for the most part, and folders and links among them.
fn make_wide(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    let mut seed = Seed::of(2);
    for number in 0..ENTRIES {
        let path = folder.join(format!("{:06x}-entry-{number}", seed.below(1 << 24)));
        match number % 20 {
            0 | 1 => fs::create_dir(path)?,
            2 => symlink("nowhere", path)?,
            _ => drop(File::create(path)?),
        }
    }
    Ok(())
}

fn make_large(path: &Path) -> io::Result<()> {
    fs::write(path, large_text())?;
    settle()
}

fn large_text() -> Vec<u8> {
    let text = Text::new();
    let mut seed = Seed::of(3);
    let mut content = Vec::with_capacity(LARGE);
    text.fill(&mut seed, LARGE / 2, &mut content);
    content.extend_from_slice(format!("    // Here is {MARK}.\n").as_bytes());
    text.fill(&mut seed, LARGE, &mut content);
    content
}

#[cfg(test)]
mod tests {
    use std::fs;

    use xshell::Shell;

    use super::{Ground, LARGE, MARK, large_text};

    #[test]
    fn what_is_half_made_is_made_anew_and_what_is_whole_is_kept() {
        let folder = Shell::new().unwrap().create_temp_dir().unwrap();
        let ground = Ground::below(folder.path());
        let part = folder.path().join("bench-tree").join("scratch");
        let half = part.join("half");
        fs::create_dir_all(&half).unwrap();
        assert_eq!(ground.scratch().unwrap(), part);
        assert!(part.is_dir() && !half.exists());

        fs::create_dir(&half).unwrap();
        ground.scratch().unwrap();
        assert!(half.exists());
    }

    #[test]
    fn the_mark_is_in_the_middle_of_the_large_file() {
        let text = large_text();
        assert_eq!(text.len(), LARGE);
        let middle = &text[LARGE / 2..][..100];
        assert!(String::from_utf8_lossy(middle).contains(MARK));
        assert!(std::str::from_utf8(&text).is_ok());
    }
}
