//! What a glob of the shell finds.

use std::path::{Path, PathBuf};

use crate::glob_overlap::finds;
use crate::paths::{EntryKind, Paths};

/// The most that is looked at for all globs of one call: folders, and entries of folders.
const STEPS: usize = 65_536;

/// How much may still be looked at.
#[derive(Debug)]
pub(crate) struct Budget(usize);

/// What a path costs that is told and decided about by itself.
const OF_A_NAME: usize = 64;

impl Default for Budget {
    fn default() -> Self {
        Self(STEPS)
    }
}

impl Budget {
    /// Pays for paths that are told one by one, if it has that much.
    pub(crate) fn pays_for(&mut self, names: usize) -> bool {
        let left = self.0.checked_sub(names.saturating_mul(OF_A_NAME));
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// What a glob finds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What matches.
    pub(crate) matches: Vec<Match>,
    /// The folders that it was found in.
    pub(crate) folders: Vec<PathBuf>,
}

/// Something that a glob finds.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) path: PathBuf,
    pub(crate) is_folder: bool,
    /// A link is on the way to it, or it is one: the path is not a real one.
    pub(crate) is_linked: bool,
}

/// Looks for `names`, a glob of one name or of a path, in `folder`, which is real. `None` where it cannot be said.
pub(crate) fn find(
    paths: &dyn Paths,
    folder: &Path,
    names: &str,
    budget: &mut Budget,
) -> Option<Found> {
    let mut found = Found::default();
    let parts: Vec<&str> = names.split('/').collect();
    let (last, above) = parts.split_last()?;
    let mut folders = vec![(folder.to_owned(), false)];
    for part in above {
        let mut next = Vec::new();
        for (folder, is_linked) in folders {
            for (path, kind) in matching(paths, &folder, part, budget)? {
                let is_linked = is_linked || kind == EntryKind::Link;
                if kind != EntryKind::File {
                    next.push((path, is_linked));
                }
            }
        }
        folders = next;
    }
    for (folder, is_linked) in folders {
        let matches = matching(paths, &folder, last, budget)?;
        if !matches.is_empty() {
            found.folders.push(folder);
        }
        found
            .matches
            .extend(matches.into_iter().map(|(path, kind)| Match {
                path,
                is_folder: kind == EntryKind::Folder,
                is_linked: is_linked || kind == EntryKind::Link,
            }));
    }
    Some(found)
}

fn matching(
    paths: &dyn Paths,
    folder: &Path,
    part: &str,
    budget: &mut Budget,
) -> Option<Vec<(PathBuf, EntryKind)>> {
    let entries = paths.entries(folder)?;
    budget.0 = budget.0.checked_sub(entries.len() + 1)?;
    let matching = entries
        .into_iter()
        .filter(|entry| finds(part, &entry.name.to_string_lossy()));
    let found = matching.map(|entry| (folder.join(entry.name), entry.kind));
    // Before its version 5.2 bash finds these two as well. Where they lead, only the file system knows.
    let dots = [".", ".."].into_iter().filter(|name| finds(part, name));
    let dots = dots.map(|name| (folder.join(name), EntryKind::Link));
    Some(found.chain(dots).collect())
}
