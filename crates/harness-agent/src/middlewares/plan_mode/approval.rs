//! Who approves a plan.

use std::path::PathBuf;
use std::sync::Arc;

use harness_core::{ToolContext, async_trait};

/// How a plan that the model proposes is approved.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum PlanApproval {
    /// By the user's command `/plan approve`, or by the host with
    /// [`PlanMode::approve`](crate::middlewares::PlanMode::approve), when the run has ended.
    #[default]
    ByCommand,
    /// Each one, at once.
    Always,
    /// By somebody who is asked while the run waits.
    Ask(Arc<dyn PlanApprover>),
}

impl std::fmt::Debug for PlanApproval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ByCommand => "ByCommand",
            Self::Always => "Always",
            Self::Ask(_) => "Ask",
        })
    }
}

/// Somebody who approves plans.
#[async_trait]
pub trait PlanApprover: Send + Sync {
    /// Decides on a plan. Must end soon when the call is cancelled ([`ToolContext::cancellation`]); the
    /// answer does not count then.
    async fn decide(&self, cx: &ToolContext, plan: &ProposedPlan) -> PlanDecision;
}

/// A plan that is to be approved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProposedPlan {
    /// Its file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What the model says of it.
    pub summary: String,
}

impl ProposedPlan {
    pub(crate) fn new(path: PathBuf, text: String, summary: String) -> Self {
        Self {
            path,
            text,
            summary,
        }
    }
}

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanDecision {
    /// It is to be carried out.
    Approved,
    /// It is to be changed.
    Rejected {
        /// Why, in words for the model.
        reason: String,
    },
}
