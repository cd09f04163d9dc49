//! Looking for a skill by a name that does not lead to one.

use std::sync::Arc;

use harness_frontmatter::{Diagnostic, Severity};

use crate::catalogue::{Catalogue, Entry, Status};
use crate::name::Identity;
use crate::skill::Skill;

/// The most names that are offered for one that is not known.
const MAX_NEAR: usize = 5;

/// How alike a name has to be, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Why a name leads to no skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No skill has it.
    #[error("there is no skill `{}`{}", shown(.name), did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<String>,
    },
    /// Several have it, and none before the others.
    #[error("several skills are called `{}`: {}", shown(.name), .candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// An address of each: `name@layer` and its place, or the place if only that leads to it.
        candidates: Vec<String>,
    },
    /// It is held back.
    #[error("the skill `{}` is held back: {reason}", shown(.name))]
    Held {
        /// What was asked for.
        name: String,
        /// Why.
        reason: String,
    },
    /// Its file cannot be loaded.
    #[error("the skill `{}` cannot be loaded: {location}: {problem}", shown(.name))]
    Invalid {
        /// What was asked for.
        name: String,
        /// Its file.
        location: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Who looks for a skill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    Anybody,
    /// Who is not told of skills that only the user can load.
    Model,
}

impl Asker {
    fn may_load(self, skill: &Skill) -> bool {
        self == Self::Anybody || skill.is_for_models()
    }
}

impl Catalogue {
    /// The skill of a name, which is one of these, the first that leads to one:
    ///
    /// - its name as it is declared, in any case and normal form;
    /// - its command;
    /// - the path of its `SKILL.md` or of the folder of that, as they are listed;
    /// - `name@layer`: the first of its layer.
    ///
    /// The last two also find what is shadowed. What is held back or invalid is an error, whatever leads to
    /// it.
    pub fn find(&self, name: &str) -> Result<&Arc<Skill>, LookupError> {
        self.look_up(name, Asker::Anybody)
    }

    /// The skill of a name, for a model: as [`find`](Self::find), but what only the user can load is
    /// [held back](LookupError::Held), and never offered for another name.
    pub fn find_for_model(&self, name: &str) -> Result<&Arc<Skill>, LookupError> {
        self.look_up(name, Asker::Model)
    }

    fn look_up(&self, name: &str, asker: Asker) -> Result<&Arc<Skill>, LookupError> {
        let identity = Identity::of(name);
        if let Some(numbers) = self.active_of(&identity) {
            return self.one_of(name, &numbers, asker);
        }
        let addressed = self.at_path(name).or_else(|| self.in_layer(&identity));
        if let Some(entry) = addressed {
            return usable(name, entry, asker);
        }
        // What cannot be used is in nobody's way.
        match self.by_name.get(&identity) {
            Some(numbers) => self.one_of(name, numbers, asker),
            None => Err(self.unknown(name, &identity, asker)),
        }
    }

    /// The active skills that a name is the name of, or else the command.
    fn active_of(&self, identity: &Identity) -> Option<Vec<usize>> {
        let named = self.by_name.get(identity).into_iter().flatten().copied();
        let is_active = |number: &usize| self.entries[*number].status.is_active();
        let named: Vec<usize> = named.filter(is_active).collect();
        if !named.is_empty() {
            return Some(named);
        }
        let numbers = self.by_command.get(identity.as_str())?;
        let owner = &self.entries[*numbers.first()?].skill.identity;
        // Of one name, none of them has it before the others.
        let is_namesake = |number: &usize| self.entries[*number].skill.identity == *owner;
        Some(numbers.iter().copied().filter(is_namesake).collect())
    }

    /// What is at the path of a file or its folder.
    fn at_path(&self, path: &str) -> Option<&Entry> {
        if !path.contains('/') {
            return None;
        }
        let path = std::path::absolute(path).ok()?;
        let is_there = |entry: &&Entry| {
            let skill = &entry.skill;
            [skill.file(), skill.directory()].contains(&Some(&*path))
        };
        best(self.entries.iter().filter(is_there))
    }

