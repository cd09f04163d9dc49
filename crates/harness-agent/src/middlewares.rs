//! The built-in middlewares, one file each.

mod skills;
mod workspace_context;

pub use skills::SkillsMiddleware;
pub use workspace_context::{
    WORKSPACE_SECTION, WorkspaceContextMiddleware, WorkspaceContextOptions,
};
