//! Where runs take place.

use std::path::{Path, PathBuf};

use crate::surroundings::Surroundings;

/// Where runs take place, and how far that place is trusted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlaceOfRuns {
    /// The workspace, for runs that have no working folder of their own.
    pub root: PathBuf,
    /// The user's home: what `~/` of a rule and of a command means. Without it, rules with `~/` are about
    /// nothing. It is not looked up.
    pub home: Option<PathBuf>,
    /// The folder for temporary files.
    pub temp: Option<PathBuf>,
    /// Whether the user trusts the project.
    pub is_trusted: bool,
    /// Whether commands run in a sandbox. It is taken at its word, and lets commands of a trusted project run
    /// unasked: whoever sets it must have them confined, by `Workspace::with_sandbox` of `harness-tools`
    /// (feature `sandbox`).
    pub is_sandboxed: bool,
}

impl PlaceOfRuns {
    /// A workspace that is not trusted, without a sandbox.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            home: None,
            temp: None,
            is_trusted: false,
            is_sandboxed: false,
        }
    }

    /// Whether it is no project, but the home, a folder around it, or all of the machine. What the built-in rules
    /// open in a trusted project, they do not open there, but for the temporary folder.
    pub fn is_wide(&self) -> bool {
        self.surroundings(None).is_wide()
    }

    /// What decisions depend on beside the rules, for a run in `root`. Paths are made real, since rules are
    /// about real ones.
    pub fn surroundings(&self, root: Option<&Path>) -> Surroundings {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = match root {
            Some(root) => self.root.join(root),
            None => self.root.clone(),
        };
        let mut surroundings = Surroundings::new(real(&root))
            .trusted(self.is_trusted)
            .sandboxed(self.is_sandboxed);
        if let Some(home) = &self.home {
            surroundings = surroundings.with_home(real(home));
        }
        if let Some(temp) = &self.temp {
            surroundings = surroundings.with_temp(real(temp));
        }
        surroundings
    }
}
