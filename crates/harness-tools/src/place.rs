//! Where a path really leads.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many symlinks as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// A path, resolved as the kernel resolves it: every symlink followed, `..` taken after them.
#[derive(Clone, Debug)]
pub struct Place {
    /// The path as it was given: what messages show.
    pub shown: String,
    /// The absolute path without symlinks. Of a path that does not exist, the deepest folder that
    /// does is resolved, and the rest is appended.
    pub real: PathBuf,
    /// What is there; `None` when nothing is.
    pub metadata: Option<Metadata>,
    /// Whether the path was given with a slash at its end, so that only a folder can be meant.
    pub folder_meant: bool,
}

/// Resolves an absolute path. The last component is followed too, if it is a symlink, even one
/// that points at nothing: writing goes where the kernel would write.
pub(crate) fn resolve(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    let mut real = PathBuf::from("/");
    let mut rest: Vec<OsString> = Vec::new();
    push_components(&mut rest, path);
    let mut links = 0;
    let mut missing = 0_usize;
    let mut metadata = None;
    while let Some(name) = rest.pop() {
        if name == ".." {
            real.pop();
            missing = missing.saturating_sub(1);
            metadata = None;
            continue;
        }
        real.push(&name);
        if missing > 0 {
            missing += 1;
            continue;
        }
        match std::fs::symlink_metadata(&real) {
            Ok(found) if found.file_type().is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many symbolic links"));
                }
                let target = std::fs::read_link(&real)?;
                real.pop();
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                push_components(&mut rest, &target);
                metadata = None;
            }
            Ok(found) => metadata = Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = 1;
                metadata = None;
            }
            Err(error) => return Err(error),
        }
    }
    if missing == 0 && metadata.is_none() {
        metadata = Some(std::fs::symlink_metadata(&real)?);
    }
    Ok((real, if missing == 0 { metadata } else { None }))
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
