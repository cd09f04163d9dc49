//! Where a session's conversation goes on, and how much of it is carried along.

use harness_core::{CancellationToken, Compaction, ContextUse, RunContext};
use harness_session::{Body, BranchSummaryBody, EntryId, UsageBody};

use crate::error::Error;
use crate::session::AgentSession;

/// What is done about a branch that is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LeftBehind {
    /// It is summarised, and the summary stands where the conversation goes on.
    #[default]
    Summarised,
    /// It is summarised with something that the summary should look at most, in the user's words.
    SummarisedFor(String),
    /// It is left without a word.
    Dropped,
}

impl AgentSession {
    /// Goes on from another entry of the session's tree: behind it, or from nothing for `None`. What is left
    /// behind stays in the tree. Whether a summary of it was written: not if nothing was said there.
    ///
    /// If the summary cannot be written, nothing changes. Ends with [`Error::Cancelled`] when `cancellation`
    /// fires.
    pub async fn go_to(
        &mut self,
        target: Option<EntryId>,
        left: LeftBehind,
        cancellation: CancellationToken,
    ) -> Result<bool, Error> {
        let (from, messages) = self.journal.with_session(|session| {
            let messages = session.messages_left_behind(target)?;
            Ok::<_, harness_session::Error>((session.leaf(), messages))
        })?;
        let focus = match &left {
            LeftBehind::SummarisedFor(focus) => Some(focus.as_str()),
            LeftBehind::Summarised | LeftBehind::Dropped => None,
        };
        let summary = match left {
            LeftBehind::Dropped => None,
            LeftBehind::Summarised | LeftBehind::SummarisedFor(_) => {
                let cx = self.cx(cancellation);
                self.harness
                    .summarise_branch(&cx, &self.config, &messages, focus)
                    .await?
            }
        };
        let written = summary.is_some();
        self.journal.with_session(|session| {
            session.go_to(target)?;
            let Some((summary, from)) = summary.zip(from) else {
                return Ok(());
            };
            if let Some(spent) = summary.spent {
                session.append(Body::Usage(UsageBody {
                    purpose: "branch_summary".to_owned(),
                    model: spent.model,
                    usage: spent.usage,
                    cost: spent.cost,
                }))?;
            }
            session.append(Body::BranchSummary(BranchSummaryBody {
                from,
                message: summary.message,
                details: summary.details,
            }))?;
            session.sync()
        })?;
        self.reload()?;
        Ok(written)
    }

    /// Makes the conversation shorter, between runs: a summary stands for its beginning from then on. `focus`
    /// is what the summary should look at most, in the user's words. `None` if there is nothing that a
    /// summary could stand for.
    ///
    /// If it cannot be written, nothing changes. Ends with [`Error::Cancelled`] when `cancellation` fires.
    /// During a run, ask for it with [`CompactionRequests`](crate::middlewares::CompactionRequests).
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        cancellation: CancellationToken,
    ) -> Result<Option<Compaction>, Error> {
        let cx = self.cx(cancellation);
        #[cfg(feature = "tools")]
        {
            let reason = harness_core::CompactionReason::Manual;
            let refusal = crate::middlewares::BeforeCompaction::refusal(&cx, reason, focus);
            if let Some(why) = refusal.await {
                return Err(Error::Summary(format!("a hook refused it: {why}")));
            }
        }
        let compaction = self
            .harness
            .summarise_history(&cx, &self.config, &self.history, focus)
            .await?;
        if let Some(compaction) = &compaction {
            let model = self.config.model();
            let used = ContextUse::new(std::sync::Arc::clone(model), 0);
            let tokens = self.history.iter().map(|it| used.tokens_of(it)).sum();
            self.journal.compact(compaction, tokens)?;
            self.reload()?;
        }
        Ok(compaction)
    }

    fn cx(&self, cancellation: CancellationToken) -> RunContext {
        RunContext::detached(self.caller.clone()).with_cancellation(cancellation)
    }
}
