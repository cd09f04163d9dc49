//! The built-in middlewares, one file each.

#[cfg(feature = "tools")]
mod plan_approval;
#[cfg(feature = "tools")]
mod plan_command;
#[cfg(feature = "tools")]
mod plan_document;
#[cfg(feature = "tools")]
mod plan_file;
#[cfg(feature = "tools")]
mod plan_mode;
#[cfg(feature = "tools")]
mod plan_state;
#[cfg(feature = "tools")]
mod plan_tools;
mod task_list;
mod todo_write;
mod workspace;

#[cfg(feature = "tools")]
pub use plan_approval::{PlanApproval, PlanApprover, PlanDecision, ProposedPlan};
#[cfg(feature = "tools")]
pub use plan_mode::{PLAN_SECTION, PlanModeMiddleware};
#[cfg(feature = "tools")]
pub use plan_state::{PlanMode, PlanState};
pub use task_list::{TASKS_SECTION, TaskItem, TaskList, TaskListMiddleware, TaskStatus};
pub use workspace::{WORKSPACE_SECTION, WorkspaceMiddleware};
