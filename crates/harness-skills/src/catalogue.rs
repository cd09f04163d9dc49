//! All skills, as they were at one time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use harness_frontmatter::Diagnostic;

use crate::finding::Finding;
use crate::layer::Layer;
use crate::name::Identity;
use crate::rule;
use crate::skill::Skill;

/// All skills, as they were at one time, with who has which name. It never changes: a
/// [refresh](crate::Skills::refresh) makes a new one.
///
/// Listing, activation, commands and completion all ask it, so they cannot disagree.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub(crate) entries: Vec<Entry>,
    notes: Vec<Diagnostic>,
    roots: Vec<RootReport>,
    pub(crate) by_name: HashMap<Identity, Vec<usize>>,
    /// The active skills of each command, with the one that has it first.
    pub(crate) by_command: BTreeMap<String, Vec<usize>>,
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
    pub(crate) fn rank(&self) -> u8 {
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
        let mut by_command: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, entry) in entries.iter().enumerate() {
            let name = entry.skill.identity.clone();
            by_name.entry(name).or_default().push(number);
            if entry.status.is_active()
                && let Some(command) = entry.skill.command()
            {
                by_command.entry(command).or_default().push(number);
            }
        }
        for (command, numbers) in &mut by_command {
            // Whose very name it is; but what nobody is offered needs no command.
            numbers.sort_by_key(|number| {
                let skill = &entries[*number].skill;
                let is_its_name = skill.identity.as_str() == command;
                (!is_its_name, !skill.is_for_users(), skill.precedence)
            });
        }
        let mut catalogue = Self {
            entries,
            notes,
            roots,
            by_name,
            by_command,
        };
        catalogue.tell_of_commands();
        catalogue
    }

    /// Tells the skills whose command another one has.
    fn tell_of_commands(&mut self) {
        let mut told = Vec::new();
        for (command, numbers) in &self.by_command {
            let Some((owner, others)) = numbers.split_first() else {
                continue;
            };
            let owner = &self.entries[*owner].skill;
            for number in others {
                let skill = &self.entries[*number].skill;
                let own = self.command_of(skill);
                let is_namesake = skill.identity == owner.identity;
                if !skill.is_for_users() || is_namesake && own.is_some() {
                    continue;
                }
                let message = format!(
                    "the command `{command}` is that of `{}`: {}",
                    owner.name(),
                    owner.location_text()
                );
                let hint = match own {
                    Some(own) => format!("`{own}` leads to this one"),
                    None => "give it another name, or it has no command".to_owned(),
                };
                let finding = Finding::new(&rule::COMMAND, message).with_hint(hint);
                told.push((*number, finding.lenient()));
            }
        }
        for entry in &mut self.entries {
            let is_other = |it: &Diagnostic| it.code != rule::COMMAND.code;
            entry.diagnostics.retain(is_other);
        }
        for (number, diagnostic) in told {
            let entry = &mut self.entries[number];
            let path = entry.skill.file().map(Into::into);
            entry.diagnostics.extend(diagnostic.map(|mut diagnostic| {
                diagnostic.path = path;
                diagnostic
            }));
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

    /// What a person types for a skill, so that it is found again: its command, with its layer if another one
    /// has it. `None` if it has none.
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
