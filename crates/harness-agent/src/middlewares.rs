//! The built-in middlewares, one file each.

mod skills;
mod slash_commands;
mod workspace_context;

pub use skills::SkillsMiddleware;
pub use slash_commands::SlashCommandsMiddleware;
pub use workspace_context::{
    WORKSPACE_SECTION, WorkspaceContextMiddleware, WorkspaceContextOptions,
};
