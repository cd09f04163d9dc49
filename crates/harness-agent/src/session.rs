//! A conversation over several runs.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::StreamExt;
use futures::stream::Stream;
use harness_core::{
    Caller, CancellationToken, Event, LoopConfig, MessageRef, RunControl, RunError, RunHandle,
    RunInput, RunOptions, RunOutcome, UserMessage,
};

use crate::error::Error;
use crate::harness::{AgentHarness, LoopContext};

/// A conversation that is kept in memory, run after run.
///
/// Whatever way a run ends — done, failed, cancelled, at a limit — the conversation goes on from its
/// last valid state, and messages that a run could not deliver come first in the next one.
///
/// What the tools keep in the attributes of its caller lasts as long as the session: the files that were
/// seen, the working folder of `bash`, jobs in the background. Cancelling a run leaves those jobs
/// running. [`end`](Self::end) ends them; a session that is dropped kills them.
#[derive(Debug)]
pub struct AgentSession {
    harness: AgentHarness,
    config: LoopConfig,
    caller: Caller,
    history: Vec<MessageRef>,
    undelivered: Vec<UserMessage>,
}

impl AgentSession {
    pub(crate) fn new(harness: AgentHarness) -> Self {
        let config = harness.loop_config().clone();
        let caller = Caller {
            working_dir: harness.working_dir().cloned(),
            ..Caller::default()
        };
        Self {
            harness,
            config,
            caller,
            history: Vec::new(),
            undelivered: Vec::new(),
        }
    }

    /// Sets who asks, and from where. The attributes are the session's own from then on: a clone of
    /// the caller shares them.
    pub fn with_caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        if self.caller.working_dir.is_none() {
            self.caller.working_dir = self.harness.working_dir().cloned();
        }
        self
    }

    /// Starts from a conversation that was kept elsewhere.
    pub fn with_history(mut self, history: Vec<MessageRef>) -> Self {
        self.history = history;
        self
    }

    /// Uses another model, other tools or another thinking level from the next run on.
    pub fn reconfigure(&mut self, context: &LoopContext) -> Result<(), Error> {
        self.config = self.harness.build_loop_config(context)?.config;
        Ok(())
    }

    /// The conversation so far.
    pub fn history(&self) -> &[MessageRef] {
        &self.history
    }

    /// Messages that the last run could not deliver. They come first in the next run.
    pub fn undelivered(&self) -> &[UserMessage] {
        &self.undelivered
    }

    /// Says something, and runs until the model is done.
    pub fn prompt(&mut self, message: impl Into<UserMessage>) -> SessionRun<'_> {
        self.start(vec![message.into()], None)
    }

    /// Like [`prompt`](Self::prompt), with a cancellation from outside.
    pub fn prompt_with(
        &mut self,
        message: impl Into<UserMessage>,
        cancellation: CancellationToken,
    ) -> SessionRun<'_> {
        self.start(vec![message.into()], Some(cancellation))
    }

    /// Goes on without a new message, after a run that was cut short by an error or a limit.
    pub fn go_on(&mut self) -> SessionRun<'_> {
        self.start(Vec::new(), None)
    }

    /// Ends the session: jobs that its tools left in the background are asked to end, and killed if
    /// they do not. When it returns, none of their processes runs.
    #[cfg_attr(
        not(feature = "tools"),
        expect(
            clippy::unused_async,
            reason = "without tools there is nothing to wait for"
        )
    )]
    pub async fn end(self) {
        #[cfg(feature = "tools")]
        if let Some(shell) = self.caller.attributes.get::<harness_tools::ShellSession>() {
            shell.end().await;
        }
    }

    fn start(
        &mut self,
        messages: Vec<UserMessage>,
        cancellation: Option<CancellationToken>,
    ) -> SessionRun<'_> {
        let mut all = self.undelivered.clone();
        all.extend(messages);
        let input = RunInput {
            history: self.history.clone(),
            messages: all,
            resume: false,
        };
        let options = RunOptions {
            caller: self.caller.clone(),
            cancellation,
            journal: None,
        };
        let handle = harness_core::run_with(&self.config, input, options);
        SessionRun {
            session: self,
            handle,
        }
    }
}

/// A run of a session.
///
/// Its outcome enters the session when [`outcome`](Self::outcome) gives it. A run that is dropped
/// before is as if it had never been: the conversation stays as it was.
#[derive(Debug)]
#[must_use = "a run goes on only while it is polled"]
pub struct SessionRun<'s> {
    session: &'s mut AgentSession,
    handle: RunHandle<'static>,
}

impl SessionRun<'_> {
    /// The next event; `None` when the run has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.handle.next().await
    }

    /// The means to steer and to cancel the run, for use from elsewhere.
    pub fn control(&self) -> RunControl {
        self.handle.control()
    }

    /// Runs to the end, and takes the conversation into the session, also if the run failed.
    pub async fn outcome(self) -> Result<RunOutcome, RunError> {
        let Self { session, handle } = self;
        let result = handle.outcome().await;
        let outcome = match &result {
            Ok(outcome) => outcome,
            Err(error) => error.outcome(),
        };
        session.history.clone_from(&outcome.history);
        session.undelivered.clone_from(&outcome.undelivered);
        result
    }
}

impl Stream for SessionRun<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.handle.poll_next_unpin(cx)
    }
}
