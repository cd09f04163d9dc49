//! The agents that there are, as a list.

use harness_agent::{AgentDeclaration, Agents};
use harness_skills::{Catalogue, Entry, Status};
use serde_json::{Value, json};

use crate::skill_list::{SkillList, table};
use crate::terminal::{excerpt, one_line};

/// The most characters of a description in a list.
const DESCRIPTION: usize = 100;

/// The most characters of the tools and of a model.
const CELL: usize = 40;

/// A catalogue of agents, for lists.
pub(crate) struct AgentList<'c> {
    agents: &'c Agents,
    catalogue: &'c Catalogue,
    entries: SkillList<'c>,
}

impl<'c> AgentList<'c> {
    pub(crate) fn of(agents: &'c Agents, catalogue: &'c Catalogue) -> Self {
        Self {
            agents,
            catalogue,
            entries: SkillList::of(catalogue),
        }
    }

    /// Those that can be started, a line each: name, layer, tools, model, description.
    pub(crate) fn text(&self) -> String {
        let active = self.agents.active();
        let rows = active.iter().map(|agent| {
            [
                one_line(&agent.name),
                agent.layer.clone(),
                excerpt(&tools(agent), CELL),
                excerpt(model(agent), CELL),
                excerpt(&agent.description, DESCRIPTION),
            ]
        });
        table(rows.collect())
    }

    /// All of them, a line each: name, status, layer, path, and why it is not active.
    pub(crate) fn text_of_all(&self) -> String {
        self.entries.text_of_all()
    }

    /// One array of objects.
    pub(crate) fn json(&self, all: bool) -> String {
        let entries = self.catalogue.entries().iter();
        let entries = entries.filter(|entry| all || entry.status.is_active());
        let objects: Value = entries.map(|entry| self.object(entry)).collect();
        objects.to_string()
    }

    /// An agent as an object.
    pub(crate) fn object(&self, entry: &Entry) -> Value {
        let mut object = self.entries.object(entry);
        let agent = declaration(entry, self.agents);
        let agent = agent.as_ref();
        for (key, value) in [
            ("tools", json!(agent.and_then(|it| it.tools.as_ref()))),
            (
                "disallowed_tools",
                json!(agent.map(|it| &it.disallowed_tools)),
            ),
            ("model", json!(agent.and_then(|it| it.model.as_ref()))),
        ] {
            object[key] = value;
        }
        object
    }
}

/// What an entry declares; `None` if it is invalid.
pub(crate) fn declaration(entry: &Entry, agents: &Agents) -> Option<AgentDeclaration> {
    if entry.status == Status::Invalid {
        return None;
    }
    AgentDeclaration::read(&entry.skill, agents.limits()).ok()
}

/// Its tools, in words.
pub(crate) fn tools(agent: &AgentDeclaration) -> String {
    let without = agent.disallowed_tools.join(", ");
    match &agent.tools {
        None if without.is_empty() => "all".to_owned(),
        None => format!("all but {without}"),
        Some(tools) => {
            let tools = tools.iter().map(String::as_str);
            let tools: Vec<&str> = tools.filter(|tool| agent.allows(tool)).collect();
            if tools.is_empty() {
                "none".to_owned()
            } else {
                tools.join(", ")
            }
        }
    }
}

/// Its model, in words.
pub(crate) fn model(agent: &AgentDeclaration) -> &str {
    agent.model.as_deref().unwrap_or("inherit")
}
