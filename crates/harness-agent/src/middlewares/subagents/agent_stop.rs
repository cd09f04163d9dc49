//! `agent_stop`: ends the work of a subagent.

use std::borrow::Cow;
use std::sync::Arc;

use harness_core::{Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait};
use schemars::JsonSchema;
use serde::Deserialize;

use super::background::Background;
use super::child::Doing;
use super::host::Host;
use super::nursery::find;

/// Its name.
pub(crate) const AGENT_STOP: &str = "agent_stop";

/// Ends the work of a subagent, and of all that work for it. Gives back what it said last.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct AgentStopArgs {
    /// The subagent's id.
    id: String,
}

#[derive(Clone)]
pub(crate) struct AgentStop(pub(crate) Arc<Host>);

#[async_trait]
impl Tool for AgentStop {
    type Args = AgentStopArgs;

    fn name(&self) -> Cow<'_, str> {
        AGENT_STOP.into()
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, _: &AgentStopArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, cx: &ToolContext, args: AgentStopArgs) -> Result<ToolOutput, ToolError> {
        let AgentStopArgs { id } = args;
        let child = find(&self.0, cx.run(), &id).await;
        let child = child.map_err(ToolError::failed)?;
        let Doing::Errand(work) = child.doing() else {
            return Ok(ToolOutput::text(format!(
                "The subagent {id} is not at work: there was nothing to stop."
            )));
        };
        if let Some(background) = cx.run().value::<Arc<Background>>() {
            background.settle(&work.errand.call);
        }
        work.stop.cancel();
        work.ended.cancelled().await;
        let Doing::Ended(last) = child.doing() else {
            return Err(ToolError::failed(format!("The subagent {id} is gone.")));
        };
        let (errand, end) = &*last;
        let text = errand.text(end, self.0.options.answer_bytes);
        Ok(ToolOutput::text(text).with_details(errand.facts(end)))
    }
}
