//! All skills, as they were at one time.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use harness_frontmatter::{Diagnostic, Severity};

use crate::layer::Layer;
use crate::lookup::{LookupError, near};
use crate::name::Identity;
use crate::skill::Skill;

/// All skills, as they were at one time, with who has which name. It never changes: a
/// [refresh](crate::Skills::refresh) makes a new one.
///
/// Listing, activation, commands and completion all ask it, so they cannot disagree.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
    notes: Vec<Diagnostic>,
    roots: Vec<RootReport>,
    by_name: HashMap<Identity, Vec<usize>>,
    by_command: HashMap<String, Vec<usize>>,
}

/// A skill of a catalogue, good or bad.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The skill. Of an invalid one, what could be read.
    pub skill: Arc<Skill>,
    /// Whether it can be used.
    pub status: Status,
    /// What is to be told of it, with its path.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether a skill can be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// It has its name: `active`.
    Active,
    /// Another one has it: `shadowed`. It can still be addressed with its layer.
    Shadowed {
        /// The one that has it.
        by: Arc<Skill>,
        /// Whether both are the same, byte for byte.
        same_content: bool,
    },
    /// It is listed and not loaded: `held`.
    Held {
        /// Why.
        reason: Arc<str>,
    },
    /// It cannot be loaded: `invalid`.
    Invalid,
}

/// A root, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootReport {
    /// Its layer.
    pub layer: Layer,
    /// Its folder; `None` for skills that are part of the program, and for a source that has not been fetched.
    pub path: Option<PathBuf>,
    /// Where it was fetched from.
    pub origin: Option<Arc<str>>,
    /// Its namespace.
    pub namespace: Option<Arc<str>>,
    /// Whether nothing shadows its skills.
    pub locked: bool,
    /// Why its skills are not loaded, if they are not.
    pub held: Option<Arc<str>>,
    /// How many skills were found in it, good and bad.
    pub found: usize,
}

impl Status {
    /// Its word: `active`, `shadowed`, `held` or `invalid`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Shadowed { .. } => "shadowed",
            Self::Held { .. } => "held",
            Self::Invalid => "invalid",
        }
    }

    /// How far it is from being used.
    fn rank(&self) -> u8 {
        match self {
            Self::Active => 0,
            Self::Shadowed { .. } => 1,
            Self::Held { .. } => 2,
            Self::Invalid => 3,
        }
    }

    /// Whether it is the one that has its name.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active)
    }
}

