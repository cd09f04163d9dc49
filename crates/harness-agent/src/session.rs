//! A conversation over several runs.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::StreamExt;
use futures::stream::Stream;
use harness_core::{
    Caller, CancellationToken, Event, LoopConfig, Message, MessageRef, RunContext, RunError,
    RunHandle, RunInput, RunOptions, RunOutcome, UserMessage,
};
use harness_session::{Header, MemoryStore, Queue, Session, SessionId, SessionJournal};

use crate::error::Error;
use crate::harness::{AgentHarness, LoopContext};
use crate::middlewares::{TaskList, restored_tasks};
use crate::session_control::SessionControl;

/// A conversation that is kept, run after run: in memory, or in a [store](harness_session::Store) that
/// outlives the process.
///
/// Everything that a run does is recorded before and after it is done. Whatever way a run ends — done,
/// failed, cancelled, at a limit, dropped, killed with the process — the conversation goes on from what is on
/// record: the calls of the last reply that had not begun are made, those that had begun are made again only
/// if their tools say that they may, and messages that were not delivered are delivered then.
///
/// What the tools keep in the attributes of its caller lasts as long as this value: the files that were seen,
/// the working folder of `bash`, jobs in the background. Cancelling a run leaves those jobs running.
/// [`end`](Self::end) ends them; a session that is dropped kills them.
#[derive(Debug)]
pub struct AgentSession {
    pub(crate) harness: AgentHarness,
    pub(crate) config: LoopConfig,
    pub(crate) caller: Caller,
    pub(crate) journal: Arc<SessionJournal>,
    pub(crate) history: Vec<MessageRef>,
    /// Whether the last run was cut off: what it had begun is gone on with.
    open: bool,
    /// The run that its runs are started in.
    parent: Option<RunContext>,
}

impl AgentSession {
    /// A conversation that is kept in memory.
    pub(crate) fn in_memory(harness: AgentHarness) -> Self {
        let header = Header::new(harness.working_dir().cloned());
        let session = Session::create(&MemoryStore::default(), header);
        match session
            .map_err(Error::from)
            .and_then(|it| Self::new(harness, it))
        {
            Ok(session) => session,
            Err(error) => unreachable!("memory has no disk that could be full: {error}"),
        }
    }

    pub(crate) fn new(harness: AgentHarness, session: Session) -> Result<Self, Error> {
        let (journal, context) = SessionJournal::new(session)?;
        let journal = Arc::new(journal);
        let config = harness.loop_config().with_journal(journal.clone());
        let caller = Caller {
            working_dir: harness.working_dir().cloned(),
            ..Caller::default()
        };
        let mut session = Self {
            harness,
            config,
            caller,
            journal,
            history: Vec::new(),
            open: false,
            parent: None,
        };
        session.adopt(context);
        Ok(session)
    }

    /// A conversation that outlives the process: its id is told.
    pub(crate) fn kept(mut self) -> Self {
        self.caller.session = Some(self.id().to_string());
        self
    }

    /// Sets who asks, and from where. The attributes are the session's own from then on: a clone of
    /// the caller shares them.
    pub fn with_caller(mut self, caller: Caller) -> Self {
        let session = self.caller.session.take();
        self.caller = caller;
        self.caller.session = self.caller.session.take().or(session);
        if self.caller.working_dir.is_none() {
            self.caller.working_dir = self.harness.working_dir().cloned();
        }
        self
    }

    /// Starts its runs within another run from now on: see [`RunOptions::parent`].
    pub fn within(mut self, parent: RunContext) -> Self {
        self.parent = Some(parent);
        self
    }

    /// Who asks, and from where.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Starts from a conversation that was kept elsewhere.
    pub fn with_history(mut self, history: &[MessageRef]) -> Result<Self, Error> {
        self.journal.import(history)?;
        self.reload()?;
        Ok(self)
    }

