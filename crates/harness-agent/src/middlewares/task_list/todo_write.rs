//! `todo_write`: the model's hand on its list of tasks.

use std::borrow::Cow;

use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::middlewares::task_list::{TaskItem, TaskList, TaskStatus};

/// Replaces your whole list of tasks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct TodoWriteArgs {
    /// All tasks, in order.
    todos: Vec<Todo>,
}

// Plain comments from here on: the model pays for what a doc comment says on each turn, and these words
// say enough.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Todo {
    content: String,
    status: TodoStatus,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl From<Todo> for TaskItem {
    fn from(todo: Todo) -> Self {
        let status = match todo.status {
            TodoStatus::Pending => TaskStatus::Pending,
            TodoStatus::InProgress => TaskStatus::InProgress,
            TodoStatus::Completed => TaskStatus::Completed,
        };
        Self::new(todo.content, status)
    }
}

/// The tool of [`TaskListMiddleware`](crate::middlewares::TaskListMiddleware).
#[derive(Debug)]
pub(crate) struct TodoWrite;

/// Its name.
pub(crate) const TODO_WRITE: &str = "todo_write";

#[async_trait]
impl Tool for TodoWrite {
    type Args = TodoWriteArgs;

    fn name(&self) -> Cow<'_, str> {
        TODO_WRITE.into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, _: &TodoWriteArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, cx: &ToolContext, args: TodoWriteArgs) -> Result<ToolOutput, ToolError> {
        let list = TaskList::of(cx.run());
        let todos = args.todos.into_iter().map(TaskItem::from).collect();
        list.set(todos).map_err(ToolError::failed)?;
        let items = list.items();
        let text = if items.is_empty() {
            "The task list is empty now.".to_owned()
        } else {
            TaskItem::lines(&items)
        };
        Ok(ToolOutput::text(text).with_details(json!({ "todos": items })))
    }
}
