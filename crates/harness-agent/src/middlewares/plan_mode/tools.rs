//! The model's hands on its plan: `plan_enter`, `plan_write`, `plan_exit`.

use std::borrow::Cow;
use std::sync::Arc;

use futures::FutureExt;
use harness_core::{
    Execution, Replay, Tool, ToolContext, ToolEffects, ToolError, ToolOutput, ToolRef, async_trait,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::middlewares::plan_mode::Settings;
use crate::middlewares::plan_mode::approval::{PlanApproval, PlanDecision, ProposedPlan};
use crate::middlewares::plan_mode::state::{PlanMode, PlanState};

/// The names of the three tools.
pub(crate) const PLAN_TOOLS: [&str; 3] = ["plan_enter", "plan_write", "plan_exit"];

/// The three tools.
pub(crate) fn plan_tools(settings: &Arc<Settings>) -> Vec<ToolRef> {
    let settings = || Arc::clone(settings);
    vec![
        ToolRef::new(PlanEnter(settings())),
        ToolRef::new(PlanWrite(settings())),
        ToolRef::new(PlanExit(settings())),
    ]
}

fn said(mode: &PlanMode, text: String) -> ToolOutput {
    ToolOutput::text(text).with_details(json!({ "plan_mode": mode.state().word() }))
}

/// Starts plan mode: nothing but the plan can change until the user approves it. For large or unclear
/// tasks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct PlanEnterArgs {}

struct PlanEnter(Arc<Settings>);

#[async_trait]
impl Tool for PlanEnter {
    type Args = PlanEnterArgs;

    fn name(&self) -> Cow<'_, str> {
        PLAN_TOOLS[0].into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, _: &PlanEnterArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, cx: &ToolContext, _: PlanEnterArgs) -> Result<ToolOutput, ToolError> {
        let mode = self.0.mode(cx.run());
        mode.enter_saved().map_err(ToolError::failed)?;
        let text =
            "Plan mode is on. Look around, write the plan with plan_write, then call plan_exit.";
        Ok(said(&mode, text.to_owned()))
    }
}

/// Writes the plan, whole.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct PlanWriteArgs {
    /// The full text of the plan, in Markdown.
    content: String,
}

struct PlanWrite(Arc<Settings>);

#[async_trait]
impl Tool for PlanWrite {
    type Args = PlanWriteArgs;

    fn name(&self) -> Cow<'_, str> {
        PLAN_TOOLS[1].into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, cx: &ToolContext, _: &PlanWriteArgs) -> ToolEffects {
        self.0.mode(cx.run()).writes()
    }

    async fn call(&self, cx: &ToolContext, args: PlanWriteArgs) -> Result<ToolOutput, ToolError> {
        let mode = self.0.mode(cx.run());
        mode.write(cx.run(), &args.content)
            .map_err(ToolError::failed)?;
        let text = format!(
            "The plan is in {}. Call plan_exit when it is complete.",
            mode.shown()
        );
        Ok(said(&mode, text))
    }
}

/// Proposes the plan to the user; once it is carried out, ends it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct PlanExitArgs {
    /// The plan in a few sentences.
    summary: String,
}

struct PlanExit(Arc<Settings>);

impl PlanExit {
    /// Asks, and gives the answer's words.
    async fn approval(
        &self,
        cx: &ToolContext,
        mode: &PlanMode,
        summary: String,
    ) -> Result<String, ToolError> {
        let go_ahead = || {
            let path = mode.shown();
            format!("The plan in {path} is approved. Carry it out now, step by step.")
        };
        let proposal = mode.propose().map_err(ToolError::failed)?;
        match &self.0.approval {
            PlanApproval::ByCommand => {
                let text = "The plan is proposed. End your turn now by presenting it; the user approves it \
                            with `/plan approve`.";
                Ok(text.to_owned())
            }
            PlanApproval::Always => {
                mode.approve_proposal(&proposal)
                    .map_err(ToolError::failed)?;
                Ok(go_ahead())
            }
            PlanApproval::Ask(approver) => {
                let plan = ProposedPlan::new(proposal.path.clone(), proposal.text.clone(), summary);
                let decision = futures::select_biased! {
                    () = cx.cancellation().cancelled().fuse() => return Err(ToolError::Cancelled),
                    decision = approver.decide(cx, &plan).fuse() => decision,
                };
                match decision {
                    PlanDecision::Approved => {
                        mode.approve_proposal(&proposal)
                            .map_err(ToolError::failed)?;
                        Ok(go_ahead())
                    }
                    PlanDecision::Rejected { reason } => {
                        mode.reject().map_err(ToolError::failed)?;
                        Ok(format!(
                            "The plan is rejected: {reason}\nChange it with plan_write, then call \
                             plan_exit again."
                        ))
                    }
                }
            }
        }
    }
}

#[async_trait]
impl Tool for PlanExit {
    type Args = PlanExitArgs;

    fn name(&self) -> Cow<'_, str> {
        PLAN_TOOLS[2].into()
    }

    fn execution(&self) -> Execution {
        Execution::Sequential
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn effects(&self, _: &ToolContext, _: &PlanExitArgs) -> ToolEffects {
        ToolEffects::conversation()
    }

    async fn call(&self, cx: &ToolContext, args: PlanExitArgs) -> Result<ToolOutput, ToolError> {
        let mode = self.0.mode(cx.run());
        let text = if mode.state() == PlanState::Approved {
            mode.leave()?;
            "The plan is ended.".to_owned()
        } else {
            self.approval(cx, &mode, args.summary).await?
        };
        Ok(said(&mode, text))
    }
}
