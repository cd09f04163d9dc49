//! The prompts that a person and a project have written, beside the built-in ones.

use std::path::{Path, PathBuf};

use harness_agent::prompt::{Layer, Library};

use crate::environment::Environment;
use crate::project_trust::ProjectTrust;
use crate::settings::{Settings, in_project};
use crate::stderr;

/// A library, and what is wrong with the files that it was read from.
#[derive(Debug, Default)]
pub(crate) struct PromptLibrary {
    pub(crate) library: Library,
    pub(crate) problems: Vec<String>,
    /// The project's folder, if it was not read because nobody trusts the project.
    pub(crate) untrusted: Option<PathBuf>,
}

impl PromptLibrary {
    /// Reads the user's `prompts` folder, and then the project's, which shadows it by name.
    pub(crate) fn read(environment: &Environment, settings: &Settings, folder: &Path) -> Self {
        let mut read = Self::default();
        if let Some(config) = environment.config_folder() {
            read.add(Layer::User, &config.join("prompts"));
        }
        let name = Path::new(".harness").join("prompts");
        if let Some(prompts) = in_project(folder, &name) {
            let project = prompts.parent().and_then(Path::parent).unwrap_or(folder);
            if settings.trust.trusts(project) {
                read.add(Layer::Project, &prompts);
            } else {
                read.untrusted = Some(prompts);
            }
        }
        read
    }

    /// Says which folder was passed over, and how to have it read.
    pub(crate) fn tell_untrusted(&self, trust: &ProjectTrust) {
        if let Some(folder) = &self.untrusted {
            stderr::note(&format!(
                "{} is not read; {}",
                folder.display(),
                trust.way()
            ));
        }
    }

    fn add(&mut self, layer: Layer, folder: &Path) {
        let told = self.library.read_folder(layer, folder);
        let reserved = folder.join("plan.md");
        if reserved.exists() {
            let path = reserved.display();
            self.problems.push(format!(
                "{path}: not used: /plan is a command of harness itself"
            ));
        }
        self.problems.extend(told.iter().map(ToString::to_string));
    }
}
