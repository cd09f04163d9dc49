//! Models by their names.

use std::sync::Arc;

use harness_core::Model;

/// Where models come from that are only known by a name: those that declarations of subagents ask for.
pub trait ModelSource: Send + Sync + 'static {
    /// The model of a name, as an author wrote it: `openai/gpt-5`, `gpt-5`. `Err` says in words for the parent's
    /// model why there is none. Must not block.
    fn model(&self, name: &str) -> Result<Arc<dyn Model>, String>;
}
