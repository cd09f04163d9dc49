//! The agents that are declared, kept up to date.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use harness_skills::{
    BuiltIn, Catalogue, Diagnostic, Digest, DiscoverOptions, Form, Identity, Limits, LookupError,
    Root, Skills,
};

use crate::agent_declaration::AgentDeclaration;
use crate::declared_fields::DeclaredFields;

/// The agents that are declared: in files and as texts, looked for like skills, and by the program.
///
/// Cheap to clone; all clones see the same. What a program declares comes before all files, and of several of one
/// name the first; among the files, the order of the roots decides. What changed on disk counts from the next
/// [refresh](Self::refresh): who reads has the old or the new agents, all of them, and never waits for one.
///
/// ```
/// use harness_agent::skills::Root;
/// use harness_agent::{AgentDeclaration, Agents, built_in_agents};
///
/// let agents = Agents::discover(&[Root::built_in(built_in_agents())])
///     .with(AgentDeclaration::new("reviewer", "Reviews a change.", "You review changes."));
/// let names: Vec<_> = agents.active().iter().map(|agent| agent.name.clone()).collect();
/// assert_eq!(names, ["explore", "general", "reviewer"]);
/// assert!(!agents.find("Explore")?.allows("bash"));
/// # Ok::<(), harness_agent::AgentLookupError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Agents(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    files: Skills,
    /// One of each name.
    declared: Vec<Arc<AgentDeclaration>>,
    /// Locked only for as long as it takes to copy a pointer.
    seen: RwLock<Seen>,
    /// What was read for it. One refresh at a time.
    known: Mutex<Known>,
}

#[derive(Clone, Debug)]
struct Seen {
    catalogue: Arc<Catalogue>,
    active: Arc<[Arc<AgentDeclaration>]>,
    /// Those that were listed and could not be read any more.
    lost: Arc<[Diagnostic]>,
}

/// The declarations that were read, by where they are and by their content.
type Known = HashMap<(String, Digest), Arc<AgentDeclaration>>;

