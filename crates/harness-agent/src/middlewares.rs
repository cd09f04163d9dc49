//! The built-in middlewares, one file each.

mod task_list;
mod todo_write;
mod workspace;

pub use task_list::{TASKS_SECTION, TaskItem, TaskList, TaskListMiddleware, TaskStatus};
pub use workspace::{WORKSPACE_SECTION, WorkspaceMiddleware};
