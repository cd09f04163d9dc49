//! `agent_spawn`: hands a task to a new subagent.

use std::borrow::Cow;
use std::sync::Arc;

use harness_core::{
    Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, UserMessage, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::background::Background;
use super::errand::Errand;
use super::host::Host;
use super::nursery::{begin, children};
use super::work::Work;

/// Its name.
pub(crate) const AGENT_SPAWN: &str = "agent_spawn";

/// Hands a task to a new subagent and gives back its answer. Several calls in one reply work at the same time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct AgentSpawnArgs {
    /// One of the agents that you were told of.
    agent: String,
    /// All that it has to know: it sees nothing of this conversation.
    task: String,
    /// Do not wait: you are told when it is done.
    #[serde(default)]
    background: bool,
}

#[derive(Clone)]
pub(crate) struct AgentSpawn(pub(crate) Arc<Host>);

#[async_trait]
impl Tool for AgentSpawn {
    type Args = AgentSpawnArgs;

    fn name(&self) -> Cow<'_, str> {
        AGENT_SPAWN.into()
    }

    /// A call that is made again finds what it began.
    fn replay(&self) -> Replay {
        Replay::Safe
    }

    /// What its subagent does is looked at call by call; but a worktree is made, and merged, by the call itself.
    fn effects(&self, _: &ToolContext, args: &AgentSpawnArgs) -> ToolEffects {
        match self.0.writes(&args.agent) {
            Some(folder) => ToolEffects::write(folder),
            None => ToolEffects::conversation(),
        }
    }

    async fn call(&self, cx: &ToolContext, args: AgentSpawnArgs) -> Result<ToolOutput, ToolError> {
        let AgentSpawnArgs {
            agent,
            task,
            background,
        } = args;
        if task.trim().is_empty() {
            return Err(ToolError::failed(
                "The task is blank. Say what the subagent is to do.",
            ));
        }
        let host = &self.0;
        host.options.agents.refresh();
        let declaration = host.options.agents.find(&agent);
        let declaration = declaration.map_err(|error| ToolError::failed(error.to_string()))?;
        is_room(host, cx)?;
        let child = begin(host, cx.run(), cx.call_id(), &declaration, &task).await;
        let child = child.map_err(ToolError::failed)?;
        let errand = Errand::of(&child, cx.call_id(), &task, background);
        give(host, cx, &child, errand, &UserMessage::from(task)).await
    }
}

/// Whether another errand may be given: `Err` in words for a model.
pub(crate) fn is_room(host: &Host, cx: &ToolContext) -> Result<(), ToolError> {
    let children = children(cx.run());
    let most = host.options.max_at_once;
    if children.at_work() >= most {
        return Err(ToolError::failed(format!(
            "{most} subagents are at work, which is the most. Wait for one of them, or stop one."
        )));
    }
    let most = host.options.max_errands;
    children.count(most).map_err(|()| {
        ToolError::failed(format!(
            "{most} tasks were given to subagents in this session, which is the most. Do the rest yourself."
        ))
    })
}

/// Gives a subagent an errand, and waits for its end unless it is one for the background.
pub(crate) async fn give(
    host: &Host,
    cx: &ToolContext,
    child: &Arc<super::Child>,
    errand: Errand,
    message: &UserMessage,
) -> Result<ToolOutput, ToolError> {
    if errand.background {
        let Some(background) = cx.run().value::<Arc<Background>>() else {
            return Err(ToolError::failed(
                "There is no run that a subagent could work beside. Call it without background.",
            ));
        };
        let stop = background.cancellation().child_token();
        let mut work = Work::take(child, errand.clone(), stop).map_err(ToolError::failed)?;
        work.prepare(message).map_err(ToolError::failed)?;
        let run = background.cx().clone();
        let work = async move { work.carry_out(&run).await };
        let begun = background.begin(errand.clone(), work);
        begun.map_err(|()| ToolError::failed("The run is over."))?;
        return Ok(errand.begun());
    }
    let stop = cx.cancellation().child_token();
    let mut work = Work::take(child, errand.clone(), stop).map_err(ToolError::failed)?;
    work.prepare(message).map_err(ToolError::failed)?;
    let end = work.carry_out(cx.run()).await;
    let text = errand.text(&end, host.options.answer_bytes);
    let output = ToolOutput::text(text).with_details(errand.facts(&end));
    if end.is_answer() {
        Ok(output)
    } else {
        Err(ToolError::Failed(output))
    }
}
