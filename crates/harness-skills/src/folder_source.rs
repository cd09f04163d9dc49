//! A folder that is there anyway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::name::shown;
use crate::source::{Checkout, SkillSource, SourceError, Update};

/// A plain folder: a network drive, a checkout that somebody else keeps. Nothing is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSource {
    folder: PathBuf,
}

impl FolderSource {
    /// Of a folder, which need not be there yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn none(&self) -> SourceError {
        SourceError::NoFolder {
            folder: self.folder.clone(),
        }
    }
}

impl SkillSource for FolderSource {
    fn origin(&self) -> String {
        shown(&format!("folder {}", self.folder.display()))
    }

    fn cached(&self) -> Result<Option<Checkout>, SourceError> {
        match fs::metadata(&self.folder) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(Checkout::new(&self.folder, None))),
            Ok(_) => Err(self.none()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SourceError::io("look at", &self.folder)(error)),
        }
    }

    /// Nothing is: somebody else has to make the folder.
    fn fetches(&self) -> bool {
        false
    }

    /// The folder as it is: never changed, as far as this can tell. An error if it is not there.
    fn update(&self) -> Result<Update, SourceError> {
        let checkout = self.cached()?.ok_or_else(|| self.none())?;
        Ok(Update::new(checkout, false))
    }
}
