//! Where a path really leads.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::{FileInfo, FileKind, Resolved};

/// As many symlinks as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// A path that a model gave, resolved as the kernel resolves it: every symlink followed, `..` taken
/// after them.
#[derive(Clone, Debug)]
pub struct Place {
    /// The path as it was given, or as it was found: what messages show.
    pub shown: String,
    /// The absolute path without symlinks. Of a path that does not exist, the deepest folder that
    /// does is resolved, and the rest is appended.
    pub real: PathBuf,
    /// What is there; `None` when nothing is.
    pub info: Option<FileInfo>,
    /// Whether the path was given with a slash at its end, so that only a folder can be meant.
    pub folder_meant: bool,
}

impl Place {
    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.info.is_some_and(|info| info.is_folder())
    }
}

/// Resolves an absolute path, one component at a time. The last one is followed too, if it is a
/// symlink, even one that points at nothing: writing goes where the kernel would write.
///
/// `look` says what has a path, without following it; `read_link` where a symlink points.
pub(crate) fn follow(
    path: &Path,
    look: impl Fn(&Path) -> io::Result<FileInfo>,
    read_link: impl Fn(&Path) -> io::Result<PathBuf>,
) -> io::Result<Resolved> {
    let mut real = PathBuf::from("/");
    let mut rest: Vec<OsString> = Vec::new();
    push_components(&mut rest, path);
    let mut links = 0;
    let mut missing = 0_usize;
    let mut info = None;
    while let Some(name) = rest.pop() {
        if name == ".." {
            if info.is_some_and(|info: FileInfo| !info.is_folder()) {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            real.pop();
            missing = missing.saturating_sub(1);
            info = None;
            continue;
        }
        real.push(&name);
        if missing > 0 {
            missing += 1;
            continue;
        }
        match look(&real) {
            Ok(found) if found.kind == FileKind::Symlink => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many symbolic links"));
                }
                let target = read_link(&real)?;
                real.pop();
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                push_components(&mut rest, &target);
                info = None;
            }
            Ok(found) => info = Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = 1;
                info = None;
            }
            Err(error) => return Err(error),
        }
    }
    if missing == 0 && info.is_none() {
        info = Some(look(&real)?);
    }
    let info = if missing == 0 { info } else { None };
    Ok(Resolved { real, info })
}

fn push_components(rest: &mut Vec<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => rest.push(name.to_owned()),
            Component::ParentDir => rest.push("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}