    /// Uses another model, other tools or another thinking level from the next run on.
    pub fn reconfigure(&mut self, context: &LoopContext) -> Result<(), Error> {
        let config = self.harness.build_loop_config(context)?.config;
        self.config = config.with_journal(self.journal.clone());
        Ok(())
    }

    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.journal.with_session(|session| session.id())
    }

    /// The conversation so far, from its newest compaction on.
    pub fn history(&self) -> &[MessageRef] {
        &self.history
    }

    /// Messages that no run has delivered yet. They are delivered by the next run.
    pub fn undelivered(&self) -> Vec<UserMessage> {
        let queued = self.journal.queued().into_iter();
        queued.map(|queued| queued.message).collect()
    }

    /// Whether the last run was cut off in its middle, and [`go_on`](Self::go_on) would go on with it.
    pub fn was_cut_off(&self) -> bool {
        self.open
    }

    /// Whether there is something to answer, so that [`go_on`](Self::go_on) asks the model: a message, results,
    /// calls that were not made, or messages that wait.
    pub fn has_something_to_answer(&self) -> bool {
        self.history_wants_an_answer() || !self.journal.queued().is_empty()
    }

    fn history_wants_an_answer(&self) -> bool {
        match self.history.last().map(|last| &**last) {
            None => false,
            Some(Message::Assistant(reply)) => self.open && reply.tool_calls().next().is_some(),
            Some(_) => true,
        }
    }

    /// Looks at the session, or writes entries of one's own: labels, names, custom ones. Where the
    /// conversation goes on is changed by [`go_to`](Self::go_to).
    pub fn with_session<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T {
        self.journal.with_session(act)
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

    /// Goes on without a new message, after a run that was cut short by an error, a limit or a crash.
    pub fn go_on(&mut self) -> SessionRun<'_> {
        self.start(Vec::new(), None)
    }

    /// Like [`go_on`](Self::go_on), with a cancellation from outside.
    pub fn go_on_with(&mut self, cancellation: CancellationToken) -> SessionRun<'_> {
        self.start(Vec::new(), Some(cancellation))
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

    /// Ends the jobs that its tools left in the background; the session goes on.
    #[cfg_attr(
        not(feature = "tools"),
        expect(
            clippy::unused_async,
            reason = "without tools there is nothing to wait for"
        )
    )]
    pub(crate) async fn end_jobs(&self) {
        #[cfg(feature = "tools")]
        if let Some(shell) = self.caller.attributes.get::<harness_tools::ShellSession>() {
            shell.end().await;
            self.caller
                .attributes
                .insert(harness_tools::ShellSession::default());
        }
    }

    fn start(
        &mut self,
        messages: Vec<UserMessage>,
        cancellation: Option<CancellationToken>,
    ) -> SessionRun<'_> {
        self.restore_tasks();
        // What waited for the end of a run that goes on now still waits for it; everything else comes first.
        let goes_on = self.open && messages.is_empty() && self.history_wants_an_answer();
        let (later, mut all): (Vec<_>, Vec<_>) = self
            .journal
            .queued()
            .into_iter()
            .partition(|queued| goes_on && queued.queue == Queue::FollowUp);
        self.journal.begin_with(&all);
        let mut said: Vec<UserMessage> = all.drain(..).map(|queued| queued.message).collect();
        said.extend(messages);
        let input = RunInput {
            history: self.history.clone(),
            messages: said,
            resume: self.open,
        };
        let options = RunOptions {
            caller: self.caller.clone(),
            cancellation,
            journal: None,
            parent: self.parent.clone(),
        };
        let handle = harness_core::run_with(&self.config, input, options);
        for queued in later {
            // It was queued a moment ago, so it takes messages.
            let _ = handle.follow_up(queued.message);
        }
        SessionRun {
            session: self,
            handle: Some(handle),
        }
    }

    /// Reads the conversation anew from what is on record.
    pub(crate) fn reload(&mut self) -> Result<(), Error> {
        let context = self.journal.context()?;
        self.adopt(context);
        Ok(())
    }

    fn adopt(&mut self, context: harness_session::Context) {
        self.open = context.is_open();
        self.history = context.messages;
    }

    /// The list of tasks, as the conversation left it, if nobody keeps it otherwise.
    fn restore_tasks(&self) {
        let attributes = &self.caller.attributes;
        if attributes.get::<TaskList>().is_some() {
            return;
        }
        let tasks = restored_tasks(&self.history);
        if !tasks.is_empty() {
            let list = attributes.get_or_insert_with(TaskList::default);
            // What was a list once may not be one by today's bounds; then the model begins a new one.
            let _ = list.set(tasks);
        }
    }
}

/// A run of a session.
///
/// What it does is on record as it goes. One that is dropped before its [`outcome`](Self::outcome) was
/// taken is as one whose process was killed: the session goes on from what is on record.
#[derive(Debug)]
#[must_use = "a run goes on only while it is polled"]
pub struct SessionRun<'s> {
    session: &'s mut AgentSession,
    handle: Option<RunHandle<'static>>,
}

impl SessionRun<'_> {
    /// The next event; `None` when the run has ended.
    pub async fn next(&mut self) -> Option<Event> {
        match &mut self.handle {
            Some(handle) => handle.next().await,
            None => None,
        }
    }

    /// The means to steer and to cancel the run, for use from elsewhere.
    pub fn control(&self) -> SessionControl {
        let journal = Arc::clone(&self.session.journal);
        let run = self.handle.as_ref().map(RunHandle::control);
        SessionControl::new(journal, run)
    }

    /// Runs to the end, and takes the conversation into the session, also if the run failed.
    pub async fn outcome(mut self) -> Result<RunOutcome, RunError> {
        let Some(handle) = self.handle.take() else {
            unreachable!("only this takes the handle, and takes the run with it");
        };
        let result = handle.outcome().await;
        let outcome = match &result {
            Ok(outcome) => outcome,
            Err(error) => error.outcome(),
        };
        let is_recorded = !matches!(
            outcome.status,
            harness_core::RunStatus::Failed(harness_core::Error::Journal(_))
        );
        if is_recorded {
            self.session.history.clone_from(&outcome.history);
            self.session.open = false;
        } else {
            // What could not be recorded did not happen. If it cannot be read either, the next run fails
            // with the reason.
            let _ = self.session.reload();
        }
        result
    }
}

impl Drop for SessionRun<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // First: it may be recording something.
            drop(handle);
            // If it fails, the next run fails with the reason.
            let _ = self.session.reload();
        }
    }
}

impl Stream for SessionRun<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match &mut self.handle {
            Some(handle) => handle.poll_next_unpin(cx),
            None => Poll::Ready(None),
        }
    }
}
