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
use crate::files::{Files, Next, Walk, WalkEnd, WalkEntry};
use crate::path_order::PathKey;
use crate::workspace::Workspace;

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
                max_entries: workspace.limits().walk_entries,
                stop,
            },
            whole: AtomicBool::new(false),
        }
    }

    /// Visits everything, on several threads, in no order. A notice says if the bound ended it.
    pub(crate) fn visit(
        &self,
        notices: &mut Vec<String>,
        visitor: impl Fn(&WalkEntry<'_>) -> Next + Sync,
    ) {
        let mut end = self.files.walk(&self.walk, &visitor);
        if end.visited == 0 && !self.walk.stop.is_stopped() {
            end = self.files.walk(&self.without_ignore_files(), &visitor);
            self.whole.store(true, Ordering::Relaxed);
        }
        let WalkEnd { bounded, .. } = end;
        if bounded {
            notices.push(format!(
                "The search ended after {} entries.",
                self.walk.max_entries
            ));
        }
    }

    fn without_ignore_files(&self) -> Walk<'a> {
        Walk {
            ignore_files: false,
            ..self.walk
        }
    }

    /// The first of the files and folders that the ignore files left out and `wanted` says yes to;
    /// `was_seen` says which were not left out. The look is bounded.
    pub(crate) fn left_out(
        &self,
        wanted: impl Fn(&WalkEntry<'_>) -> bool + Sync,
        was_seen: &(dyn Fn(&Path) -> bool + Sync),
    ) -> Option<PathBuf> {
        if self.whole.load(Ordering::Relaxed) {
            return None;
        }
        let found: Mutex<Option<PathKey>> = Mutex::new(None);
        let walk = Walk {
            max_entries: MAX_SECOND_LOOK,
            ..self.without_ignore_files()
        };
        self.files.walk(&walk, &|entry| {
            let better = |found: &Option<PathKey>| {
                found
                    .as_ref()
                    .is_none_or(|found| found.is_after(entry.path))
            };
            if !better(&lock(&found)) {
                return Next::Skip;
            }
            if wanted(entry) && !was_seen(entry.path) {
                let mut found = lock(&found);
                if better(&found) {
                    *found = Some(PathKey::new(entry.path));
                }
            }
            Next::On
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.map(PathKey::into_path)
    }
}

/// The paths that a walk came to, or rather a number for each: enough to say that one is not among
/// them, but for a chance of one in many millions.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    paths: Mutex<HashSet<u64>>,
    hash: RandomState,
}

impl Seen {
    pub(crate) fn insert(&self, path: &Path) {
        let number = self.hash.hash_one(path.as_os_str());
        lock(&self.paths).insert(number);
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        let number = self.hash.hash_one(path.as_os_str());
        lock(&self.paths).contains(&number)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
