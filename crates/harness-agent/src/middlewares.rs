//! The built-in middlewares, one file each.

#[cfg(feature = "tools")]
mod at_path;
mod skills;
mod slash_commands;
mod tool_result_eviction;
mod workspace_context;

#[cfg(feature = "tools")]
pub use at_path::{AtPathLimits, AtPathMiddleware};
pub use skills::SkillsMiddleware;
pub use slash_commands::SlashCommandsMiddleware;
pub use tool_result_eviction::{EvictionOptions, ToolResultEvictionMiddleware};
pub use workspace_context::{
    WORKSPACE_SECTION, WorkspaceContextMiddleware, WorkspaceContextOptions,
};
