//! A skill in use.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use harness_frontmatter::{Diagnostic, Severity};

use crate::catalogue::Catalogue;
use crate::escape::{enclosed, escaped, escaped_path};
use crate::examination::{FilePlace, examine_as};
use crate::finding::Finding;
use crate::instructions::instructions;
use crate::limits::Limits;
use crate::lookup::LookupError;
use crate::resource::{Resources, resources};
use crate::skill::{Digest, Location, Skill, SkillFields};
use crate::skill_file::{Refusal, SkillFile};

/// The element that a skill in use stands in.
pub const SKILL_CONTENT: &str = "skill_content";

/// A skill in use: its instructions, read when it was activated, and what else is in its folder.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Activation {
    /// The skill, as its file is now: it may have changed since it was listed.
    pub skill: Arc<Skill>,
    /// The instructions: with plain line ends, without blank lines around them, else as they are. Nothing in
    /// them is expanded or run.
    pub instructions: String,
    /// The files in its folder, by their paths in it.
    pub resources: Resources,
    /// What is to be told of it.
    pub diagnostics: Vec<Diagnostic>,
    raw: Vec<u8>,
    body: Range<usize>,
}

/// The most bytes of instructions in one text. More would be cut elsewhere, in the middle of the element.
const MAX_SHOWN: usize = 128 * 1024;

/// The beginning of long instructions, up to the end of a line if there is one.
fn head(text: &str) -> &str {
    if text.len() <= MAX_SHOWN {
        return text;
    }
    let head = &text[..text.floor_char_boundary(MAX_SHOWN)];
    match head.rfind('\n') {
        Some(end) => &head[..end],
        None => head,
    }
}

/// Why a skill cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActivationError {
    /// Its name leads to none.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Its file is gone.
    #[error("the skill `{name}` has been removed: {} is not there any more", .file.display())]
    Removed {
        /// Its name.
        name: String,
        /// Where its file was.
        file: PathBuf,
    },
    /// Its file was changed, and cannot be loaded any more.
    #[error("the skill `{name}` cannot be loaded any more: {problem}")]
    Invalid {
        /// Its name.
        name: String,
        /// Its file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Catalogue {
    /// Reads a skill for use, afresh; see [`find`](Self::find) for what names may be. Blocks for as long as
    /// that takes.
    pub fn activate(&self, name: &str, limits: &Limits) -> Result<Activation, ActivationError> {
        Activation::of(self.find(name)?, limits)
    }
}

impl Activation {
    /// Reads the file of a skill.
    pub fn of(skill: &Arc<Skill>, limits: &Limits) -> Result<Self, ActivationError> {
        let name = skill.name();
        let form = skill.surroundings.form;
        let (raw, place) = match &skill.location {
            Location::Text(text) => {
                // Its folder's name may be all the name that it has.
                let place = FilePlace {
                    folder: Some(OsStr::new(&skill.fields.name)),
                    file: None,
                };
                (text.as_bytes().to_vec(), place)
            }
            Location::File { file, directory } => {
                let place = form.place(file, skill.surroundings.folder_name(directory));
                match SkillFile::read(file, skill.surroundings.boundary.as_deref(), limits) {
                    Ok(read) => (read.bytes, place),
                    Err(Refusal::Gone) => {
                        let file = file.clone();
                        return Err(ActivationError::Removed { name, file });
                    }
                    Err(Refusal::Bad(finding, _)) => {
                        let file = file.clone();
                        let problem = finding.message;
                        return Err(ActivationError::Invalid {
                            name,
                            file,
                            problem,
                        });
                    }
                }
            }
        };
        let examination = examine_as(form, &raw, &place, limits);
        let is_text = matches!(skill.location, Location::Text(_));
        if !is_text && !examination.loads() {
            let fatal = |finding: &&Finding| finding.lenient == Some(Severity::Error);
            let problem = examination.findings.iter().find(fatal);
            return Err(ActivationError::Invalid {
                name,
                file: skill.file().map(Into::into).unwrap_or_default(),
                problem: problem.map(|p| p.message.clone()).unwrap_or_default(),
            });
        }
        let mut current = (**skill).clone();
        current.digest = Digest::of(&raw);
        let body = if is_text && !examination.loads() {
            0..raw.len()
        } else {
            current.fields = SkillFields {
                // The name that it was found by.
                name: current.fields.name,
                ..examination.fields.clone()
            };
            examination.body.clone()
        };
        let text = String::from_utf8_lossy(raw.get(body.clone()).unwrap_or_default());
        let instructions = instructions(&text);
        let told = examination.findings.iter().filter_map(Finding::lenient);
        // A text without fields is one that the program itself has made.
        let told = told.filter(|_| !is_text || examination.loads());
        let diagnostics = told.map(|mut diagnostic| {
            diagnostic.path = skill.file().map(Into::into);
            diagnostic
        });
        Ok(Self {
            instructions,
            resources: resources(skill, limits),
            diagnostics: diagnostics.collect(),
            skill: Arc::new(current),
            raw,
            body,
        })
    }

    /// The body of the file, byte for byte.
    pub fn raw_body(&self) -> &[u8] {
        self.raw.get(self.body.clone()).unwrap_or_default()
    }

    /// What tells this content from another one.
    pub fn digest(&self) -> Digest {
        self.skill.digest
    }

    /// The instructions as a model is given them: in an element that names the skill, with the folder that
    /// its paths are relative to, and a list of the files in it. Nothing in the instructions can end the
    /// element. Of more than 128 KiB, the beginning is given, and the model is told where the rest is.
    pub fn text(&self) -> String {
        let skill = &self.skill;
        let mut text = format!(
            "<{SKILL_CONTENT} name=\"{}\" digest=\"{}\" location=\"{}\">\n",
            escaped(&skill.name()),
            self.digest(),
            escaped_path(&skill.location_text())
        );
        let shown = head(&self.instructions);
        text.push_str(&enclosed(shown, &["skill_"]));
        text.push('\n');
        if shown.len() < self.instructions.len() {
            let all = self.instructions.len();
            let _ = writeln!(
                text,
                "[cut: {} of {all} bytes; read the file for the rest]",
                shown.len()
            );
        }
        if let Some(directory) = skill.directory() {
            let directory = directory.display().to_string();
            text.push_str("\nPaths in it are relative to the skill's folder: ");
            text.push_str(&escaped_path(&directory));
            text.push('\n');
        }
        if !self.resources.files.is_empty() {
            text.push_str("<skill_resources>\n");
            for file in &self.resources.files {
                let file = file.display().to_string();
                let _ = writeln!(text, "<file>{}</file>", escaped_path(&file));
            }
            if self.resources.more {
                text.push_str("<!-- there are more -->\n");
            }
            text.push_str("</skill_resources>\n");
        }
        let _ = write!(text, "</{SKILL_CONTENT}>");
        text
    }

    /// What a model is told when it has this very content already.
    pub fn note_of_repetition(&self) -> String {
        format!(
            "The skill `{}` is loaded already, and has not changed: follow the instructions above.",
            self.skill.name()
        )
    }
}
