//! A subagent at work: from an errand to how it ended.

use std::sync::Arc;

use harness_core::{
    CancellationToken, Event, Message, MessageRef, RunContext, SubagentEvent, UserMessage,
};
use harness_session::{Body, CustomBody, Queue, Session};
use serde_json::{Value, json};

use super::child::Child;
use super::errand::{Errand, ErrandEnd, FACTS};
use crate::error::Error;
use crate::session::AgentSession;

/// A subagent that was taken for an errand, and has not begun yet. Dropped at any time, its subagent is lost, and
/// what is on record of it can be gone on with by another process.
pub(crate) struct Work {
    child: Arc<Child>,
    errand: Errand,
    stop: CancellationToken,
    session: Option<Box<AgentSession>>,
}

/// How far an errand came, by what its session says.
enum Progress {
    /// It is not on record.
    New,
    /// It was begun; and whether the task is part of the conversation.
    Begun { said: bool },
    /// It ended.
    Ended(ErrandEnd),
}

impl Work {
    /// Takes a subagent, to be given its task by [`prepare`](Self::prepare) if it is not on record yet. `Err` in words
    /// for a model.
    pub(crate) fn take(
        child: &Arc<Child>,
        errand: Errand,
        stop: CancellationToken,
    ) -> Result<Self, String> {
        let session = child.take(&errand, stop.clone())?;
        Ok(Self {
            child: Arc::clone(child),
            errand,
            stop,
            session: Some(session),
        })
    }

    /// Puts the task on record, unless it is: from then on it is done, by this process or by another one. `Err` in
    /// words for a model.
    pub(crate) fn prepare(&mut self, message: &UserMessage) -> Result<(), String> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let prepared = prepare(session, &self.errand, message);
        prepared.map_err(|error| format!("Its session cannot be written: {error}"))
    }

    /// Does it, within the run `cx`: from its beginning, or from where it was cut off.
    pub(crate) async fn carry_out(mut self, cx: &RunContext) -> ErrandEnd {
        let Some(session) = self.session.take() else {
            unreachable!("only this takes it, and takes the work with it");
        };
        let mut session = Box::new(session.within(cx.clone()));
        let end = match self.run(cx, &mut session).await {
            Ok(end) => end,
            Err(error) => ErrandEnd::lost(format!("Its session cannot be used: {error}")),
        };
        self.child.rest(session, self.errand.clone(), end.clone());
        end
    }

    async fn run(&self, cx: &RunContext, session: &mut AgentSession) -> Result<ErrandEnd, Error> {
        let progress = session.with_session(|session| progress(session, &self.errand))?;
        match progress {
            Progress::Ended(mut end) => {
                end.answer = last_answer(session.history());
                return Ok(end);
            }
            Progress::New => return Ok(ErrandEnd::lost("Its task is not on record.")),
            Progress::Begun { .. } if session.has_something_to_answer() => {}
            Progress::Begun { said: false } => {
                return Ok(ErrandEnd::lost("It was cut off before it had its task."));
            }
            // All was said, and the process ended before that was on record.
            Progress::Begun { said: true } => {
                let mut end = ErrandEnd {
                    status: "finished".to_owned(),
                    error: None,
                    answer: last_answer(session.history()),
                    ..ErrandEnd::lost("")
                };
                self.child.end_worktree(&mut end).await;
                note(session, self.errand.facts(&end))?;
                return Ok(end);
            }
        }
        let mut run = session.go_on_with(self.stop.clone());
        self.child.at_work(run.control());
        while let Some(event) = run.next().await {
            let is_delta = matches!(
                event,
                Event::TextDelta(_) | Event::ThinkingDelta(_) | Event::ToolCallDelta { .. }
            );
            if !is_delta {
                self.tell(cx, event);
            }
        }
        let mut end = ErrandEnd::of(&run.outcome().await);
        // Before anything is told: what it left running might still change its folder.
        session.end_jobs().await;
        self.child.end_worktree(&mut end).await;
        if let Some(folder) = &end.folder {
            // Files of the user's, perhaps: the person is told, too.
            let message = format!("{}: {folder}", self.errand.id);
            cx.emit(Event::Warning { message });
        }
        if let Err(error) = note(session, self.errand.facts(&end)) {
            let id = &self.errand.id;
            cx.emit(Event::Warning {
                message: format!("the end of the subagent {id} is not on record: {error}"),
            });
        }
        Ok(end)
    }

    fn tell(&self, cx: &RunContext, event: Event) {
        cx.emit(Event::Subagent(Box::new(SubagentEvent {
            id: self.errand.id.clone(),
            agent: self.errand.agent.clone(),
            session: Some(self.errand.session.clone()),
            event: Box::new(event),
        })));
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.child.lose("its run was dropped");
    }
}

/// Puts an errand and its task on record, as far as they are not.
fn prepare(
    session: &mut AgentSession,
    errand: &Errand,
    message: &UserMessage,
) -> Result<(), Error> {
    let progress = session.with_session(|session| progress(session, errand))?;
    match progress {
        Progress::Ended(_) | Progress::Begun { said: true } => return Ok(()),
        Progress::New => note(session, json!({ FACTS: errand }))?,
        Progress::Begun { said: false } if session.has_something_to_answer() => return Ok(()),
        Progress::Begun { said: false } => {}
    }
    session.journal.enqueue(Queue::FollowUp, message)?;
    Ok(())
}

/// Puts it on record how far an errand is.
fn note(session: &mut AgentSession, data: Value) -> Result<(), Error> {
    let body = Body::Custom(CustomBody {
        kind: FACTS.to_owned(),
        data,
    });
    session.with_session(|session| session.append(body))?;
    Ok(())
}

/// How far an errand came.
fn progress(session: &Session, errand: &Errand) -> Result<Progress, harness_session::Error> {
    let mut said = false;
    for number in session.branch()?.into_iter().rev() {
        match session.log().read(number)?.body {
            Body::Message(body) => said |= matches!(&*body.message, Message::User(_)),
            Body::Custom(custom) if custom.kind == FACTS => {
                let facts = custom.data.get(FACTS);
                let call = facts.and_then(|facts| facts.get("call"));
                let task = facts.and_then(|facts| facts.get("task"));
                // Some providers count their calls anew after a while.
                if call.and_then(Value::as_str) != Some(&errand.call)
                    || task.and_then(Value::as_str) != Some(&errand.task)
                {
                    continue;
                }
                let end = facts.and_then(|facts| facts.get("end"));
                let end = end.and_then(|end| serde_json::from_value(end.clone()).ok());
                return Ok(match end {
                    Some(end) => Progress::Ended(end),
                    None => Progress::Begun { said },
                });
            }
            _ => {}
        }
    }
    Ok(Progress::New)
}

/// The text of the last reply.
fn last_answer(history: &[MessageRef]) -> String {
    let last = history.iter().rev().find_map(|message| match &**message {
        Message::Assistant(reply) => Some(reply.text()),
        _ => None,
    });
    last.unwrap_or_default()
}
