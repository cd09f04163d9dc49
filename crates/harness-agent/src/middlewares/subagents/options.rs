//! What subagents may be, and how many.

use std::sync::Arc;

use harness_session::Store;

use crate::agent_view::Agents;
use crate::model_source::ModelSource;

/// What subagents an agent has, and how many: see [`SubagentsMiddleware`](super::SubagentsMiddleware).
#[derive(Clone)]
#[non_exhaustive]
pub struct SubagentOptions {
    /// What is declared. Looked at anew before each turn.
    pub agents: Agents,
    /// Where the models come from that declarations name. By default there are none: a declaration that names
    /// one cannot be started.
    pub models: Option<Arc<dyn ModelSource>>,
    /// Where the sessions of subagents are kept, if their parent's is kept there, too. By default in memory: then
    /// they do not outlive the process.
    pub store: Option<Arc<dyn Store>>,
    /// How deep: 1 means that subagents have none of their own. Default 2.
    pub max_depth: u32,
    /// How many of one run may work at once. Default 16.
    pub max_at_once: usize,
    /// How many errands one session may give in all, as far as it is in this process. Default 200.
    pub max_errands: usize,
    /// The most bytes of an answer that are handed to the parent. Default 32 KiB.
    pub answer_bytes: usize,
    /// Whether a subagent may work in a git worktree of its own: git is run in the project then. Default: no.
    pub worktrees: bool,
}

impl SubagentOptions {
    /// The defaults, for these declarations.
    pub fn new(agents: Agents) -> Self {
        Self {
            agents,
            models: None,
            store: None,
            max_depth: 2,
            max_at_once: 16,
            max_errands: 200,
            answer_bytes: 32 * 1024,
            worktrees: false,
        }
    }

    /// Where models come from that declarations name.
    pub fn models(mut self, models: Arc<dyn ModelSource>) -> Self {
        self.models = Some(models);
        self
    }

    /// Where the sessions of subagents are kept.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// How deep.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = depth;
        self
    }

    /// How many at once.
    pub fn max_at_once(mut self, number: usize) -> Self {
        self.max_at_once = number;
        self
    }

    /// How many errands in all.
    pub fn max_errands(mut self, number: usize) -> Self {
        self.max_errands = number;
        self
    }

    /// The most bytes of an answer.
    pub fn answer_bytes(mut self, bytes: usize) -> Self {
        self.answer_bytes = bytes;
        self
    }

    /// Lets subagents work in git worktrees of their own.
    pub fn worktrees(mut self, on: bool) -> Self {
        self.worktrees = on;
        self
    }
}

impl std::fmt::Debug for SubagentOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubagentOptions")
            .field("agents", &self.agents)
            .field("max_depth", &self.max_depth)
            .field("max_at_once", &self.max_at_once)
            .finish_non_exhaustive()
    }
}
