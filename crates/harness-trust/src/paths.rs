//! Where a path really leads.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Follows links, as the kernel would for a program that opens a path.
///
/// A rule is matched against what this says, never against the text of a path: a link inside a project can
/// lead out of it.
pub trait Paths: fmt::Debug + Send + Sync {
    /// The real path of `path`, which is absolute: of the deepest folder that exists, with the rest behind
    /// it. `None` where that cannot be said; then nothing is allowed.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// The links that lie in `folder`, of which a glob may find one. `None` where that cannot be said. There are
    /// none by default: for places without links.
    fn links(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let _ = folder;
        Some(Vec::new())
    }
}

/// The most entries of a folder that are looked at.
const ENTRIES: usize = 16_384;

/// The paths of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSystem;

impl Paths for FileSystem {
    /// Reads links of the file system. A dangling link is followed by nobody: `None`.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut missing = Vec::new();
        let mut existing = path;
        loop {
            match existing.canonicalize() {
                Ok(mut real) => {
                    real.extend(missing.iter().rev());
                    return Some(real);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // A link that leads nowhere is there, and what is written to it lands elsewhere.
                    if existing.symlink_metadata().is_ok() {
                        return None;
                    }
                    let Some(Component::Normal(name)) = existing.components().next_back() else {
                        return None;
                    };
                    missing.push(name.to_owned());
                    existing = existing.parent()?;
                }
                Err(_) => return None,
            }
        }
    }

    /// `None` for a folder that cannot be read, or has more than 16,384 entries.
    fn links(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            // Nothing is found in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
            Err(_) => return None,
        };
        let mut links = Vec::new();
        for (number, entry) in entries.enumerate() {
            let entry = entry.ok().filter(|_| number < ENTRIES)?;
            if entry.file_type().ok()?.is_symlink() {
                links.push(entry.path());
            }
        }
        Some(links)
    }
}

/// Paths by their text: for places without links, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lexical;

impl Paths for Lexical {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut real = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    real.pop();
                }
                Component::CurDir => {}
                part => real.push(part),
            }
        }
        real.is_absolute().then_some(real)
    }
}
