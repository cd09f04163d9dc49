//! The task list of a conversation that was kept elsewhere.

use harness_core::{Message, MessageRef, ToolOutcome, ToolResult};

use super::{TODO_WRITE, TaskItem};
use crate::summary_message::CompactionSummary;

/// The tasks of a conversation, as they stood last: what `todo_write` gave back last, or what a compaction
/// took along. For filling the [`TaskList`](super::TaskList) of a session that is opened again.
pub fn restored_tasks(messages: &[MessageRef]) -> Vec<TaskItem> {
    let found = messages.iter().rev().find_map(|message| match &**message {
        Message::ToolResults(results) => results.results.iter().rev().find_map(written),
        Message::User(_) => CompactionSummary::of(message).map(|summary| summary.tasks),
        _ => None,
    });
    found.unwrap_or_default()
}

/// The list that a call of `todo_write` left.
fn written(result: &ToolResult) -> Option<Vec<TaskItem>> {
    let ToolOutcome::Done(output) = &*result.outcome else {
        return None;
    };
    let todos = output.details.as_ref()?.get("todos")?;
    (result.name == TODO_WRITE)
        .then(|| serde_json::from_value(todos.clone()).ok())
        .flatten()
}
