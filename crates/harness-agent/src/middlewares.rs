//! The built-in middlewares, one file each.

mod workspace;

pub use workspace::{WORKSPACE_SECTION, WorkspaceMiddleware};
