//! Messages that come while a run goes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::message::UserMessage;

/// How many queued messages are delivered at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// All that are there.
    #[default]
    All,
    /// One a turn.
    OneAtATime,
}

/// The steering and the follow-up queue of one run.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    steering: VecDeque<UserMessage>,
    follow_ups: VecDeque<UserMessage>,
    closed: bool,
}

impl Queues {
    /// Gives the message back if the run has ended.
    pub(crate) fn steer(&self, message: UserMessage) -> Result<(), UserMessage> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(message);
        }
        inner.steering.push_back(message);
        Ok(())
    }

    /// Gives the message back if the run has ended.
    pub(crate) fn follow_up(&self, message: UserMessage) -> Result<(), UserMessage> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(message);
        }
        inner.follow_ups.push_back(message);
        Ok(())
    }

    pub(crate) fn take_steering(&self, mode: QueueMode) -> Vec<UserMessage> {
        take(&mut self.lock().steering, mode)
    }

    /// What to go on with when a run would end: steering, else follow-ups. If there is neither, the
    /// queues close in the same step, so that no message can fall between.
    pub(crate) fn take_or_close(&self, mode: QueueMode) -> Vec<UserMessage> {
        let mut inner = self.lock();
        let steering = take(&mut inner.steering, mode);
        if !steering.is_empty() {
            return steering;
        }
        let follow_ups = take(&mut inner.follow_ups, mode);
        if follow_ups.is_empty() {
            inner.closed = true;
        }
        follow_ups
    }

    /// Puts messages back that were taken and could not be delivered.
    pub(crate) fn put_back(&self, messages: Vec<UserMessage>) {
        let mut inner = self.lock();
        for message in messages.into_iter().rev() {
            inner.steering.push_front(message);
        }
    }

    /// Opens the queues again, for a run that a middleware runs again.
    pub(crate) fn open(&self) {
        self.lock().closed = false;
    }

    /// Closes the queues and gives back what was not delivered.
    pub(crate) fn close(&self) -> Vec<UserMessage> {
        let mut inner = self.lock();
        inner.closed = true;
        let mut rest = take(&mut inner.steering, QueueMode::All);
        rest.extend(take(&mut inner.follow_ups, QueueMode::All));
        rest
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(queue: &mut VecDeque<UserMessage>, mode: QueueMode) -> Vec<UserMessage> {
    match mode {
        QueueMode::All => queue.drain(..).collect(),
        QueueMode::OneAtATime => queue.pop_front().into_iter().collect(),
    }
}