/// Why a name leads to no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentLookupError {
    /// No agent has it.
    #[error("there is no agent `{}`{}", shown(.name), did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<String>,
    },
    /// It is held back.
    #[error("the agent `{}` is held back: {reason}", shown(.name))]
    Held {
        /// What was asked for.
        name: String,
        /// Why.
        reason: String,
    },
    /// Its file cannot be used.
    #[error("the agent `{}` cannot be used: {location}: {problem}", shown(.name))]
    Invalid {
        /// What was asked for.
        name: String,
        /// Its file.
        location: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// The agents that come with this crate, for [`Root::built_in`]: `explore`, which searches and changes nothing, and
/// `general`, which has all tools of its parent.
pub fn built_in_agents() -> [BuiltIn; 2] {
    [
        BuiltIn::new("explore", include_str!("../agents/explore.md")),
        BuiltIn::new("general", include_str!("../agents/general.md")),
    ]
}

impl Default for Agents {
    /// No agents.
    fn default() -> Self {
        Self::discover(&[])
    }
}

impl Agents {
    /// Looks for agents in `roots`, the highest first, with the default options. Blocks for as long as that takes.
    pub fn discover(roots: &[Root]) -> Self {
        Self::discover_with(roots, DiscoverOptions::default())
    }

    /// Looks for agents in `roots`, the highest first. Form and check of the options are those of agents, whatever
    /// they were.
    pub fn discover_with(roots: &[Root], options: DiscoverOptions) -> Self {
        let options = options.form(Form::Agents).check(DeclaredFields::check);
        Self::of(Skills::discover_with(roots, options), Vec::new())
    }

    /// With an agent that the program declares. Of several of one name, the first counts.
    pub fn with(self, declaration: AgentDeclaration) -> Self {
        let mut declared = self.0.declared.clone();
        let name = Identity::of(&declaration.name);
        if declared.iter().all(|it| Identity::of(&it.name) != name) {
            declared.push(Arc::new(declaration));
        }
        Self::of(self.0.files.clone(), declared)
    }

    fn of(files: Skills, declared: Vec<Arc<AgentDeclaration>>) -> Self {
        let mut known = Known::new();
        let seen = Seen::of(files.catalogue(), &declared, files.limits(), &mut known);
        Self(Arc::new(Shared {
            files,
            declared,
            seen: RwLock::new(seen),
            known: Mutex::new(known),
        }))
    }

    /// Looks whether something changed, and returns whether other agents are active by now. If nothing did, that
    /// costs a `stat` for each file and each folder around them. Blocks for as long as that takes.
    pub fn refresh(&self) -> bool {
        let shared = &*self.0;
        let mut known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        shared.files.refresh();
        let catalogue = shared.files.catalogue();
        let before = self.seen();
        if Arc::ptr_eq(&before.catalogue, &catalogue) {
            return false;
        }
        let mut seen = Seen::of(
            catalogue,
            &shared.declared,
            shared.files.limits(),
            &mut known,
        );
        let is_same = seen.active == before.active;
        if is_same {
            seen.active = before.active;
        }
        *shared.seen.write().unwrap_or_else(PoisonError::into_inner) = seen;
        !is_same
    }

    /// The agents that can be started, sorted by name. As long as they are the same, so is this value.
    pub fn active(&self) -> Arc<[Arc<AgentDeclaration>]> {
        self.seen().active
    }

    /// The agent of a name, in any case and normal form; also `name@layer` and the path of its file, which find
    /// what is shadowed, too. Only then a file is read.
    pub fn find(&self, name: &str) -> Result<Arc<AgentDeclaration>, AgentLookupError> {
        let Seen {
            catalogue, active, ..
        } = self.seen();
        let identity = Identity::of(name);
        let named = active.iter().find(|it| Identity::of(&it.name) == identity);
        if let Some(agent) = named {
            return Ok(Arc::clone(agent));
        }
        let skill = catalogue.find(name).map_err(|error| match error {
            LookupError::Held { name, reason } => AgentLookupError::Held { name, reason },
            LookupError::Invalid {
                name,
                location,
                problem,
            } => AgentLookupError::Invalid {
                name,
                location,
                problem,
            },
            // Several only where all of one name are active, and the first of those was found.
            _ => AgentLookupError::Unknown {
                name: name.to_owned(),
                near: identity.near(active.iter().map(|agent| agent.name.clone())),
            },
        })?;
        let location = skill.location_text();
        match active.iter().find(|agent| agent.location == location) {
            Some(agent) => Ok(Arc::clone(agent)),
            None => AgentDeclaration::read(skill, self.0.files.limits()).map(Arc::new),
        }
    }

    /// All files, good and bad, with who has which name among them. What the program declares is not in it.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.seen().catalogue
    }

    /// What the program declares, in its order.
    pub fn declared(&self) -> &[Arc<AgentDeclaration>] {
        &self.0.declared
    }

    /// The bounds of reading files.
    pub fn limits(&self) -> &Limits {
        self.0.files.limits()
    }

    /// Whether there may ever be an agent.
    pub fn can_have_any(&self) -> bool {
        !self.0.files.roots().is_empty() || !self.0.declared.is_empty()
    }

    /// What is to be told of folders and files that are no agents, and of agents that were lost between listing and
    /// reading. What is to be told of a file that is listed is in the [catalogue](Self::catalogue).
    pub fn notes(&self) -> Vec<Diagnostic> {
        let seen = self.seen();
        let notes = seen.catalogue.notes().iter().chain(&*seen.lost);
        notes.cloned().collect()
    }

    fn seen(&self) -> Seen {
        let seen = self.0.seen.read();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Seen {
    /// Reads what is not known yet, and forgets what is not there any more.
    fn of(
        catalogue: Arc<Catalogue>,
        declared: &[Arc<AgentDeclaration>],
        limits: &Limits,
        known: &mut Known,
    ) -> Self {
        let mut active: Vec<(Identity, Arc<AgentDeclaration>)> = Vec::new();
        let mut lost = Vec::new();
        let mut read = Known::new();
        let mut names = HashSet::new();
        for agent in declared {
            let name = Identity::of(&agent.name);
            names.insert(name.clone());
            active.push((name, Arc::clone(agent)));
        }
        for skill in catalogue.active() {
            if !names.insert(skill.identity().clone()) {
                continue;
            }
            let location = skill.location_text();
            let agent = match known.get(&(location.clone(), skill.digest)) {
                Some(agent) if agent.layer == skill.layer.name() => Arc::clone(agent),
                _ => match AgentDeclaration::read(skill, limits) {
                    Ok(agent) => Arc::new(agent),
                    Err(error) => {
                        let code = harness_skills::Code::new("UNREADABLE");
                        let severity = harness_skills::Severity::Warning;
                        lost.push(Diagnostic::new(code, severity, error.to_string()));
                        continue;
                    }
                },
            };
            // By what was read: a file may have changed since it was listed.
            read.insert((location, agent.digest), Arc::clone(&agent));
            active.push((skill.identity().clone(), agent));
        }
        active.sort_by(|(one, _), (other, _)| one.cmp(other));
        *known = read;
        Self {
            catalogue,
            active: active.into_iter().map(|(_, agent)| agent).collect(),
            lost: lost.into(),
        }
    }
}

fn shown(name: &str) -> String {
    let name: String = name.chars().take(100).collect();
    name.escape_debug().to_string()
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; did you mean `{}`?", near.join("`, `"))
}
