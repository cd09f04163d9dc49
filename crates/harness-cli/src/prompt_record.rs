//! The system prompt of the last run in a folder, kept so that one can see what changed since.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use harness_core::{Section, SystemPrompt};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::named_file;
use crate::setup::folder_key;

/// Where the record of a folder is. Only its owner can read it: a prompt holds what is in the user's
/// own files.
#[derive(Debug)]
pub(crate) struct PromptRecord {
    path: PathBuf,
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Record {
    folder: PathBuf,
    sections: Vec<Recorded>,
}

#[derive(Serialize, Deserialize)]
struct Recorded {
    name: String,
    stable: bool,
    source: String,
    text: String,
}

impl PromptRecord {
    /// The record of a working folder; `None` if there is no place for it.
    pub(crate) fn of(environment: &Environment, folder: &Path) -> Option<Self> {
        let name = format!("{}.json", folder_key(folder));
        Some(Self {
            path: environment.state_folder()?.join("prompts").join(name),
            folder: folder.to_owned(),
        })
    }

    /// Keeps a prompt, in the place of the last one.
    pub(crate) fn keep(&self, prompt: &SystemPrompt) -> io::Result<()> {
        let record = Record {
            folder: self.folder.clone(),
            sections: prompt
                .sections()
                .iter()
                .map(|section| Recorded {
                    name: section.name.to_string(),
                    stable: section.stable,
                    source: section.source.to_string(),
                    text: section.text.to_string(),
                })
                .collect(),
        };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Two runs may end at once: each writes a file of its own, and one of them stays.
        let unfinished = self.path.with_extension(std::process::id().to_string());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options
            .open(&unfinished)
            .and_then(|mut file| file.write_all(&serde_json::to_vec(&record)?))
            .and_then(|()| fs::rename(&unfinished, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// The prompt that was kept; `None` if there is none, or none that can be read.
    pub(crate) fn last(&self) -> Option<SystemPrompt> {
        let text = named_file::read(&self.path).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        if record.folder != self.folder {
            return None;
        }
        let sections = record.sections.into_iter().map(|recorded| {
            let section = Section::new(recorded.name, recorded.text, recorded.source);
            if recorded.stable {
                section
            } else {
                section.volatile()
            }
        });
        Some(sections.fold(SystemPrompt::default(), SystemPrompt::with))
    }
}
