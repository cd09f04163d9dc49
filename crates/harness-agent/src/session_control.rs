//! Steering a session's run from elsewhere.

use std::sync::Arc;

use harness_core::{RunControl, UserMessage};
use harness_session::{Queue, SessionJournal};

use crate::error::Error;

/// The means to steer a session's run from anywhere. Cheap to clone.
///
/// A message that was taken is on record: it is delivered by this run, or by the next one, also in another
/// process.
#[derive(Clone, Debug)]
pub struct SessionControl {
    journal: Arc<SessionJournal>,
    run: Option<RunControl>,
}

impl SessionControl {
    pub(crate) fn new(journal: Arc<SessionJournal>, run: Option<RunControl>) -> Self {
        Self { journal, run }
    }

    /// Says something before the next model request. Calls that are running are not skipped. If the run
    /// has ended, the next one begins with it.
    ///
    /// `Err` if it could not be recorded; then it is not delivered.
    pub fn steer(&self, message: impl Into<UserMessage>) -> Result<(), Error> {
        self.say(Queue::Steer, message.into())
    }

    /// Says something when the model is done; the run then goes on. If the run has ended, the next one
    /// begins with it.
    ///
    /// `Err` if it could not be recorded; then it is not delivered.
    pub fn follow_up(&self, message: impl Into<UserMessage>) -> Result<(), Error> {
        self.say(Queue::FollowUp, message.into())
    }

    /// Cancels the run: see [`RunControl::cancel`].
    pub fn cancel(&self) {
        if let Some(run) = &self.run {
            run.cancel();
        }
    }

    fn say(&self, queue: Queue, mut message: UserMessage) -> Result<(), Error> {
        message.content.retain(|part| !part.is_blank());
        if message.content.is_empty() {
            return Ok(());
        }
        self.journal.enqueue(queue, &message)?;
        if let Some(run) = &self.run {
            // What the run does not take any more waits, on record, for the next one.
            let _ = match queue {
                Queue::Steer => run.steer(message),
                Queue::FollowUp => run.follow_up(message),
            };
        }
        Ok(())
    }
}
