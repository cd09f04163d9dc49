//! The built-in middlewares, one file each.

#[cfg(feature = "tools")]
mod at_path;
mod tool_result_eviction;
mod workspace;

#[cfg(feature = "tools")]
pub use at_path::{AtPathLimits, AtPathMiddleware};
pub use tool_result_eviction::{EvictionOptions, ToolResultEvictionMiddleware};
pub use workspace::{WORKSPACE_SECTION, WorkspaceMiddleware};
