//! A skill.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_frontmatter::{Entry, Mapping};

use crate::form::Form;
use crate::layer::Layer;
use crate::name::{Identity, shown, slug};
use crate::surroundings::Surroundings;

/// A skill that can be loaded: what its file says of itself, and where it is.
///
/// The instructions themselves are not kept: they are read, always afresh, when the skill is
/// [activated](crate::Catalogue::activate).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Skill {
    /// What its file says.
    pub fields: SkillFields,
    /// The layer that it comes from.
    pub layer: Layer,
    /// Where it was fetched from, for those of a repository.
    pub origin: Option<Arc<str>>,
    /// The name before the colon in `namespace:name`.
    pub namespace: Option<Arc<str>>,
    /// Where its file is.
    pub location: Location,
    /// How high it stands: 0 is the highest. Skills with a larger number give way first when there is no
    /// room for all.
    pub precedence: u32,
    /// What tells this content from another one.
    pub digest: Digest,
    pub(crate) identity: Identity,
    pub(crate) surroundings: Surroundings,
}

/// What a `SKILL.md` says of itself.
///
/// The first six are those of the standard (agentskills.io), the next three are what clients have added,
/// and then come those of a richer model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillFields {
    /// `name`: as it was declared, in one line, without characters that cannot be seen. The folder's name
    /// if none was declared.
    pub name: String,
    /// `description`: what it does, and when to use it. Never blank; may have several lines.
    pub description: String,
    /// `license`: a name, or the file that has it.
    pub license: Option<String>,
    /// `compatibility`: what it needs.
    pub compatibility: Option<String>,
    /// `metadata`: whatever else its author says, in the order of the file.
    pub metadata: Option<Mapping>,
    /// `allowed-tools`: the tools that its author expects to be used, in their order. It grants nothing.
    /// `None` if the file does not say.
    pub allowed_tools: Option<Vec<String>>,
    /// `disable-model-invocation`: the model is not told of it; a person can still call it up.
    pub disable_model_invocation: bool,
    /// `user-invocable`: whether it is one of the commands that a person is offered. Default: yes.
    pub user_invocable: bool,
    /// `argument-hint`: what a person can write behind its command.
    pub argument_hint: Option<String>,
    /// `version`, as it was written: `1.10` is no `1.1`.
    pub version: Option<String>,
    /// `author`.
    pub author: Option<String>,
    /// `tags`.
    pub tags: Vec<String>,
    /// `references`: files or addresses to look at.
    pub references: Vec<String>,
    /// `examples`.
    pub examples: Vec<Example>,
    /// All other fields, in the order of the file.
    pub extra: Vec<Entry>,
}

/// An example of a skill's use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// When it is of use.
    pub scenario: Option<String>,
    /// What a person would say.
    pub prompt: Option<String>,
    /// What should come of it.
    pub expected_outcome: Option<String>,
}

/// Where a skill's file is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// On disk.
    File {
        /// The path by which it was found, absolute.
        file: PathBuf,
        /// Its folder, as it was found: what paths in the skill are relative to.
        directory: PathBuf,
    },
    /// In the program.
    Text(Arc<str>),
}

/// What tells one content of a file from another: its length and a hash of 64 bits (`SipHash`). To make
/// another content for a digest that is there takes brute force. Builds with different releases of Rust
/// may give different ones, so it is not for storing for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest {
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
}

impl Skill {
    /// One that is part of the program: its name, its description and its instructions. It ranks first,
    /// and people are offered it.
    pub fn from_text(
        layer: Layer,
        name: &str,
        description: &str,
        body: impl Into<Arc<str>>,
    ) -> Self {
        let body = body.into();
        Self {
            fields: SkillFields {
                name: shown(name),
                description: description.to_owned(),
                user_invocable: true,
                ..SkillFields::default()
            },
            layer,
            origin: None,
            namespace: None,
            precedence: 0,
            digest: Digest::of(body.as_bytes()),
            location: Location::Text(body),
            identity: Identity::of(name),
            surroundings: Surroundings::default(),
        }
    }

    /// The name that it goes by: `name`, or `namespace:name`.
    pub fn name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}:{}", self.fields.name),
            None => self.fields.name.clone(),
        }
    }

    /// What it does, and when to use it.
    pub fn description(&self) -> &str {
        &self.fields.description
    }

    /// The name of its command: of `a-z`, `0-9` and `-` only, and a colon behind the namespace. `None` if
    /// that leaves nothing, or if it would be too long.
    pub fn command(&self) -> Option<String> {
        let name = slug(&self.fields.name)?;
        match &self.namespace {
            Some(namespace) => Some(format!("{}:{name}", slug(namespace)?)),
            None => Some(name),
        }
    }

    /// What its name is compared by.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its file, if it is on disk.
    pub fn file(&self) -> Option<&Path> {
        match &self.location {
            Location::File { file, .. } => Some(file),
            Location::Text(_) => None,
        }
    }

    /// Its folder, if it is on disk. The file of an [agent](crate::Form::Agents) has none of its own.
    pub fn directory(&self) -> Option<&Path> {
        match &self.location {
            Location::File { directory, .. } if self.surroundings.form == Form::Skills => {
                Some(directory)
            }
            Location::File { .. } | Location::Text(_) => None,
        }
    }

    /// Where it is, in words for a model and for people: the path of its file, or `built-in:NAME`.
    pub fn location_text(&self) -> String {
        match self.file() {
            Some(file) => file.display().to_string(),
            None => format!("{}:{}", self.layer, self.fields.name),
        }
    }

    /// Whether the model is told of it.
    pub fn is_for_models(&self) -> bool {
        !self.fields.disable_model_invocation
    }

    /// Whether a person is offered its command.
    pub fn is_for_users(&self) -> bool {
        self.fields.user_invocable
    }
}

impl Digest {
    /// Of a file's bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        let hash = hasher.finish();
        Self {
            bytes: bytes.len() as u64,
            hash,
        }
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.hash)
    }
}
