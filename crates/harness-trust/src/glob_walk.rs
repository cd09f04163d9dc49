//! What a glob of the shell finds.

use std::path::{Path, PathBuf};

use crate::glob_overlap::finds;
use crate::paths::{EntryKind, Paths};

/// The most entries of folders that are looked at for one glob.
const ENTRIES: usize = 65_536;

/// What a glob finds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What matches, and whether a link is on the way to it, or it is one.
    pub(crate) matches: Vec<(PathBuf, bool)>,
    /// The folders that it was found in.
    pub(crate) folders: Vec<PathBuf>,
}

/// Looks for `names`, a glob of one name or of a path, in `folder`, which is real. `None` where it cannot be said.
pub(crate) fn find(paths: &dyn Paths, folder: &Path, names: &str) -> Option<Found> {
    let mut found = Found::default();
    let mut left = ENTRIES;
    let parts: Vec<&str> = names.split('/').collect();
    let (last, above) = parts.split_last()?;
    let mut folders = vec![(folder.to_owned(), false)];
    for part in above {
        let mut next = Vec::new();
        for (folder, is_linked) in folders {
            for (path, kind) in matching(paths, &folder, part, &mut left)? {
                let is_linked = is_linked || kind == EntryKind::Link;
                if kind != EntryKind::File {
                    next.push((path, is_linked));
                }
            }
        }
        folders = next;
    }
    for (folder, is_linked) in folders {
        let matches = matching(paths, &folder, last, &mut left)?;
        if !matches.is_empty() {
            found.folders.push(folder);
        }
        let linked = |kind| is_linked || kind == EntryKind::Link;
        let matches = matches.into_iter();
        let matches = matches.map(|(path, kind)| (path, linked(kind)));
        found.matches.extend(matches);
    }
    Some(found)
}

fn matching(
    paths: &dyn Paths,
    folder: &Path,
    part: &str,
    left: &mut usize,
) -> Option<Vec<(PathBuf, EntryKind)>> {
    let entries = paths.entries(folder)?;
    *left = left.checked_sub(entries.len())?;
    let matching = entries
        .into_iter()
        .filter(|entry| finds(part, &entry.name.to_string_lossy()));
    let paths = matching.map(|entry| (folder.join(entry.name), entry.kind));
    Some(paths.collect())
}
