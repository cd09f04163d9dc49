//! Hooks before a compaction.

use harness_core::{CompactionReason, RunContext};

use super::UserHooksMiddleware;
use super::hook_event::HookEvent;
use super::input::fields;

/// Asks the `PreCompact` hooks: among the attributes of a caller, once a run of it went through
/// [`UserHooksMiddleware`]. Only whoever makes a conversation shorter knows when that is.
pub(crate) struct BeforeCompaction(UserHooksMiddleware);

impl BeforeCompaction {
    pub(super) fn new(middleware: &UserHooksMiddleware) -> Self {
        Self(middleware.clone())
    }

    /// Why the conversation may not be made shorter, if a hook says so.
    pub(crate) async fn refusal(
        cx: &RunContext,
        reason: CompactionReason,
        focus: Option<&str>,
    ) -> Option<String> {
        let this = cx.attributes().get::<Self>()?;
        let trigger = match reason {
            CompactionReason::Manual => "manual",
            _ => "auto",
        };
        let told = fields([
            ("trigger", trigger.into()),
            ("custom_instructions", focus.unwrap_or_default().into()),
        ]);
        let joined = this
            .0
            .ask(cx, HookEvent::PreCompact, Some(trigger), told)
            .await;
        joined.stop.or(joined.block)
    }
}