    /// What `name@layer` leads to, by the name or the command.
    fn in_layer(&self, identity: &Identity) -> Option<&Entry> {
        let (plain, layer) = identity.as_str().rsplit_once('@')?;
        let plain = Identity::of(plain);
        let named = self.by_name.get(&plain);
        let commands = self.by_command.get(plain.as_str());
        let is_of_layer = |entry: &&Entry| Identity::of(entry.skill.layer.name()).as_str() == layer;
        [named, commands].into_iter().flatten().find_map(|numbers| {
            let entries = numbers.iter().map(|number| &self.entries[*number]);
            best(entries.filter(is_of_layer))
        })
    }

    /// The one that has the name, of those that claim it.
    fn one_of(
        &self,
        name: &str,
        numbers: &[usize],
        asker: Asker,
    ) -> Result<&Arc<Skill>, LookupError> {
        let entries = numbers.iter().map(|number| &self.entries[*number]);
        let can_be = |entry: &&Entry| entry.status.is_active() && asker.may_load(&entry.skill);
        let active: Vec<&Entry> = entries.clone().filter(can_be).collect();
        match active[..] {
            [entry] => Ok(&entry.skill),
            [] => match entries.clone().next() {
                Some(entry) => usable(name, entry, asker),
                None => Err(self.unknown(name, &Identity::of(name), asker)),
            },
            _ => Err(LookupError::Ambiguous {
                name: name.to_owned(),
                candidates: active.iter().map(|entry| self.address(entry)).collect(),
            }),
        }
    }

    /// What leads to one of several of one name, in words.
    fn address(&self, entry: &Entry) -> String {
        let skill = &entry.skill;
        let place = skill.location_text();
        let with_layer = format!("{}@{}", skill.name(), skill.layer);
        let identity = Identity::of(&with_layer);
        let leads_to_it = self.active_of(&identity).is_none()
            && self
                .in_layer(&identity)
                .is_some_and(|found| Arc::ptr_eq(&found.skill, skill));
        if leads_to_it {
            format!("{with_layer} ({place})")
        } else {
            place
        }
    }

    fn unknown(&self, name: &str, identity: &Identity, asker: Asker) -> LookupError {
        let known = self.active().filter(|skill| asker.may_load(skill));
        LookupError::Unknown {
            name: name.to_owned(),
            near: near(identity, known.map(|skill| skill.name())),
        }
    }
}

/// The one that is nearest to being used: a broken one is not in the way of a good one.
fn best<'e>(entries: impl Iterator<Item = &'e Entry>) -> Option<&'e Entry> {
    entries.min_by_key(|entry| entry.status.rank())
}

/// The skill of an entry that was asked for, if it may be used.
fn usable<'e>(name: &str, entry: &'e Entry, asker: Asker) -> Result<&'e Arc<Skill>, LookupError> {
    let name = name.to_owned();
    if !asker.may_load(&entry.skill) {
        let reason = "only the user can load it".to_owned();
        return Err(LookupError::Held { name, reason });
    }
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

impl Identity {
    /// The names that are most like this one, the nearest first, at most five: for who has mistyped one.
    pub fn near(&self, names: impl Iterator<Item = String>) -> Vec<String> {
        near(self, names)
    }
}

fn shown(name: &str) -> String {
    crate::name::shown(name).chars().take(100).collect()
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; did you mean `{}`?", near.join("`, `"))
}

/// The names that are most like one.
pub(crate) fn near(name: &Identity, names: impl Iterator<Item = String>) -> Vec<String> {
    // Nobody types more, and likeness is quadratic.
    let short = |name: &Identity| name.as_str().chars().take(100).collect::<String>();
    let name = short(name);
    let mut alike: Vec<(f64, String)> = names
        .filter_map(|known| {
            let other = short(&Identity::of(&known));
            let is_part = name.len() >= 3 && other.contains(&name);
            let likeness = strsim::normalized_damerau_levenshtein(&name, &other);
            let likeness = if is_part { likeness.max(0.9) } else { likeness };
            (likeness >= ALIKE).then_some((likeness, known))
        })
        .collect();
    alike.sort_by(|(one, name), (other, known)| other.total_cmp(one).then_with(|| name.cmp(known)));
    alike.truncate(MAX_NEAR);
    alike.into_iter().map(|(_, name)| name).collect()
}
