//! Slash commands: `/name` at the beginning of a prompt stands for a longer one.

use std::sync::Arc;

use harness_core::{
    Event, HookSet, Middleware, NextAgent, RunContext, RunInput, RunOutcome, Text, UserMessage,
    UserPart, async_trait,
};
use harness_prompt::{Library, parse_invocation};

/// The name of plan mode's command.
const PLAN_COMMAND: &str = "plan";

/// Replaces a prompt that begins with `/name` by the command's text, with what stands behind the name as
/// its arguments; see [`CommandTemplate`](harness_prompt::CommandTemplate).
///
/// Only what is said now is looked at, never the history, and only the first text of a message: what
/// was attached stays. A name that no command has is text like any other. If a command has no place for
/// arguments, they follow it. `/plan` is plan mode's, whatever a library says, and a text that comes out of
/// a template is no command itself.
#[derive(Debug)]
pub struct SlashCommandsMiddleware {
    library: Arc<Library>,
}

impl SlashCommandsMiddleware {
    /// With the commands of a library.
    pub fn new(library: Arc<Library>) -> Self {
        Self { library }
    }

    fn expand(&self, cx: &RunContext, message: &mut UserMessage) {
        let Some(UserPart::Text(Text { text })) = message.content.first_mut() else {
            return;
        };
        // Plan mode's own command: nobody's template may take its place, but its task may be a command.
        if let Some((PLAN_COMMAND, task)) = parse_invocation(text) {
            if let Some(expanded) = self.text_of(cx, task) {
                // Below the command, so that no word of a template is taken for one of its own.
                *text = format!("/{PLAN_COMMAND}\n{expanded}");
            }
        } else if let Some(expanded) = self.text_of(cx, text) {
            *text = expanded;
        }
    }

    /// What a command stands for, if `text` is one.
    fn text_of(&self, cx: &RunContext, text: &str) -> Option<String> {
        let mut expanded = match self.library.expand(text) {
            Ok(expanded) => expanded?,
            Err(error) => {
                let message = error.to_string();
                cx.emit(Event::Warning { message });
                return None;
            }
        };
        if let Some((name, rest)) = parse_invocation(text)
            && !rest.is_empty()
            && self
                .library
                .command(name)
                .is_some_and(|command| !command.takes_arguments())
        {
            expanded.push_str("\n\n");
            expanded.push_str(rest);
        }
        // A command is what a person types. The text of a template never is one.
        if expanded.starts_with('/') {
            expanded.insert(0, '\n');
        }
        Some(expanded)
    }
}

#[async_trait]
impl Middleware for SlashCommandsMiddleware {
    fn name(&self) -> &'static str {
        "slash-commands"
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT
    }

    async fn on_agent(
        &self,
        cx: &RunContext,
        mut input: RunInput,
        next: NextAgent<'_>,
    ) -> RunOutcome {
        // A subagent's task was written by a model: only what a user typed is obeyed.
        if cx.parent().is_none() {
            for message in &mut input.messages {
                self.expand(cx, message);
            }
        }
        next.run(cx, input).await
    }
}
