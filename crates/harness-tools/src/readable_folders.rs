//! Folders that one session may read.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Folders outside the workspace that one session may read even if reading is confined: what its program has
/// told the model of. It lives in the attributes of the session's caller, so that no user gains what another
/// one has: `attributes.get_or_insert_with(ReadableFolders::default)`.
///
/// For folders that all may read, see [`Workspace::with_readable`](crate::Workspace::with_readable).
#[derive(Debug, Default)]
pub struct ReadableFolders(Mutex<Arc<[PathBuf]>>);

impl ReadableFolders {
    /// Replaces the folders.
    pub fn set(&self, folders: Arc<[PathBuf]>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = folders;
    }

    /// The folders.
    pub fn get(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
