//! The conversation that a run goes on with, or begins.

use std::path::Path;

use harness_agent::{AgentHarness, AgentSession, SessionRun};
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
        let _ = (summary, cancel);
        self.session
            .with_session(|session| session.go_to(target))
            .map_err(|error| failure(&error))?;
        self.session
            .reload()
            .map_err(|error| Failure::failed(error.to_string()))
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
