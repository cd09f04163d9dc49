//! The conversation that a run goes on with, or begins.

use std::path::Path;

use harness_agent::middlewares::TranscriptPath;
use harness_agent::{AgentHarness, AgentSession, CompactionSummary, LeftBehind, SessionRun};
use harness_core::{Caller, CancellationToken, UserMessage};
use harness_session::{EntryId, NodeKind, SessionId};

use crate::failure::Failure;
use crate::run_session::{Begun, Made, nothing_to_go_on_with};
use crate::session_place::{failure, not_blank};
use crate::stderr;

/// A conversation, kept or not.
pub(crate) struct Conversation {
    // Before `made`: it is let go of first.
    session: AgentSession,
    /// The session, if it is kept.
    kept: Option<SessionId>,
    made: Option<Made>,
    /// Whether a run has started.
    started: bool,
}

impl Conversation {
    /// One in what was begun; nothing is kept without it.
    pub(crate) fn of(
        agent: &AgentHarness,
        begun: Option<Begun>,
        caller: Caller,
    ) -> Result<Self, Failure> {
        match begun {
            Some(begun) => Self::kept(agent, begun, caller),
            None => Ok(Self::unkept(agent, caller)),
        }
    }

    /// One that nothing is kept of.
    fn unkept(agent: &AgentHarness, caller: Caller) -> Self {
        Self {
            session: agent.session().with_caller(caller),
            kept: None,
            made: None,
            started: false,
        }
    }

    /// One that is kept.
    fn kept(agent: &AgentHarness, begun: Begun, caller: Caller) -> Result<Self, Failure> {
        let id = begun.session.id();
        if let Some(file) = begun.file {
            // For hooks, which may read what was said.
            caller.attributes.insert(TranscriptPath(file));
        }
        let session = agent
            .session_in(begun.session)
            .map_err(|error| Failure::failed(error.to_string()))?;
        Ok(Self {
            session: session.with_caller(caller),
            kept: Some(id),
            made: begun.made,
            started: false,
        })
    }

    /// Who asks, and from where.
    pub(crate) fn caller(&self) -> &Caller {
        self.session.caller()
    }

    /// Goes on from another entry: behind it, or before it if it is the user's own message.
    pub(crate) async fn go_to(
        &mut self,
        text: &str,
        summary: bool,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        not_blank(text)?;
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
            return Err(nothing_to_make_shorter());
        }
        let focus = Some(focus).filter(|focus| !focus.is_empty());
        let before = self.session.history().len();
        let compacted = self.session.compact(focus, cancel).await;
        let compacted = compacted.map_err(|error| Failure::failed(error.to_string()))?;
        self.started = compacted.is_some();
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
        if message.is_none() && !self.session.has_something_to_answer() {
            return Err(nothing_to_go_on_with());
        }
        self.started = true;
        Ok(match message {
            Some(message) => self.session.prompt_with(message, cancel),
            None => self.session.go_on_with(cancel),
        })
    }

    /// The command that goes on with it, after a run in `folder`; `None` if nothing of it is kept.
    pub(crate) fn way_on(&self, folder: &Path) -> Option<String> {
        let id = self.kept?;
        if self.session.history().is_empty() && self.session.undelivered().is_empty() {
            return None;
        }
        let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
        let which = if is_here {
            "--continue".to_owned()
        } else {
            format!("--session {id}")
        };
        // Where the model spoke last, it waits for something to be said.
        let task = if self.session.has_something_to_answer() {
            ""
        } else {
            " TASK"
        };
        Some(format!("harness run {which}{task}"))
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let entries = self.session.with_session(|session| session.log().len());
        if let Some(made) = &mut self.made {
            // Nobody would look for a session that nothing was said in, but `--continue` would find it.
            let is_empty =
                self.session.history().is_empty() && self.session.undelivered().is_empty();
            made.stays = self.started && entries > made.entries && !is_empty;
        }
    }
}

/// What `/compact` says without a conversation.
pub(crate) fn nothing_to_make_shorter() -> Failure {
    Failure::usage("there is no conversation to make shorter")
        .hint("/compact is for one that is gone on with: harness run --continue /compact")
}
