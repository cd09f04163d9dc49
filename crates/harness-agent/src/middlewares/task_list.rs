//! A list of tasks that the model keeps, and is reminded of.
//!
//! The list belongs to the conversation, not to the system prompt: what changes from turn to turn would
//! make a provider read the whole prompt anew. So the prompt only says how the list is used, and the list
//! itself is shown behind the last message, where it stays.

mod restored;
mod todo_write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::{
    FailurePolicy, HookSet, Message, MessageRef, Middleware, MiddlewareError, RunContext,
    SystemPrompt, ToolOutcome, ToolRef, async_trait,
};
use serde::{Deserialize, Serialize};

use self::todo_write::TodoWrite;

pub use self::restored::restored_tasks;
pub(crate) use self::todo_write::TODO_WRITE;
use crate::notes::Notes;

/// The name of the section that [`TaskListMiddleware`] adds.
pub const TASKS_SECTION: &str = "tasks";

/// The most tasks of one list.
const MAX_ITEMS: usize = 100;

/// The most characters of one task.
const MAX_CHARS: usize = 500;

/// After how many messages the whole list is shown again.
const FULL_EVERY: usize = 10;

const NOTE: &str = "tasks";

const GUIDANCE: &str = "\
For work of several steps, keep a task list with `todo_write`; for a single step, do not.
Each call replaces the whole list. Keep exactly one task in progress; mark it completed as soon as it is \
done.";

/// Gives the model a list of tasks, the tool `todo_write` to keep it, and reminders of it.
///
/// The tool is not on offer by itself: add [`tools`](Self::tools) to the agent's. The list is a
/// [`TaskList`] in the run's attributes, so that one agent serves many sessions at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskListMiddleware;

impl TaskListMiddleware {
    /// The middleware.
    pub fn new() -> Self {
        Self
    }

    /// Its tool: `todo_write`.
    pub fn tools(&self) -> Vec<ToolRef> {
        vec![ToolRef::new(TodoWrite)]
    }
}

#[async_trait]
impl Middleware for TaskListMiddleware {
    fn name(&self) -> &'static str {
        "task-list"
    }

    fn hooks(&self) -> HookSet {
        HookSet::SYSTEM_PROMPT | HookSet::CONTEXT
    }

    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailOpen
    }

    async fn on_system_prompt(
        &self,
        _: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(prompt.with_section(TASKS_SECTION, GUIDANCE, self.name()))
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        // A run that never had a list is not given one.
        match cx.attributes().get::<TaskList>() {
            Some(list) => Ok(list.remind(messages)),
            None => Ok(messages),
        }
    }
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// Not begun: `[ ]`.
    Pending,
    /// Being worked on, `[~]`: one at most.
    InProgress,
    /// Done: `[x]`.
    Completed,
}

/// A task of a [`TaskList`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskItem {
    /// What is to be done, in one line.
    pub content: String,
    /// How far it is.
    pub status: TaskStatus,
}

impl TaskItem {
    /// A task.
    pub fn new(content: impl Into<String>, status: TaskStatus) -> Self {
        Self {
            content: content.into(),
            status,
        }
    }

    /// Tasks as the model is shown them, one a line.
    pub(crate) fn lines(items: &[Self]) -> String {
        let lines: Vec<String> = items.iter().map(Self::line).collect();
        lines.join("\n")
    }

    fn line(&self) -> String {
        let mark = match self.status {
            TaskStatus::Pending => ' ',
            TaskStatus::InProgress => '~',
            TaskStatus::Completed => 'x',
        };
        format!("[{mark}] {}", self.content)
    }
}

/// The list of tasks of one session. It is in the run's attributes:
/// `attributes.get_or_insert_with(TaskList::default)`.
///
/// A host that keeps sessions saves [`items`](Self::items) and gives them back with [`set`](Self::set).
#[derive(Debug, Default)]
pub struct TaskList(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    items: Vec<TaskItem>,
    /// Counts the changes.
    revision: u64,
    notes: Notes,
    /// The message at which the model was last shown the whole list, and which one that was.
    full: Option<(MessageRef, u64)>,
    /// The last reminder: behind which message, and its text.
    last: Option<(MessageRef, String)>,
}

impl TaskList {
    pub(crate) fn of(cx: &RunContext) -> Arc<Self> {
        cx.attributes().get_or_insert_with(Self::default)
    }

