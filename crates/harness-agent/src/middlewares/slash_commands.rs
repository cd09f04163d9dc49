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
        // Plan mode's own command: nobody's template may take its place.
        if parse_invocation(text).is_some_and(|(name, _)| name == PLAN_COMMAND) {
            return;
        }
        let mut expanded = match self.library.expand(text) {
            Ok(Some(expanded)) => expanded,
            Ok(None) => return,
            Err(error) => {
                let message = error.to_string();
                cx.emit(Event::Warning { message });
                return;
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
        *text = expanded;
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
        for message in &mut input.messages {
            self.expand(cx, message);
        }
        next.run(cx, input).await
    }
}
