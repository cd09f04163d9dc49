//! `agent_list`: the subagents that are there.

use std::borrow::Cow;
use std::fmt::Write as _;

use harness_core::{Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, async_trait};
use schemars::JsonSchema;
use serde::Deserialize;

use super::child::Doing;
use super::nursery::children;

/// Its name.
pub(crate) const AGENT_LIST: &str = "agent_list";

/// Lists your subagents and what they do.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) struct AgentListArgs {}

#[derive(Clone, Copy)]
pub(crate) struct AgentList;

#[async_trait]
impl Tool for AgentList {
    type Args = AgentListArgs;

    fn name(&self) -> Cow<'_, str> {
        AGENT_LIST.into()
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, _: &AgentListArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, cx: &ToolContext, _: AgentListArgs) -> Result<ToolOutput, ToolError> {
        let children = children(cx.run());
        let mut text = String::new();
        for child in children.all() {
            let does = match child.doing() {
                Doing::Nothing => "has not begun".to_owned(),
                Doing::Errand(work) if work.errand.background => {
                    "is at work in the background".to_owned()
                }
                Doing::Errand(_) => "is at work".to_owned(),
                Doing::Ended(last) => {
                    let (_, end) = &*last;
                    format!("{} after {} turns", end.status, end.turns)
                }
                Doing::Lost(why) => format!("is gone: {why}"),
            };
            let _ = writeln!(text, "{}: {does} (session {})", child.id, child.session);
        }
        for errand in children.asleep() {
            let _ = writeln!(
                text,
                "{}: from an earlier run (session {})",
                errand.id, errand.session
            );
        }
        if text.is_empty() {
            text.push_str("There are no subagents yet.");
        }
        Ok(ToolOutput::text(text.trim_end()))
    }
}
