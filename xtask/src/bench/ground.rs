//! What the tools work on: a tree of 50,000 files, a wide folder and a large file. Made once below
//! `target/bench-tree`, byte for byte the same on every machine, and kept.

pub(crate) mod plan;
pub(crate) mod text;

use std::fs::{self, File};
use std::io::{self, Write as _};
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

/// Raised whenever something else is made. A ground with another version is made anew.
const VERSION: &str = "1\n";

/// Entries of the wide folder.
pub(crate) const ENTRIES: usize = 20_000;

/// Bytes of the large file.
pub(crate) const LARGE: usize = 100_000_000;

/// Stands once in the large file, in its middle.
pub(crate) const MARK: &str = "the one mark of this file";

/// The folders and files, all there.
#[derive(Debug)]
pub(crate) struct Ground {
    folder: PathBuf,
}

impl Ground {
    /// The ground below `target`: as it is when it is whole, else made now.
    pub(crate) fn below(target: &Path) -> Result<Ground, Failure> {
        let folder = target.join("bench-tree");
        // It is written last, so what has it is whole.
        let stamp = folder.join("version");
        if fs::read_to_string(&stamp).is_ok_and(|it| it == VERSION) {
            return Ok(Ground { folder });
        }
        let start = Instant::now();
        let ground = Ground { folder };
        ground.make(&stamp).map_err(failed("the tree to search"))?;
        println!(
            "made {} in {}",
            ground.folder.display(),
            time(start.elapsed().as_secs_f64())
        );
        Ok(ground)
    }

    /// The tree of 50,000 files.
    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The folder of 20,000 entries.
    pub(crate) fn wide(&self) -> PathBuf {
        self.folder.join("wide")
    }

    /// The file of 100 MB. It stays as it is: what is changed is a copy.
    pub(crate) fn large(&self) -> PathBuf {
        self.folder.join("large.txt")
    }

    /// A folder beside them for such copies.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    /// A folder with nothing in it.
    pub(crate) fn empty(&self) -> PathBuf {
        self.folder.join("empty")
    }

    fn make(&self, stamp: &Path) -> io::Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        let text = Text::new();
        make_tree(&self.tree(), &text)?;
        make_wide(&self.wide())?;
        make_large(&self.large(), &text)?;
        fs::create_dir(self.scratch())?;
        fs::create_dir(self.empty())?;
        let mut stamp = File::create(stamp)?;
        stamp.write_all(VERSION.as_bytes())?;
        // Else the first minutes of measuring would see it written to the disk.
        Command::new("sync").status()?;
        Ok(())
    }
}

fn make_tree(root: &Path, text: &Text) -> io::Result<()> {
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
        file.write(number, text, &mut content);
        fs::write(&path, &content)?;
    }
    Ok(())
}

/// Files for the most part, and folders and links among them.
fn make_wide(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
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

fn make_large(path: &Path, text: &Text) -> io::Result<()> {
    let mut seed = Seed::of(3);
    let mut content = Vec::with_capacity(LARGE);
    text.fill(&mut seed, LARGE / 2, &mut content);
    content.extend_from_slice(format!("    // Here is {MARK}.\n").as_bytes());
    text.fill(&mut seed, LARGE, &mut content);
    fs::write(path, content)
}
