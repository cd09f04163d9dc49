//! Whether the project that is worked in may change how the agent works.

use std::path::{Path, PathBuf};

use harness_trust::{ProjectTrust as Found, Trust, TrustStore};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::repository_root;
use crate::trust_arguments::TrustFlags;

/// What is said of the project's trust: by a flag for this command, else by the user's store.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectTrust {
    store: Option<TrustStore>,
    flag: Option<Trust>,
    /// The folder that is worked in.
    folder: PathBuf,
    /// What the store says of it.
    found: Found,
    /// The user's home.
    home: Option<PathBuf>,
}

impl ProjectTrust {
    /// Looks a folder up. A store that cannot be used is an error, whatever the flags are: what it refuses is not
    /// known then.
    pub(crate) fn read(
        environment: &Environment,
        folder: &Path,
        flags: TrustFlags,
    ) -> Result<Self, Failure> {
        let store = store(environment);
        let flag = match (flags.trust, flags.no_trust) {
            (true, _) => Some(Trust::Full),
            (_, true) => Some(Trust::None),
            _ => None,
        };
        let found = store.as_ref().map(|store| store.find(folder)).transpose();
        let found = found.map_err(|error| {
            Failure::configuration(error.to_string())
                .hint("`harness trust list` shows what it says once it can be read")
        })?;
        Ok(Self {
            store,
            flag,
            folder: folder.to_owned(),
            found: found.unwrap_or_default(),
            home: environment.home(),
        })
    }

    /// Whether the folder that is worked in is trusted.
    pub(crate) fn is_full(&self) -> bool {
        match self.flag {
            Some(flag) => flag == Trust::Full,
            None => self.found.is_full() && self.too_wide().is_none(),
        }
    }

    /// What a word of the store for the whole of it would trust, if that is no project: it counts for nothing then.
    fn too_wide(&self) -> Option<&'static str> {
        let (_, folder) = self.found.trust.as_ref()?;
        width(folder, self.home.as_deref())
    }

    /// What all lies in the folder that is worked in, if that is no project.
    pub(crate) fn width(&self) -> Option<&'static str> {
        width(&self.folder, self.home.as_deref())
    }

    /// Whether the whole project can be trusted for longer than one command.
    pub(crate) fn can_be_kept(&self) -> bool {
        width(self.project(), self.home.as_deref()).is_none()
    }

    /// Whether anybody has said anything of it.
    pub(crate) fn is_decided(&self) -> bool {
        self.flag.is_some() || self.found.trust.is_some()
    }

    /// Whether the files of a project, which is the folder that is worked in or one above it, may be used.
    pub(crate) fn trusts(&self, project: &Path) -> bool {
        match (self.flag, &self.found.trust, &self.store) {
            (Some(flag), ..) => flag == Trust::Full,
            // Who said no to a folder within a trusted one wants nothing from above there, either.
            (None, Some((Trust::None, _)), _) | (None, _, None) => false,
            (None, _, Some(store)) => store.find(project).is_ok_and(|found| {
                let folder = found.trust.as_ref().map(|(_, folder)| folder);
                let is_wide = |folder: &PathBuf| width(folder, self.home.as_deref()).is_some();
                found.is_full() && !folder.is_some_and(is_wide)
            }),
        }
    }

    /// The project: the repository that is worked in, or the folder.
    pub(crate) fn project(&self) -> &Path {
        repository_root(&self.folder).unwrap_or(&self.folder)
    }

    /// What the store says of the folder.
    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// The store.
    pub(crate) fn store(&self) -> Option<&TrustStore> {
        self.store.as_ref()
    }

    /// What trusts the project, in words that follow a semicolon.
    pub(crate) fn way(&self) -> String {
        if !self.can_be_kept() {
            return "--trust trusts its project for one command".to_owned();
        }
        format!(
            "`harness trust allow {}` trusts its project, --trust does so for one command",
            shell_word(&self.project().display().to_string())
        )
    }

    /// Where the word for the project's trust comes from, for people.
    pub(crate) fn explain(&self) -> String {
        match (self.flag, &self.found.trust) {
            (Some(Trust::Full), _) => "trusted for this command".to_owned(),
            (Some(Trust::None), _) => "not trusted: so it was said for this command".to_owned(),
            (None, Some((Trust::Full, folder))) if self.too_wide().is_some() => format!(
                "not trusted: {} is too wide to be, but for one command (--trust)",
                folder.display()
            ),
            (None, Some((trust, folder))) => {
                let not = if *trust == Trust::None { "not " } else { "" };
                format!("{not}trusted, by what was said of {}", folder.display())
            }
            (None, None) => "not trusted: nobody has said so".to_owned(),
        }
    }
}

/// What lies in a folder, if it is no project: the home, a folder around it, or all of the machine.
pub(crate) fn width(folder: &Path, home: Option<&Path>) -> Option<&'static str> {
    let home = home.and_then(|home| home.canonicalize().ok());
    match home {
        _ if folder.parent().is_none() => Some("every folder of the machine"),
        Some(home) if home.starts_with(folder) => Some("everything in your home folder"),
        _ => None,
    }
}

/// The user's store of trust.
pub(crate) fn store(environment: &Environment) -> Option<TrustStore> {
    let data = environment.data_folder()?;
    Some(TrustStore::new(data.join("trust.toml")))
}

/// A word as a shell reads it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
