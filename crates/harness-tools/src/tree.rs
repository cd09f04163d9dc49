//! The files below a folder, as `grep` and `find` see them.
//!
//! Hidden files are seen; `.git` is not, nor what the ignore files exclude — also outside a
//! repository. A folder in which all is excluded, and that was named all the same, is seen whole.
//! Symlinks are not followed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::blocking::Stop;
use crate::files::{Files, Next, Walk, WalkEnd, WalkEntry};
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

    /// One of the files and folders that the ignore files left out and `wanted` says yes to. The look
    /// is bounded.
    pub(crate) fn left_out(
        &self,
        wanted: impl Fn(&WalkEntry<'_>) -> bool + Sync,
    ) -> Option<PathBuf> {
        if self.whole.load(Ordering::Relaxed) {
            return None;
        }
        let seen = Mutex::new(HashSet::new());
        let found: Mutex<Option<PathBuf>> = Mutex::new(None);
        let bounded = |walk: Walk<'a>| Walk {
            max_entries: MAX_SECOND_LOOK,
            ..walk
        };
        self.files.walk(&bounded(self.walk), &|entry| {
            lock(&seen).insert(entry.path.to_owned());
            Next::On
        });
        let without = bounded(self.without_ignore_files());
        self.files.walk(&without, &|entry| {
            let mut found = lock(&found);
            if found.as_deref().is_some_and(|found| found <= entry.path) {
                return Next::Skip;
            }
            if wanted(entry) && !lock(&seen).contains(entry.path) {
                *found = Some(entry.path.to_owned());
            }
            Next::On
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
