//! Settings of agents: whether there are any, and where their declarations are looked for.

use std::path::PathBuf;

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
}

/// The settings of agents, each with its origin.
#[derive(Debug, Default)]
pub(crate) struct AgentSettings {
    pub(crate) enabled: Option<Setting<bool>>,
    /// As they stand in a configuration file.
    pub(crate) paths: Option<Setting<Vec<PathBuf>>>,
    pub(crate) claude: Option<Setting<bool>>,
}

impl AgentSettings {
    /// Takes what a file says.
    pub(crate) fn take_config(&mut self, config: AgentsConfig, origin: &Origin) {
        put(&mut self.enabled, config.enabled, origin);
        put(&mut self.paths, config.paths, origin);
        put(&mut self.claude, config.claude, origin);
    }

    /// Whether there are any.
    pub(crate) fn are_on(&self) -> bool {
        self.enabled.as_ref().is_none_or(|on| on.value)
    }
}
