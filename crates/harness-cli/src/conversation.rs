//! The conversation that a run goes on with, or begins.

use std::path::Path;

use harness_agent::{AgentHarness, AgentSession, CompactionSummary, LeftBehind, SessionRun};
use harness_core::{Caller, CancellationToken, UserMessage};
use harness_session::{EntryId, NodeKind};

use crate::failure::Failure;
use crate::run_session::{Opened, RunSession};
use crate::session_place::failure;
use crate::stderr;

/// A conversation, kept or not.
pub(crate) struct Conversation {
    session: AgentSession,
}

impl Conversation {
    /// One that nothing is kept of.
    pub(crate) fn unkept(agent: &AgentHarness, caller: Caller) -> Self {
        Self {
            session: agent.session().with_caller(caller),
        }
    }

    /// A new one, kept where the run's session is to be.
    pub(crate) fn begins(
        agent: &AgentHarness,
        session: &RunSession,
        folder: &Path,
        caller: Caller,
    ) -> Result<Self, Failure> {
        match session.open(folder)? {
            Some(opened) => Self::goes_on(agent, opened, caller),
            None => Ok(Self::unkept(agent, caller)),
        }
    }

    /// One that is kept.
    pub(crate) fn goes_on(
        agent: &AgentHarness,
        opened: Opened,
        caller: Caller,
    ) -> Result<Self, Failure> {
        let session = agent
            .session_in(opened.session)
            .map_err(|error| Failure::failed(error.to_string()))?;
        Ok(Self {
            session: session.with_caller(caller),
        })
    }

    /// Goes on from another entry: behind it, or before it if it is the user's own message.
    pub(crate) async fn go_to(
        &mut self,
        text: &str,
        summary: bool,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let target = self.session.with_session(|session| {
            let id = session.find_entry(text)?;
            let node = session.log().node(session.number_of(id)?)?;
            if node.kind != NodeKind::UserMessage {
                return Ok(Some(id));
            }
            match node.parent {
                Some(parent) => Ok(Some(session.log().node(parent)?.id)),
                None => Ok::<Option<EntryId>, harness_session::Error>(None),
            }
        });
        let target = target.map_err(|error| failure(&error))?;
        let left = if summary {
            LeftBehind::Summarised
        } else {
            LeftBehind::Dropped
        };
        let summarised = self.session.go_to(target, left, cancel.clone()).await;
        match summarised {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::failed(format!(
                "what is left behind cannot be summarised: {error}"
            ))
            .hint("--no-summary goes on without it")),
        }
    }

    /// Makes the conversation shorter, with a focus that may be blank.
    pub(crate) async fn compact(
        &mut self,
        focus: &str,
        cancel: CancellationToken,
        json: bool,
    ) -> Result<(), Failure> {
        if self.session.history().is_empty() {
            return Err(
                Failure::usage("there is no conversation to make shorter").hint(
                    "/compact is for one that is gone on with: harness run --continue /compact",
                ),
            );
        }
        let focus = Some(focus).filter(|focus| !focus.is_empty());
        let before = self.session.history().len();
        let compacted = self.session.compact(focus, cancel).await;
        let compacted = compacted.map_err(|error| Failure::failed(error.to_string()))?;
        let Some(compaction) = compacted else {
            stderr::note("there is nothing yet that a summary could stand for");
            return Ok(());
        };
        let summarised = before.saturating_sub(compaction.kept);
        stderr::note(&format!(
            "a summary stands for {summarised} of {before} messages now"
        ));
        let summary = compaction
            .summary
            .iter()
            .filter_map(|message| CompactionSummary::of(message));
        let texts: Vec<String> = summary.map(|summary| summary.text).collect();
        let text = texts.join("\n\n");
        if json {
            let line = serde_json::json!({
                "type": "compaction",
                "summary": text,
                "summarised": summarised,
                "kept": compaction.kept,
            });
            crate::stdout::print(&line.to_string())
        } else {
            crate::stdout::print(&text)
        }
    }

    /// Starts the run.
    pub(crate) fn start(
        &mut self,
        message: Option<UserMessage>,
        cancel: CancellationToken,
    ) -> Result<SessionRun<'_>, Failure> {
        if self.session.was_cut_off() {
            stderr::note("the last run was cut off; it is gone on with");
        }
        match message {
            Some(message) => Ok(self.session.prompt_with(message, cancel)),
            None if self.session.has_something_to_answer() => Ok(self.session.go_on_with(cancel)),
            None => Err(Failure::usage(
                "the session has come to an end: there is nothing to go on with",
            )
            .hint("say what is to be done next behind `harness run --continue`")),
        }
    }
}
