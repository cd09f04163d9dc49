//! Where a path really leads.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
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

    /// What lies in `folder`, of which a glob may find some: nothing where no folder is. `None` where that cannot
    /// be said; then what a glob finds is not known. So it is by default.
    fn entries(&self, folder: &Path) -> Option<Vec<Entry>> {
        let _ = folder;
        None
    }

    /// Whether `path`, or what a link there leads to, is a folder, as far as that can be said: in doubt it is, and so
    /// it always is by default.
    fn is_folder(&self, path: &Path) -> bool {
        let _ = path;
        true
    }

    /// Whether `path` is a link that certainly leads nowhere, so that nothing is read through it. It never is by
    /// default.
    fn is_dangling(&self, path: &Path) -> bool {
        let _ = path;
        false
    }
}

/// Something that lies in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What lies in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A link, wherever it leads.
    Link,
    /// Anything else.
    File,
}

/// The most entries of a folder that are looked at.
const ENTRIES: usize = 16_384;

/// The paths of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSystem;

impl Paths for FileSystem {
    /// Reads links of the file system. A dangling link is followed by nobody: `None`. What lies in the folder of
    /// a process (`/proc/self/cwd/…`, `/dev/fd/3`) stays there: another process is led elsewhere by it.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        match way(path)? {
            Way::Process(path) => return Some(path),
            Way::Plain => {}
        }
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

    fn is_dangling(&self, path: &Path) -> bool {
        let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        matches!(way(path), Some(Way::Plain)) && std::fs::metadata(path).is_err_and(is_missing)
    }

    fn is_folder(&self, path: &Path) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        match std::fs::metadata(path) {
            Ok(found) => found.is_dir(),
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
        }
    }

    /// `None` for a folder that cannot be read, or has more than 16,384 entries.
    fn entries(&self, folder: &Path) -> Option<Vec<Entry>> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let found = match std::fs::read_dir(folder) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                return Some(Vec::new());
            }
            Err(_) => return None,
        };
        let mut entries = Vec::new();
        for (number, entry) in found.enumerate() {
            let entry = entry.ok().filter(|_| number < ENTRIES)?;
            let kind = entry.file_type().ok()?;
            let kind = match (kind.is_dir(), kind.is_symlink()) {
                (true, _) => EntryKind::Folder,
                (_, true) => EntryKind::Link,
                _ => EntryKind::File,
            };
            let name = entry.file_name();
            entries.push(Entry { name, kind });
        }
        Some(entries)
    }
}

/// Where a path leads through.
enum Way {
    /// The folder of a process: from there on nothing is followed.
    Process(PathBuf),
    Plain,
}

/// `None` where it cannot be said.
fn way(path: &Path) -> Option<Way> {
    let names = |path: &Path| -> Vec<OsString> {
        let parts = path
            .components()
            .filter(|part| !matches!(part, Component::RootDir));
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut rest: VecDeque<OsString> = names(path).into();
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        if at == Path::new("/proc") && is_process(&name) {
            let is_back = rest.iter().any(|name| name == "..");
            let path = next.join(rest.into_iter().collect::<PathBuf>());
            return (!is_back).then_some(Way::Process(path));
        }
        let Ok(target) = std::fs::read_link(&next) else {
            at = next;
            continue;
        };
        links += 1;
        if links > LINKS {
            return None;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            rest.push_front(name);
        }
    }
    Some(Way::Plain)
}

/// The most links of a path. Linux follows 40.
const LINKS: usize = 40;

fn is_process(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    matches!(name, b"self" | b"thread-self") || name.iter().all(u8::is_ascii_digit)
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

    /// It knows of no folders.
    fn is_folder(&self, _: &Path) -> bool {
        false
    }

    /// It knows of no files.
    fn entries(&self, _: &Path) -> Option<Vec<Entry>> {
        Some(Vec::new())
    }
}
