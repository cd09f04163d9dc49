//! Going on where another run was cut off: in the middle of a batch.

use std::collections::HashSet;
use std::sync::Arc;

use crate::batch::Batch;
use crate::context::RunContext;
use crate::engine::Engine;
use crate::error::Error;
use crate::message::{AssistantMessage, Message, MessageRef, ToolCall};
use crate::outcome::RunStatus;
use crate::protocol;
use crate::state::State;

/// A conversation that is fit to go on with, and the reply at its end whose calls are still open.
pub(crate) fn split_open_reply(
    mut history: Vec<MessageRef>,
) -> (Vec<MessageRef>, Option<AssistantMessage>) {
    let open = match history.last().map(|last| &**last) {
        Some(Message::Assistant(reply)) if reply.tool_calls().next().is_some() => {
            Some(reply.clone())
        }
        _ => None,
    };
    if open.is_some() {
        history.pop();
    }
    let history = protocol::repair(history);
    let open = open.map(|reply| {
        let mut ids: HashSet<String> = HashSet::new();
        for message in &history {
            if let Message::Assistant(reply) = &**message {
                ids.extend(reply.tool_calls().map(|call| call.id.clone()));
            }
        }
        protocol::sound_reply(&reply, &mut ids)
    });
    (history, open)
}

impl Engine<'_> {
    /// Makes the open calls of a reply. What ends the run, if anything does.
    pub(crate) async fn finish_batch(
        &self,
        cx: &RunContext,
        state: &mut State,
        reply: AssistantMessage,
        prefix: &str,
    ) -> Result<Option<RunStatus>, Error> {
        let name = format!("{prefix}t0");
        let calls: Vec<ToolCall> = reply.tool_calls().cloned().collect();
        let stop = reply.stop.clone();
        // On record already: it is what the run goes on from.
        state.push(MessageRef::new(Message::Assistant(reply)));
        let batch = Batch::new(self, &name, state.tools.clone(), &stop, calls).resumed();
        let outcomes = batch.run(cx).await;
        let results = Arc::new(batch.results(outcomes));
        let error = self.take_results(state, &name, &batch, &results).await?;
        Ok(error.map(RunStatus::Failed))
    }
}