impl Catalogue {
    pub(crate) fn new(entries: Vec<Entry>, notes: Vec<Diagnostic>, roots: Vec<RootReport>) -> Self {
        let mut by_name: HashMap<Identity, Vec<usize>> = HashMap::with_capacity(entries.len());
        let mut by_command: HashMap<String, Vec<usize>> = HashMap::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            let name = entry.skill.identity.clone();
            by_name.entry(name).or_default().push(number);
            if entry.status.is_active()
                && let Some(command) = entry.skill.command()
            {
                by_command.entry(command).or_default().push(number);
            }
        }
        Self {
            entries,
            notes,
            roots,
            by_name,
            by_command,
        }
    }

    /// All skills, sorted by name and then by precedence: the winner first, then those that it shadows.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The roots, in the order of precedence.
    pub fn roots(&self) -> &[RootReport] {
        &self.roots
    }

    /// What is to be told of files and folders that are no skills.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// The skills that can be used, sorted by name.
    pub fn active(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let active = self.entries.iter().filter(|entry| entry.status.is_active());
        active.map(|entry| &entry.skill)
    }

    /// Those of them that a model is told of.
    pub fn for_models(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.active().filter(|skill| skill.is_for_models())
    }

    /// Those of them that a person is offered as commands, by the names of these.
    pub fn commands(&self) -> impl Iterator<Item = (String, &Arc<Skill>)> {
        self.active()
            .filter(|skill| skill.is_for_users())
            .filter_map(|skill| Some((self.command_of(skill)?, skill)))
    }

    /// The commands that begin with a text, for completion.
    pub fn complete(&self, beginning: &str) -> Vec<String> {
        let beginning = Identity::of(beginning);
        let commands = self.commands().map(|(command, _)| command);
        // A layer of the caller's own may have capitals.
        let fits = |command: &String| {
            let identity = Identity::of(command);
            identity.as_str().starts_with(beginning.as_str())
        };
        let mut fitting: Vec<String> = commands.filter(fits).collect();
        fitting.sort();
        fitting
    }

    /// What a person types for a skill, so that it is found again: its command, with its layer if others
    /// share it. `None` if it has none.
    fn command_of(&self, skill: &Skill) -> Option<String> {
        let command = skill.command()?;
        let finds_it = |command: &str| {
            let found = self.find(command);
            found.is_ok_and(|found| std::ptr::eq(Arc::as_ptr(found), skill))
        };
        if finds_it(&command) {
            return Some(command);
        }
        let with_layer = format!("{command}@{}", skill.layer);
        finds_it(&with_layer).then_some(with_layer)
    }

    /// The skill of a name: as it is declared, in any case and normal form; as its command; or with its
    /// layer behind it, `name@layer`, which also finds what is shadowed.
    pub fn find(&self, name: &str) -> Result<&Arc<Skill>, LookupError> {
        let identity = Identity::of(name);
        let named = self.by_name.get(&identity);
        let is_active = |number: &usize| self.entries[*number].status.is_active();
        if let Some(numbers) = named.filter(|numbers| numbers.iter().any(is_active)) {
            return self.one_of(name, numbers);
        }
        if let Some(numbers) = self.by_command.get(identity.as_str()) {
            return self.one_of(name, numbers);
        }
        if let Some((plain, layer)) = identity.as_str().rsplit_once('@') {
            let plain = Identity::of(plain);
            let named = self.by_name.get(&plain);
            let commands = self.by_command.get(plain.as_str());
            let of_layer = |entry: &&Entry| {
                let its_layer = Identity::of(entry.skill.layer.name());
                its_layer.as_str() == layer
            };
            for numbers in [named, commands].into_iter().flatten() {
                let entries = numbers.iter().map(|number| &self.entries[*number]);
                // A broken one is not in the way of a good one.
                let best = entries
                    .filter(of_layer)
                    .min_by_key(|entry| entry.status.rank());
                if let Some(entry) = best {
                    return Self::usable(name, entry);
                }
            }
        }
        // What cannot be used is in nobody's way.
        match named {
            Some(numbers) => self.one_of(name, numbers),
            None => Err(self.unknown(name, &identity)),
        }
    }

    /// The one that has the name, of those that claim it.
    fn one_of(&self, name: &str, numbers: &[usize]) -> Result<&Arc<Skill>, LookupError> {
        let entries = numbers.iter().map(|number| &self.entries[*number]);
        let active: Vec<&Entry> = entries.clone().filter(|e| e.status.is_active()).collect();
        match active[..] {
            [entry] => Ok(&entry.skill),
            [] => match entries.clone().next() {
                Some(entry) => Self::usable(name, entry),
                None => Err(self.unknown(name, &Identity::of(name))),
            },
            _ => Err(LookupError::Ambiguous {
                name: name.to_owned(),
                candidates: active
                    .iter()
                    .map(|entry| {
                        let skill = &entry.skill;
                        format!(
                            "{}@{} ({})",
                            skill.name(),
                            skill.layer,
                            skill.location_text()
                        )
                    })
                    .collect(),
            }),
        }
    }

    /// The skill of an entry that was asked for, if it may be used.
    fn usable<'e>(name: &str, entry: &'e Entry) -> Result<&'e Arc<Skill>, LookupError> {
        let name = name.to_owned();
        match &entry.status {
            Status::Active | Status::Shadowed { .. } => Ok(&entry.skill),
            Status::Held { reason } => Err(LookupError::Held {
                name,
                reason: reason.to_string(),
            }),
            Status::Invalid => {
                let fatal = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
                let problem = entry.diagnostics.iter().find(fatal);
                Err(LookupError::Invalid {
                    name,
                    location: entry.skill.location_text(),
                    problem: problem.map(|p| p.message.clone()).unwrap_or_default(),
                })
            }
        }
    }

    fn unknown(&self, name: &str, identity: &Identity) -> LookupError {
        let names = self.active().map(|skill| skill.name());
        LookupError::Unknown {
            name: name.to_owned(),
            near: near(identity, names),
        }
    }

    /// A catalogue with other active skills: for programs that add some, or keep some back. An active skill
    /// that is not among `skills` becomes held, for the reason given.
    pub fn with_active(&self, skills: &[Arc<Skill>], reason: &str) -> Self {
        let reason: Arc<str> = reason.into();
        let kept: HashSet<*const Skill> = skills.iter().map(Arc::as_ptr).collect();
        let known: HashSet<*const Skill> = self.active().map(Arc::as_ptr).collect();
        let mut entries: Vec<Entry> = self.entries.clone();
        for entry in &mut entries {
            if entry.status.is_active() && !kept.contains(&Arc::as_ptr(&entry.skill)) {
                entry.status = Status::Held {
                    reason: Arc::clone(&reason),
                };
            }
        }
        // Nor does what stood behind it take its place.
        for entry in &mut entries {
            if let Status::Shadowed { by, .. } = &entry.status
                && known.contains(&Arc::as_ptr(by))
                && !kept.contains(&Arc::as_ptr(by))
            {
                entry.status = Status::Held {
                    reason: Arc::clone(&reason),
                };
            }
        }
        let is_new = |skill: &&Arc<Skill>| !known.contains(&Arc::as_ptr(skill));
        entries.extend(skills.iter().filter(is_new).map(|skill| Entry {
            skill: Arc::clone(skill),
            status: Status::Active,
            diagnostics: Vec::new(),
        }));
        entries.sort_by(|one, other| {
            let key = |entry: &Entry| (entry.skill.identity.clone(), entry.skill.precedence);
            key(one).cmp(&key(other))
        });
        Self::new(entries, self.notes.clone(), self.roots.clone())
    }
}
