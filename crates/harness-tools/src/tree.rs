//! The files below a folder, as `grep` and `find` see them.
//!
//! Hidden files are seen; `.git` is not, nor what the ignore files exclude — also outside a
//! repository. A folder in which all is excluded, and that was named all the same, is seen whole.
//! Symlinks are not followed.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::blocking::Stop;
use crate::files::{Files, Next, Walk, WalkEntry};
use crate::path_order::PathKey;
use crate::workspace::Workspace;

/// How many entries are looked at in order.
const FIRST_LOOK: usize = 300;

/// How many entries are looked at, to tell whether something was left out.
const MAX_SECOND_LOOK: usize = 50_000;

/// A folder that is searched.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    files: &'a dyn Files,
    walk: Walk<'a>,
    /// Nothing was left out.
    whole: AtomicBool,
}

impl<'a> Tree<'a> {
    /// The folder with this real path.
    pub(crate) fn new(workspace: &'a Workspace, folder: &'a Path, stop: &'a Stop) -> Self {
        Self {
            files: workspace.files(),
            walk: Walk {
                folder,
                ignore_files: true,
                sorted: false,
                max_entries: workspace.limits().walk_entries,
                stop,
            },
            whole: AtomicBool::new(false),
        }
    }

    /// Visits everything that is wanted, and collects it in what `new` makes; a notice says if the
    /// bound ended it.
    ///
    /// It begins with a walk in the order of paths, on this thread: that is all that a small tree
    /// needs, and in a large one there is often `enough` at its beginning. If not, all is visited in
    /// no order on several threads, collected anew.
    pub(crate) fn collect<C: Sync>(
        &self,
        notices: &mut Vec<String>,
        new: impl Fn() -> C,
        enough: impl Fn(&C) -> bool + Sync,
        visit: impl Fn(&C, &WalkEntry<'_>) -> Next + Sync,
    ) -> C {
        let told = notices.len();
        let collected = self.collect_from(&self.walk, notices, &new, &enough, &visit);
        if let Some(collected) = collected {
            return collected;
        }
        // All is excluded.
        notices.truncate(told);
        self.whole.store(true, Ordering::Relaxed);
        let walk = self.without_ignore_files();
        self.collect_from(&walk, notices, &new, &enough, &visit)
            .unwrap_or_else(new)
    }

    /// `None` if nothing was visited.
    fn collect_from<C: Sync>(
        &self,
        walk: &Walk<'a>,
        notices: &mut Vec<String>,
        new: &impl Fn() -> C,
        enough: &(impl Fn(&C) -> bool + Sync),
        visit: &(impl Fn(&C, &WalkEntry<'_>) -> Next + Sync),
    ) -> Option<C> {
        let first = new();
        let in_order = Walk {
            sorted: true,
            max_entries: walk.max_entries.min(FIRST_LOOK),
            ..*walk
        };
        let end = self.files.walk(&in_order, &|entry| {
            if enough(&first) {
                Next::Stop
            } else {
                visit(&first, entry)
            }
        });
        if !end.bounded {
            tell_unread(end.unread, notices);
            return (end.visited > 0).then_some(first);
        }
        drop(first);
        let all = new();
        let end = self.files.walk(walk, &|entry| visit(&all, entry));
        tell_unread(end.unread, notices);
        if end.bounded {
            notices.push(format!(
                "The search ended after {} entries.",
                walk.max_entries
            ));
        }
        Some(all)
    }

    fn without_ignore_files(&self) -> Walk<'a> {
        Walk {
            ignore_files: false,
            ..self.walk
        }
    }

    /// The first of the files and folders that the ignore files left out and `wanted` says yes to;
    /// `was_visited` says which were not left out. The look is bounded.
    pub(crate) fn left_out(
        &self,
        wanted: impl Fn(&WalkEntry<'_>) -> bool + Sync,
        was_visited: &(dyn Fn(&Path) -> bool + Sync),
    ) -> Option<PathBuf> {
        if self.whole.load(Ordering::Relaxed) {
            return None;
        }
        let walk = Walk {
            max_entries: MAX_SECOND_LOOK,
            ..self.without_ignore_files()
        };
        let better = |found: &Option<PathKey>, path: &Path| {
            found.as_ref().is_none_or(|found| found.is_after(path))
        };
        let found = self.collect_from(
            &walk,
            &mut Vec::new(),
            &|| Mutex::new(None),
            &|found| lock(found).is_some(),
            &|found, entry| {
                if !better(&lock(found), entry.path) {
                    return Next::Skip;
                }
                if wanted(entry) && !was_visited(entry.path) {
                    let mut found = lock(found);
                    if better(&found, entry.path) {
                        *found = Some(PathKey::new(entry.path));
                    }
                }
                Next::Continue
            },
        )?;
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.map(PathKey::into_path)
    }
}

/// The paths that a walk came to, or rather a number for each: enough to say that one is not among
/// them, but for a chance of one in many millions.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    paths: Mutex<HashSet<u64>>,
    hash: RandomState,
}

impl Visited {
    pub(crate) fn insert(&self, path: &Path) {
        let number = self.hash.hash_one(path.as_os_str());
        lock(&self.paths).insert(number);
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        let number = self.hash.hash_one(path.as_os_str());
        lock(&self.paths).contains(&number)
    }
}

fn tell_unread(unread: usize, notices: &mut Vec<String>) {
    if unread > 0 {
        let folders = if unread == 1 { "folder" } else { "folders" };
        notices.push(format!("{unread} {folders} could not be read."));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
