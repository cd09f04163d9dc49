//! All that there is to say of one agent.

use std::fmt::Write as _;
use std::sync::Arc;

use harness_agent::{AgentDeclaration, Agents};
use harness_core::ThinkingLevel;
use harness_skills::{Catalogue, Entry, LookupError};
use serde_json::json;

use crate::agent_list::{AgentList, declaration, model, tools};
use crate::failure::Failure;
use crate::skill_diagnostics::{beside_status, line};
use crate::skill_list::{reference, why_not};
use crate::skill_page::{Header, place_of, set_aside, shadowed_by};

/// One agent of a catalogue.
pub(crate) struct AgentPage {
    agents: Agents,
    catalogue: Arc<Catalogue>,
    /// Its place among the entries.
    place: usize,
    /// What it declares. `None` if it is invalid.
    declaration: Option<AgentDeclaration>,
}

impl AgentPage {
    /// Of the agent of that name: the one that is started under it. What is held back or invalid is found, too.
    pub(crate) fn named(name: &str, agents: &Agents) -> Result<Self, Failure> {
        let catalogue = agents.catalogue();
        let place = match catalogue.find(name) {
            Ok(agent) => place_of(&catalogue, agent),
            Err(LookupError::Held { .. } | LookupError::Invalid { .. }) => {
                set_aside(&catalogue, name)
            }
            Err(LookupError::Unknown { near, .. }) if !near.is_empty() => {
                return Err(unknown(name).hint(format!("did you mean `{}`?", near.join("`, `"))));
            }
            Err(_) => None,
        };
        let entry = place.and_then(|place| Some((place, catalogue.entries().get(place)?)));
        let Some((place, entry)) = entry else {
            let hint = "`harness agents list --all` shows those that there are";
            return Err(unknown(name).hint(hint));
        };
        Ok(Self {
            agents: agents.clone(),
            declaration: declaration(entry, agents),
            place,
            catalogue,
        })
    }

    fn entry(&self) -> &Entry {
        &self.catalogue.entries()[self.place]
    }

    /// For people: a header, what is wrong, and what it is told.
    pub(crate) fn text(&self) -> String {
        let entry = self.entry();
        let skill = &entry.skill;
        let mut header = Header::default();
        header.line("name", &skill.name());
        header.line("description", skill.description());
        header.line("layer", skill.layer.name());
        header.line("path", &skill.location_text());
        let status = match why_not(entry) {
            None => entry.status.word().to_owned(),
            Some(why) => format!("{} ({why})", entry.status.word()),
        };
        header.line("status", &status);
        for (other, same_content) in shadowed_by(&self.catalogue, skill) {
            let same = if same_content { ", the same" } else { "" };
            let location = other.location_text();
            header.line("shadows", &format!("{}: {location}{same}", other.layer));
        }
        if let Some(agent) = &self.declaration {
            header.line("tools", &tools(agent));
            header.line("model", model(agent));
            header.optional("thinking", agent.thinking.map(ThinkingLevel::as_str));
            let skills = agent.skills.as_ref().map(|skills| skills.join(", "));
            header.optional("skills", skills.as_deref());
            let turns = agent.max_turns.map(|turns| turns.to_string());
            header.optional("max turns", turns.as_deref());
            let tokens = agent.max_tokens.map(|tokens| tokens.to_string());
            header.optional("max tokens", tokens.as_deref());
            let cost = agent.max_cost.map(|cost| format!("${cost}"));
            header.optional("max cost", cost.as_deref());
            let timeout = agent.timeout.map(humantime::format_duration);
            let timeout = timeout.map(|timeout| timeout.to_string());
            header.optional("timeout", timeout.as_deref());
            header.line("isolation", agent.isolation.as_str());
        }
        for diagnostic in beside_status(entry) {
            header.line("note", &line(diagnostic));
        }
        let mut text = header.0;
        if let Some(agent) = &self.declaration {
            let _ = write!(text, "\n{}\n", agent.role);
        }
        text
    }

    /// For programs: what a list says of it, and the rest.
    pub(crate) fn json(&self) -> String {
        let entry = self.entry();
        let mut object = AgentList::of(&self.agents, &self.catalogue).object(entry);
        let shadows = shadowed_by(&self.catalogue, &entry.skill);
        object["shadows"] = shadows.map(|(it, same)| reference(it, same)).collect();
        let agent = self.declaration.as_ref();
        let timeout = agent.and_then(|it| it.timeout);
        let thinking = agent.and_then(|it| it.thinking);
        for (key, value) in [
            ("thinking", json!(thinking.map(ThinkingLevel::as_str))),
            ("skills", json!(agent.and_then(|it| it.skills.as_ref()))),
            ("max_turns", json!(agent.and_then(|it| it.max_turns))),
            ("max_tokens", json!(agent.and_then(|it| it.max_tokens))),
            ("max_cost", json!(agent.and_then(|it| it.max_cost))),
            ("timeout_seconds", json!(timeout.map(|it| it.as_secs_f64()))),
            ("isolation", json!(agent.map(|it| it.isolation.as_str()))),
            ("role", json!(agent.map(|it| &*it.role))),
        ] {
            object[key] = value;
        }
        object.to_string()
    }
}

fn unknown(name: &str) -> Failure {
    Failure::usage(format!("there is no agent `{name}`"))
}
