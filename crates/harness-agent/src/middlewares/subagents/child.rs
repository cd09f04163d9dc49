//! A subagent, and all of a session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::{CancellationToken, UserMessage};
use harness_session::SessionId;

use super::errand::{Errand, ErrandEnd};
use crate::session::AgentSession;
use crate::session_control::SessionControl;
#[cfg(feature = "tools")]
use crate::worktree::{Worktree, WorktreeEnd};

/// A subagent of a session.
pub(crate) struct Child {
    /// What it is called by.
    pub(crate) id: String,
    /// What kind of agent it is.
    pub(crate) agent: String,
    pub(crate) session: SessionId,
    #[cfg(feature = "tools")]
    worktree: Option<Worktree>,
    /// Whether the folder that it worked in is gone.
    gone: AtomicBool,
    state: Mutex<State>,
}

enum State {
    /// It has nothing to do.
    Idle {
        session: Box<AgentSession>,
        last: Option<Arc<(Errand, ErrandEnd)>>,
    },
    /// It is at work.
    Working(AtWork),
    /// Its session is gone.
    Lost(String),
}

/// What can be done to a subagent that is at work.
#[derive(Clone)]
pub(crate) struct AtWork {
    pub(crate) errand: Errand,
    /// Ends it.
    pub(crate) stop: CancellationToken,
    /// Fires when it has ended.
    pub(crate) ended: CancellationToken,
    control: Option<SessionControl>,
}

/// What a subagent does.
pub(crate) enum Doing {
    Nothing,
    Errand(AtWork),
    Ended(Arc<(Errand, ErrandEnd)>),
    Lost(String),
}

impl Child {
    pub(crate) fn new(id: String, agent: String, session: AgentSession) -> Self {
        Self {
            id,
            agent,
            session: session.id(),
            #[cfg(feature = "tools")]
            worktree: None,
            gone: AtomicBool::new(false),
            state: Mutex::new(State::Idle {
                session: Box::new(session),
                last: None,
            }),
        }
    }

    /// In a worktree of its own.
    #[cfg(feature = "tools")]
    pub(crate) fn in_worktree(mut self, worktree: Option<Worktree>) -> Self {
        self.worktree = worktree;
        self
    }

    /// Ends its worktree, if it has one: its changes are merged if it came to its end. What became of it, in words;
    /// if it is gone, so is the subagent.
    #[cfg_attr(
        not(feature = "tools"),
        expect(clippy::unused_async, reason = "without tools there is no worktree")
    )]
    pub(crate) async fn end_worktree(&self, end: &mut ErrandEnd) {
        #[cfg(feature = "tools")]
        if let Some(worktree) = &self.worktree {
            let became = worktree.end(end.status == "finished").await;
            end.folder = Some(became.words());
            if !matches!(became, WorktreeEnd::Left { .. }) {
                self.gone.store(true, Ordering::Relaxed);
            }
        }
        #[cfg(not(feature = "tools"))]
        let _ = end;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn doing(&self) -> Doing {
        match &*self.lock() {
            State::Idle { last: None, .. } => Doing::Nothing,
            State::Idle {
                last: Some(last), ..
            } => Doing::Ended(Arc::clone(last)),
            State::Working(work) => Doing::Errand(work.clone()),
            State::Lost(why) => Doing::Lost(why.clone()),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        matches!(&*self.lock(), State::Lost(_))
    }

    /// Takes it for an errand. `Err` in words for a model if it is at work.
    pub(crate) fn take(
        &self,
        errand: &Errand,
        stop: CancellationToken,
    ) -> Result<Box<AgentSession>, String> {
        let mut state = self.lock();
        let id = &self.id;
        if self.gone.load(Ordering::Relaxed) {
            return Err(format!(
                "The worktree of the subagent {id} is gone, and it with it. Begin another one."
            ));
        }
        match &*state {
            State::Idle { .. } => {}
            State::Working(_) => return Err(format!("The subagent {id} is at work.")),
            State::Lost(why) => return Err(format!("The subagent {id} is gone: {why}")),
        }
        let work = AtWork {
            errand: errand.clone(),
            stop,
            ended: CancellationToken::new(),
            control: None,
        };
        let before = std::mem::replace(&mut *state, State::Working(work));
        match before {
            State::Idle { session, .. } => Ok(session),
            State::Working(_) | State::Lost(_) => unreachable!("it was looked at above"),
        }
    }

    /// Lets others speak to the run that is going on.
    pub(crate) fn at_work(&self, control: SessionControl) {
        if let State::Working(work) = &mut *self.lock() {
            work.control = Some(control);
        }
    }

    /// Says something to it while it is at work. `Err` gives the message back if it is not.
    pub(crate) fn say(&self, message: UserMessage) -> Result<(), UserMessage> {
        let State::Working(AtWork {
            control: Some(control),
            ..
        }) = &*self.lock()
        else {
            return Err(message);
        };
        control.steer(message.clone()).map_err(|_| message)
    }

    /// It is done.
    pub(crate) fn rest(&self, session: Box<AgentSession>, errand: Errand, end: ErrandEnd) {
        self.change(State::Idle {
            session,
            last: Some(Arc::new((errand, end))),
        });
    }

    /// It was dropped in the middle of its work, if it still was at work.
    pub(crate) fn lose(&self, why: &str) {
        if matches!(&*self.lock(), State::Working(_)) {
            self.change(State::Lost(why.to_owned()));
        }
    }

    fn change(&self, state: State) {
        let before = std::mem::replace(&mut *self.lock(), state);
        if let State::Working(work) = before {
            work.ended.cancel();
        }
    }
}

/// The subagents of a session: in the attributes of its caller.
#[derive(Default)]
pub(crate) struct Children(Mutex<Known>);

#[derive(Default)]
struct Known {
    by_id: BTreeMap<String, Arc<Child>>,
    /// Those that an earlier process began, by the last errand that is known.
    asleep: BTreeMap<String, Errand>,
    errands: usize,
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Child>> {
        self.lock().by_id.get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Child>> {
        self.lock().by_id.values().cloned().collect()
    }

    pub(crate) fn add(&self, child: Arc<Child>) {
        self.lock().by_id.insert(child.id.clone(), child);
    }

    /// Remembers those that an earlier process began.
    pub(crate) fn remember(&self, errand: Errand) {
        self.lock().asleep.insert(errand.id.clone(), errand);
    }

    /// Those that an earlier process began, and that nobody has woken yet.
    pub(crate) fn asleep(&self) -> Vec<Errand> {
        let known = self.lock();
        let asleep = known.asleep.values();
        let asleep = asleep.filter(|errand| !known.by_id.contains_key(&errand.id));
        asleep.cloned().collect()
    }

    /// How many are at work.
    pub(crate) fn at_work(&self) -> usize {
        let all = self.all();
        let at_work = all
            .iter()
            .filter(|it| matches!(it.doing(), Doing::Errand(_)));
        at_work.count()
    }

    /// Counts an errand. `Err` if there were too many.
    pub(crate) fn count(&self, most: usize) -> Result<(), ()> {
        let mut known = self.lock();
        if known.errands >= most {
            return Err(());
        }
        known.errands += 1;
        Ok(())
    }
}
