//! Settings of agents: whether there are any, and where their declarations are looked for.

use std::path::PathBuf;

use harness_agent::Agents;
use harness_skills::Layer;
use serde::Deserialize;

use crate::settings::{Origin, Setting, put};

/// What a configuration file may say of agents.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentsConfig {
    /// Whether there are any.
    pub(crate) enabled: Option<bool>,
    /// More declarations, before all others; relative paths are in the working folder.
    pub(crate) paths: Option<Vec<PathBuf>>,
    /// Whether `.claude/agents` is read, too.
    pub(crate) claude: Option<bool>,
    /// How deep: 1 means that subagents have none of their own.
    pub(crate) max_depth: Option<u32>,
    /// How many may work at once.
    pub(crate) max_at_once: Option<usize>,
}

/// The settings of agents, each with its origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentSettings {
    pub(crate) enabled: Option<Setting<bool>>,
    /// As they stand in a configuration file.
    pub(crate) paths: Option<Setting<Vec<PathBuf>>>,
    pub(crate) claude: Option<Setting<bool>>,
    pub(crate) max_depth: Option<Setting<u32>>,
    pub(crate) max_at_once: Option<Setting<usize>>,
}

impl AgentSettings {
    /// Takes what a file says.
    pub(crate) fn take_config(&mut self, config: AgentsConfig, origin: &Origin) {
        put(&mut self.enabled, config.enabled, origin);
        put(&mut self.paths, config.paths, origin);
        put(&mut self.claude, config.claude, origin);
        put(&mut self.max_depth, config.max_depth, origin);
        put(&mut self.max_at_once, config.max_at_once, origin);
    }

    /// Whether there are any.
    pub(crate) fn are_on(&self) -> bool {
        self.enabled.as_ref().is_none_or(|on| on.value)
    }

    /// Whether the model is offered them. If nothing is said of it, it is where somebody has declared one: what they
    /// cost in each request is not worth it for those that come with the program alone.
    pub(crate) fn are_offered(&self, agents: &Agents) -> bool {
        self.enabled.as_ref().map_or_else(
            || {
                let built_in = Layer::BuiltIn;
                let agents = agents.active();
                agents.iter().any(|agent| agent.layer != built_in.name())
            },
            |on| on.value,
        )
    }
}
