//! Somebody whose answers are known before.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use harness_core::RunContext;

use crate::approver::{Answer, Approver, Question};

/// Gives answers one after another, and keeps the questions.
///
/// An answer can have something done first, as if it happened while the person looks: a file that changes, a
/// run that is cancelled. A question too many is answered with [`Answer::Nobody`], is kept as well, and
/// counted by [`unexpected`](Self::unexpected). It never panics by itself.
///
/// ```
/// use harness_trust::{Answer, Scope};
/// use harness_trust::test_support::ScriptedApprover;
///
/// let approver = ScriptedApprover::new([Answer::Yes(Scope::Once)])
///     .then_after(|question| assert_eq!(question.tool, "edit"), Answer::Nobody);
/// assert_eq!(approver.left(), 2);
/// ```
#[derive(Default)]
pub struct ScriptedApprover {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Scripted>,
    questions: Vec<Question>,
    unexpected: usize,
    open: usize,
    most_open: usize,
}

struct Scripted {
    before: Option<Before>,
    answer: Answer,
}

type Before = Box<dyn FnOnce(&Question) + Send>;

impl ScriptedApprover {
    /// With these answers.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        answers.into_iter().fold(Self::default(), Self::then)
    }

    /// And then this answer.
    pub fn then(self, answer: Answer) -> Self {
        self.add(None, answer)
    }

    /// And then this answer, after `before`, which sees the question. What it panics with is what the approver
    /// panics with.
    pub fn then_after(
        self,
        before: impl FnOnce(&Question) + Send + 'static,
        answer: Answer,
    ) -> Self {
        self.add(Some(Box::new(before)), answer)
    }

    /// The questions so far, in the order in which they were asked.
    pub fn questions(&self) -> Vec<Question> {
        self.lock().questions.clone()
    }

    /// How many questions came for which there was no answer any more.
    pub fn unexpected(&self) -> usize {
        self.lock().unexpected
    }

    /// How many answers have not been asked for yet.
    pub fn left(&self) -> usize {
        self.lock().answers.len()
    }

    /// How many questions stood open at the same time, at most: one, unless several runs ask.
    pub fn most_open(&self) -> usize {
        self.lock().most_open
    }

    fn add(self, before: Option<Before>, answer: Answer) -> Self {
        self.lock().answers.push_back(Scripted { before, answer });
        self
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that stands open.
struct Open<'a>(&'a ScriptedApprover);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.lock().open -= 1;
    }
}

#[async_trait]
impl Approver for ScriptedApprover {
    async fn ask(&self, _: &RunContext, question: &Question) -> Answer {
        let scripted = {
            let mut state = self.lock();
            state.questions.push(question.clone());
            state.open += 1;
            state.most_open = state.most_open.max(state.open);
            let scripted = state.answers.pop_front();
            if scripted.is_none() {
                state.unexpected += 1;
            }
            scripted
        };
        let _open = Open(self);
        // A person takes a while: the other calls get their turn.
        let mut has_waited = false;
        std::future::poll_fn(|cx| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        let Some(Scripted { before, answer }) = scripted else {
            return Answer::Nobody;
        };
        if let Some(before) = before {
            before(question);
        }
        answer
    }
}

impl fmt::Debug for ScriptedApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("ScriptedApprover")
            .field("questions", &state.questions)
            .field("left", &state.answers.len())
            .finish_non_exhaustive()
    }
}