    /// The tasks.
    pub fn items(&self) -> Vec<TaskItem> {
        self.lock().items.clone()
    }

    /// Replaces the tasks. `Err` with words for the model if there are too many, one is blank or too
    /// long, or more than one is in progress; then the list is as it was.
    pub fn set(&self, mut items: Vec<TaskItem>) -> Result<(), String> {
        if items.len() > MAX_ITEMS {
            return Err(format!(
                "Not changed: {} tasks are too many; a list may have {MAX_ITEMS}. Join small ones.",
                items.len()
            ));
        }
        for (number, item) in items.iter_mut().enumerate() {
            let number = number + 1;
            // One task is one line, whatever is in it.
            item.content = one_line(&item.content);
            if item.content.is_empty() {
                return Err(format!(
                    "Not changed: the content of task {number} is blank. Say what is to be done."
                ));
            }
            let chars = item.content.chars().count();
            if chars > MAX_CHARS {
                return Err(format!(
                    "Not changed: the content of task {number} has {chars} characters; the most is \
                     {MAX_CHARS}. Shorten it."
                ));
            }
        }
        let in_progress = count(&items, TaskStatus::InProgress);
        if in_progress > 1 {
            return Err(format!(
                "Not changed: {in_progress} tasks are in_progress. Keep one in_progress, and the \
                 others pending or completed."
            ));
        }
        let mut state = self.lock();
        if state.items != items {
            state.items = items;
            state.revision += 1;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation with the reminders in it, old ones and a new one.
    fn remind(&self, messages: Vec<MessageRef>) -> Vec<MessageRef> {
        let mut state = self.lock();
        state.look_at_end(&messages);
        state.notes.show(messages)
    }
}

impl State {
    /// Puts a reminder behind the last message, if one is due.
    fn look_at_end(&mut self, messages: &[MessageRef]) {
        let Some(last) = messages.last() else {
            return;
        };
        if self.is_shown_by(last) {
            self.full = Some((last.clone(), self.revision));
            return;
        }
        let open = self
            .items
            .iter()
            .any(|item| item.status != TaskStatus::Completed);
        if !open {
            return;
        }
        let text = match self.shown_ago(messages) {
            // A turn is tried again: what was put there stands.
            Some(0) => return,
            Some(ago) if ago <= FULL_EVERY => self.short(),
            _ => {
                self.full = Some((last.clone(), self.revision));
                self.long()
            }
        };
        let known = self.last.as_ref();
        if known.is_some_and(|(at, known)| at.same(last) && *known == text) {
            return;
        }
        self.notes.put(messages, NOTE, &text);
        self.last = Some((last.clone(), text));
    }

    /// Whether a message has the list, as it is now, as the result of a call.
    fn is_shown_by(&self, message: &Message) -> bool {
        let Message::ToolResults(results) = message else {
            return false;
        };
        results.results.iter().any(|result| {
            result.name == TODO_WRITE
                && matches!(*result.outcome, ToolOutcome::Done(_))
                && result.outcome.shown_text() == TaskItem::lines(&self.items)
        })
    }

    /// How many messages ago the list, as it is now, was shown whole.
    fn shown_ago(&self, messages: &[MessageRef]) -> Option<usize> {
        let (at, _) = self
            .full
            .as_ref()
            .filter(|(_, revision)| *revision == self.revision)?;
        messages.iter().rev().position(|message| message.same(at))
    }

    fn long(&self) -> String {
        reminder(&format!(
            "Task list, from the harness, not the user:\n{}",
            TaskItem::lines(&self.items)
        ))
    }

    fn short(&self) -> String {
        let done = count(&self.items, TaskStatus::Completed);
        let now = self
            .items
            .iter()
            .find(|item| item.status == TaskStatus::InProgress);
        let now = now.map_or_else(
            || "none in progress".to_owned(),
            |item| format!("in progress: {}", item.content),
        );
        reminder(&format!(
            "Harness, not user: {done} of {} tasks done; {now}",
            self.items.len()
        ))
    }
}

/// A reminder; nothing in it can end it.
fn reminder(text: &str) -> String {
    format!("<reminder>{}</reminder>", text.replace("</", "< /"))
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

fn count(items: &[TaskItem], status: TaskStatus) -> usize {
    items.iter().filter(|item| item.status == status).count()
}
