//! Why a tool is offered to the model, or is not.

use harness_core::ToolRef;

use crate::error::Error;

/// Why a tool is offered to the model, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolDecision {
    /// The tool's name.
    pub tool: String,
    /// Whether it is offered.
    pub offered: bool,
    /// Where it came from: `agent`, `context`, `task-list`, `plan-mode`, `extension NAME`.
    pub from: String,
    /// Why, in words.
    pub why: String,
}

/// A tool that may not be offered, and who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// The tool's name.
    pub tool: String,
    /// Who withholds it: `trust`, a policy's name.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// The tools on their way to the model, with what was decided of each.
#[derive(Default)]
pub(crate) struct ToolChoice {
    pub(crate) tools: Vec<ToolRef>,
    pub(crate) decisions: Vec<ToolDecision>,
}

impl ToolChoice {
    /// Takes tools in, and leaves out those that are withheld or that cannot work here.
    pub(crate) fn add(&mut self, tools: &[ToolRef], from: &str, why: &str, withheld: &[Withheld]) {
        for tool in tools {
            let name = &tool.spec().name;
            let refusal = withheld
                .iter()
                .find(|withheld| withheld.tool == *name)
                .map(|withheld| format!("withheld by {}: {}", withheld.by, withheld.reason))
                .or_else(|| {
                    tool.unavailable()
                        .map(|why| format!("not available: {why}"))
                });
            self.decide(
                name,
                refusal.is_none(),
                from,
                refusal.as_deref().unwrap_or(why),
            );
            if refusal.is_none() {
                self.tools.push(tool.clone());
            }
        }
    }

    /// Tells of tools that are not even looked at, and why.
    pub(crate) fn leave_out(&mut self, names: &[&str], from: &str, why: &str) {
        for name in names {
            self.decide(name, false, from, why);
        }
    }

    /// An error if there is no tool of one of these names, or if it is not switched on.
    pub(crate) fn check_names(&self, names: &[String]) -> Result<(), Error> {
        let is_off = |tool: &&ToolDecision| {
            let optional = matches!(&*tool.from, "task-list" | "plan-mode" | "subagents");
            !tool.offered && optional && names.contains(&tool.tool)
        };
        if let Some(off) = self.decisions.iter().find(is_off) {
            let (tool, from, why) = (&off.tool, &off.from, &off.why);
            return Err(Error::Config(harness_core::Error::Config(format!(
                "the tool `{tool}` belongs to {from}, and {why}"
            ))));
        }
        if let Some(unknown) = names.iter().find(|name| !self.knows(name)) {
            let offered = |tool: &&ToolDecision| {
                !matches!(&*tool.from, "task-list" | "plan-mode" | "subagents")
            };
            let there = self.decisions.iter().filter(offered);
            let there: Vec<&str> = there.map(|tool| tool.tool.as_str()).collect();
            return Err(Error::Config(harness_core::Error::Config(format!(
                "there is no tool `{unknown}`; the tools are {}",
                there.join(", ")
            ))));
        }
        Ok(())
    }

    /// Leaves only tools of these names.
    pub(crate) fn select(&mut self, names: &[String]) {
        self.tools.retain(|tool| names.contains(&tool.spec().name));
        for decision in &mut self.decisions {
            if decision.offered && !names.contains(&decision.tool) {
                decision.offered = false;
                "it is not among the tools that were asked for".clone_into(&mut decision.why);
            }
        }
    }

    /// Takes what an extension made of the tools.
    pub(crate) fn replace(&mut self, tools: Vec<ToolRef>, extension: &str) {
        let from = format!("extension {extension}");
        for decision in &mut self.decisions {
            let stayed = tools.iter().any(|tool| tool.spec().name == decision.tool);
            if decision.offered && !stayed {
                decision.offered = false;
                decision.why = format!("taken out by the {from}");
                decision.from.clone_from(&from);
            }
        }
        for tool in &tools {
            let name = &tool.spec().name;
            match self.tools.iter().find(|old| old.spec().name == *name) {
                Some(old) if old.same(tool) => {}
                Some(_) => self.decide(name, true, &from, "it takes the place of another one"),
                None => self.decide(name, true, &from, "added"),
            }
        }
        self.tools = tools;
    }

    /// In the order of the tools; what is not offered comes last.
    pub(crate) fn decisions(mut self) -> Vec<ToolDecision> {
        let place = |decision: &ToolDecision| {
            let mut tools = self.tools.iter();
            let place = tools.position(|tool| tool.spec().name == decision.tool);
            place.unwrap_or(usize::MAX)
        };
        self.decisions.sort_by_key(place);
        self.decisions
    }

    fn knows(&self, name: &str) -> bool {
        self.decisions.iter().any(|decision| decision.tool == name)
    }

    fn decide(&mut self, name: &str, offered: bool, from: &str, why: &str) {
        let decision = ToolDecision {
            tool: name.to_owned(),
            offered,
            from: from.to_owned(),
            why: why.to_owned(),
        };
        // Of two tools of one name, which is an error later, both are told.
        let known = self.decisions.iter_mut().find(|known| known.tool == name);
        match known {
            Some(known) if offered && from.starts_with("extension") => *known = decision,
            _ => self.decisions.push(decision),
        }
    }
}
