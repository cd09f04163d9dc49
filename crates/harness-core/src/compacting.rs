//! The step of a turn that may make the conversation shorter.

use std::sync::Arc;

use futures::FutureExt;

use crate::compaction::{Compaction, ContextUse};
use crate::config::{caught, hook_failed};
use crate::context::RunContext;
use crate::engine::Engine;
use crate::error::{Error, MiddlewareError};
use crate::event::Event;
use crate::journal::{Record, StepKind};
use crate::message::{Message, MessageRef};
use crate::outcome::{LimitReached, RunStatus};
use crate::protocol;
use crate::state::State;

/// What came of the step.
pub(crate) enum Compacted {
    /// The conversation is as it was.
    Unchanged,
    /// It is shorter: the request has to be made anew.
    Shorter,
    /// It would have been made shorter once too often.
    End(RunStatus),
}

impl Engine<'_> {
    /// Asks the middlewares for a shorter conversation, and takes it.
    pub(crate) async fn compact(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
        overflow: bool,
    ) -> Result<Compacted, Error> {
        if self.config.inner.chains.compaction.is_empty() {
            return Ok(Compacted::Unchanged);
        }
        let used = state.context_use(self.config.inner.token_counter.clone(), overflow);
        let history = Arc::clone(&state.messages);
        let mut failed = None;
        let effect = async {
            match self.ask_for_compaction(cx, &history, &used).await {
                Ok(compaction) => Record::Compacted(compaction),
                Err(error) => {
                    failed = Some(error);
                    Record::Compacted(None)
                }
            }
        };
        let step = self
            .step(name, StepKind::Compaction(&used), effect.boxed())
            .await;
        if let Some(error) = failed {
            return Err(error);
        }
        let Record::Compacted(compaction) = step? else {
            return Err(Self::foreign(name).into());
        };
        // Only now: a history that is still shared would have to be copied to add to it.
        drop(history);
        let Some(compaction) = compaction else {
            return Ok(Compacted::Unchanged);
        };
        let most = self.config.inner.limits.max_compactions;
        let all = state.messages.len();
        let kept = compaction.kept;
        let reason = compaction.reason;
        state.replace(cx, compaction, &used);
        let after = state.context_use(None, false);
        cx.emit(Event::CompactionEnd {
            reason,
            tokens_before: used.tokens,
            tokens_after: Some(after.tokens),
            summarised: all.saturating_sub(kept),
            kept,
            error: None,
        });
        if state.compactions > most {
            let limit = LimitReached::Compactions { max: most };
            return Ok(Compacted::End(RunStatus::Limit(limit)));
        }
        Ok(Compacted::Shorter)
    }

    async fn ask_for_compaction(
        &self,
        cx: &RunContext,
        history: &Arc<Vec<MessageRef>>,
        used: &ContextUse,
    ) -> Result<Option<Compaction>, Error> {
        for middleware in &*self.config.inner.chains.compaction {
            let asked = caught(async { middleware.on_compaction(cx, history, used).await }).await;
            match asked.and_then(|given| given.map(|given| sound(given, history)).transpose()) {
                Ok(None) => {}
                Ok(given) => return Ok(given),
                Err(error) => hook_failed(cx, &**middleware, "on_compaction", error.0)?,
            }
        }
        Ok(None)
    }
}

/// A compaction that leaves a conversation which can be sent, and that has something to answer.
fn sound(compaction: Compaction, history: &[MessageRef]) -> Result<Compaction, MiddlewareError> {
    let refused = |rule: &str| Err(MiddlewareError(format!("the compaction it gave {rule}")));
    let Some(cut) = history.len().checked_sub(compaction.kept) else {
        return refused("keeps more messages than there are");
    };
    if cut == 0 {
        return refused("takes nothing away");
    }
    if let Some(message) = compaction
        .summary
        .iter()
        .find(|it| !matches!(&***it, Message::User(_)))
    {
        return refused(&format!(
            "has a summary that is not of the user's side: {message:?}"
        ));
    }
    let kept = history.get(cut..).unwrap_or_default();
    let shorter: Vec<MessageRef> = compaction.summary.iter().chain(kept).cloned().collect();
    match protocol::check_messages(&shorter) {
        Ok(()) => Ok(compaction),
        Err(rule) => refused(&format!(
            "leaves a conversation that cannot be sent: {rule}"
        )),
    }
}
