//! The files below a folder, as `grep` and `find` see them.
//!
//! Hidden files are seen; `.git` is not, nor what the ignore files exclude — also outside a
//! repository. A folder that is itself excluded and was named all the same is seen whole. Symlinks
//! are not followed.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::blocking::Stop;

/// As many threads as pay for reading folders.
const MAX_THREADS: usize = 8;

/// How many entries are looked at, to tell whether something was left out.
const MAX_SECOND_LOOK: usize = 50_000;

/// Where to walk, and how far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    /// The folder, by its real path.
    pub(crate) folder: &'a Path,
    /// The real path of the workspace.
    pub(crate) root: Option<&'a Path>,
    /// How many entries are visited.
    pub(crate) max_entries: usize,
    /// Looked at between entries.
    pub(crate) stop: &'a Stop,
}

/// What a visitor says about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on, into this folder.
    On,
    /// Leave this folder out.
    Skip,
}

impl Walk<'_> {
    /// Visits everything, on several threads, in no order. True if the bound ended it.
    pub(crate) fn visit(&self, visitor: impl Fn(&DirEntry) -> Next + Sync) -> bool {
        self.visit_with(&self.builder(true), &visitor)
    }

    fn visit_with(
        &self,
        builder: &WalkBuilder,
        visitor: &(impl Fn(&DirEntry) -> Next + Sync),
    ) -> bool {
        let visited = AtomicUsize::new(0);
        let bounded = AtomicBool::new(false);
        builder.build_parallel().run(|| {
            Box::new(|entry| {
                if self.stop.is_stopped() {
                    return WalkState::Quit;
                }
                // What cannot be read is left out, as by other search tools.
                let Ok(entry) = entry else {
                    return WalkState::Continue;
                };
                if entry.depth() == 0 {
                    return WalkState::Continue;
                }
                if visited.fetch_add(1, Ordering::Relaxed) >= self.max_entries {
                    bounded.store(true, Ordering::Relaxed);
                    return WalkState::Quit;
                }
                match visitor(&entry) {
                    Next::On => WalkState::Continue,
                    Next::Skip => WalkState::Skip,
                }
            })
        });
        bounded.into_inner()
    }

    fn builder(&self, respect_ignore: bool) -> WalkBuilder {
        let mut builder = WalkBuilder::new(self.folder);
        let parents = respect_ignore && !self.is_excluded();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        builder
            .hidden(false)
            .parents(parents)
            .ignore(respect_ignore)
            .git_ignore(respect_ignore)
            .git_exclude(respect_ignore)
            // The user's own settings are in the environment, and files of a project are not.
            .git_global(false)
            .require_git(false)
            .follow_links(false)
            .threads(threads.min(MAX_THREADS))
            .current_dir(self.folder)
            .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
        builder
    }

    /// Whether the folder itself is excluded by the ignore files above it.
    fn is_excluded(&self) -> bool {
        let above = self
            .root
            .filter(|root| self.folder.starts_with(root))
            .or_else(|| {
                self.folder
                    .ancestors()
                    .skip(1)
                    .find(|folder| folder.join(".git").exists())
            });
        let Some(above) = above else { return false };
        let Ok(below) = self.folder.strip_prefix(above) else {
            return false;
        };
        if below.as_os_str().is_empty() {
            return false;
        }
        if below.components().any(|part| part.as_os_str() == ".git") {
            return true;
        }
        let mut builder = WalkBuilder::new(above);
        builder
            .hidden(false)
            .git_global(false)
            .require_git(false)
            .current_dir(above);
        let mut matchers = builder.build_matchers();
        matchers
            .first_mut()
            .is_some_and(|matcher| matcher.matched(below, true).is_ignore())
    }

    /// Whether the ignore files leave out a file or folder that `wanted` says yes to; one such, below
    /// the folder. `all_unwanted` says that `wanted` says no to everything that is not left out. The
    /// look is bounded.
    pub(crate) fn left_out(
        &self,
        wanted: impl Fn(&DirEntry) -> bool + Sync,
        all_unwanted: bool,
    ) -> Option<PathBuf> {
        let seen = Mutex::new(std::collections::HashSet::new());
        let lock = || {
            seen.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let bounded = Walk {
            max_entries: MAX_SECOND_LOOK,
            ..*self
        };
        if !all_unwanted {
            bounded.visit(|entry| {
                lock().insert(entry.path().to_owned());
                Next::On
            });
        }
        let found: Mutex<Option<PathBuf>> = Mutex::new(None);
        bounded.visit_with(&self.builder(false), &|entry: &DirEntry| {
            let mut found = found
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if found.as_deref().is_some_and(|found| found <= entry.path()) {
                return Next::Skip;
            }
            if wanted(entry) && !lock().contains(entry.path()) {
                *found = Some(entry.path().to_owned());
            }
            Next::On
        });
        found
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
