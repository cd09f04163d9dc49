//! What a decision depends on beside the rules.

use std::path::{Path, PathBuf};

use crate::paths::{FileSystem, Paths};

/// Where calls run, and how far that place is trusted.
#[derive(Debug)]
pub struct Surroundings {
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) temp: Option<PathBuf>,
    pub(crate) is_trusted: bool,
    pub(crate) is_sandboxed: bool,
    pub(crate) paths: Box<dyn Paths>,
}

impl Surroundings {
    /// A workspace at `root`, absolute and real; not trusted, without a sandbox, on this machine's file
    /// system.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            home: None,
            temp: None,
            is_trusted: false,
            is_sandboxed: false,
            paths: Box::new(FileSystem),
        }
    }

    /// The home that commands have and `~/…` of a rule means: absolute and real.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The folder for temporary files of this workspace: absolute and real.
    pub fn with_temp(mut self, temp: impl Into<PathBuf>) -> Self {
        self.temp = Some(temp.into());
        self
    }

    /// Whether the user trusts the project.
    pub fn trusted(mut self, is_trusted: bool) -> Self {
        self.is_trusted = is_trusted;
        self
    }

    /// Whether commands run where they cannot write outside of the workspace.
    pub fn sandboxed(mut self, is_sandboxed: bool) -> Self {
        self.is_sandboxed = is_sandboxed;
        self
    }

    /// Who follows links.
    pub fn with_paths(mut self, paths: impl Paths + 'static) -> Self {
        self.paths = Box::new(paths);
        self
    }

    /// The workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home, if there is one.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether the workspace is no project, but the home, a folder around it, or all of the machine.
    pub fn is_wide(&self) -> bool {
        is_wide(&self.root, self.home.as_deref())
    }

    /// Whether the user trusts the project.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }
}

/// Whether a folder is the home, one around it, or the root. Real paths.
pub(crate) fn is_wide(folder: &Path, home: Option<&Path>) -> bool {
    folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder))
}
