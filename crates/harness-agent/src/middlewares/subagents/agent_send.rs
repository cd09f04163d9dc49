//! `agent_send`: says more to a subagent that is there.

use std::borrow::Cow;
use std::sync::Arc;

use harness_core::{
    Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, UserMessage, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::agent_spawn::{give, is_room};
use super::errand::Errand;
use super::host::Host;
use super::nursery::find;

/// Its name.
pub(crate) const AGENT_SEND: &str = "agent_send";

/// Goes on with a subagent: it still knows its task and what it did. One that is at work is told at once, and
/// answers to its first task; any other gets a new task, and its answer is given back.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct AgentSendArgs {
    /// The subagent's id.
    id: String,
    /// What it is told.
    message: String,
    /// Do not wait: you are told when it is done.
    #[serde(default)]
    background: bool,
}

#[derive(Clone)]
pub(crate) struct AgentSend(pub(crate) Arc<Host>);

#[async_trait]
impl Tool for AgentSend {
    type Args = AgentSendArgs;

    fn name(&self) -> Cow<'_, str> {
        AGENT_SEND.into()
    }

    /// A call that is made again finds what it began.
    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, _: &AgentSendArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, cx: &ToolContext, args: AgentSendArgs) -> Result<ToolOutput, ToolError> {
        let AgentSendArgs {
            id,
            message,
            background,
        } = args;
        if message.trim().is_empty() {
            return Err(ToolError::failed("The message is blank."));
        }
        let child = find(&self.0, cx.run(), &id).await;
        let child = child.map_err(ToolError::failed)?;
        let errand = Errand::of(&child, cx.call_id(), &message, background);
        let message = match child.say(UserMessage::from(message)) {
            Ok(()) => {
                return Ok(ToolOutput::text(format!(
                    "The subagent {id} is at work, and is told before it asks its model again."
                )));
            }
            Err(message) => message,
        };
        is_room(&self.0, cx)?;
        give(&self.0, cx, &child, errand, &message).await
    }
}
