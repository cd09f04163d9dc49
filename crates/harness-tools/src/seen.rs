//! Which state of which file a run has seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::version::FileVersion;

/// How many files are remembered; beyond, all are forgotten, which only loses a warning.
const MAX_FILES: usize = 10_000;

/// The files that a run has read or written, each with the state that it was in.
///
/// `write` refuses to replace a file whose content changed since the run saw it. The record lives in
/// the attributes of the run's context, so that runs of different users do not share it; a host that
/// wants it to last over the runs of a session puts the same one into each run's attributes.
#[derive(Clone, Debug, Default)]
pub struct SeenFiles(Arc<Mutex<HashMap<PathBuf, FileVersion>>>);

impl SeenFiles {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers the state of the file with this real path.
    pub fn record(&self, real: &Path, version: FileVersion) {
        let mut files = self.lock();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        files.insert(real.to_owned(), version);
    }

    /// The state that was seen last.
    pub fn version(&self, real: &Path) -> Option<FileVersion> {
        self.lock().get(real).copied()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, FileVersion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
