//! The session that a run belongs to.

use std::path::{Path, PathBuf};

use harness_core::ModelId;
use harness_session::{Access, Header, JsonlStore, Session, SessionId, Store};

use crate::arguments::{AgentArguments, SessionArguments};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::session_place::{SessionPlace, failure, not_blank};
use crate::settings::{Settings, repository_root};
use crate::stderr;

/// Which session was asked for, before anything is opened.
pub(crate) struct RunSession {
    place: Option<SessionPlace>,
    wanted: Wanted,
    /// Whether nothing is to be kept.
    unkept: bool,
}

enum Wanted {
    New,
    GoOn(SessionId),
    Fork(SessionId),
}

/// What is gone on with: the session itself, opened to write to, or the one to copy. And the model that it
/// was used with.
pub(crate) struct Opened {
    session: Session,
    pub(crate) model: Option<ModelId>,
}

/// A session that a run writes to.
pub(crate) struct Begun {
    pub(crate) session: Session,
    /// Its file.
    pub(crate) file: Option<PathBuf>,
    /// If it was made for this run: what takes it back.
    pub(crate) made: Option<Made>,
}

/// A session that was made for a run that may never begin. It is deleted when this is dropped, which has to
/// be after the session itself.
pub(crate) struct Made {
    store: JsonlStore,
    id: SessionId,
    /// How many entries it was made with.
    pub(crate) entries: u64,
    /// Whether it stays.
    pub(crate) stays: bool,
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.stays {
            // One that somebody else has by now is no more in anybody's way than others are.
            let _ = self.store.delete(self.id);
        }
    }
}

impl RunSession {
    /// Finds the session, and lets the run work in its folder unless another one is named.
    pub(crate) fn find(
        environment: &Environment,
        arguments: &SessionArguments,
        agent: &mut AgentArguments,
    ) -> Result<Self, Failure> {
        arguments.at.as_deref().map_or(Ok(()), not_blank)?;
        let given = arguments.session.as_ref().or(arguments.fork.as_ref());
        if given.is_none() && !arguments.go_on {
            if arguments.at.is_some() {
                return Err(
                    Failure::usage("--at names an entry, and no session is named")
                        .hint("name it with --continue, --session ID or --fork ID"),
                );
            }
            let place = (!arguments.no_session)
                .then(|| SessionPlace::of(environment))
                .flatten();
            let wanted = Wanted::New;
            return Ok(Self {
                place,
                wanted,
                unkept: arguments.no_session,
            });
        }
        let place = SessionPlace::required(environment)?;
        let id = if let Some(text) = given {
            place.find(text)?
        } else {
            let folder = crate::setup::working_folder(agent.cwd.as_deref())?;
            match place.last(&folder)? {
                Some(id) => id,
                None => return Err(nothing_of(&place, &folder)),
            }
        };
        if arguments.fork.is_none() {
            not_of_subagent(&place, id)?;
        }
        if agent.cwd.is_none() {
            let header = place
                .store
                .open(id, Access::Read)
                .map_err(|error| failure(&error))?;
            agent.cwd = folder_of(header.header())?;
        }
        let wanted = match arguments.fork {
            Some(_) => Wanted::Fork(id),
            None => Wanted::GoOn(id),
        };
        Ok(Self {
            place: Some(place),
            wanted,
            unkept: false,
        })
    }

    /// Whether an earlier conversation is gone on with.
    pub(crate) fn goes_on(&self) -> bool {
        !matches!(self.wanted, Wanted::New)
    }

    /// Opens what is gone on with; `None` for a new conversation. Nothing is copied yet. What it was used
    /// with counts for the run.
    pub(crate) fn open(&self, settings: &mut Settings) -> Result<Option<Opened>, Failure> {
        let (id, access) = match &self.wanted {
            Wanted::New => return Ok(None),
            Wanted::GoOn(id) => (*id, Access::Write),
            Wanted::Fork(id) => (*id, Access::Read),
        };
        let Some(place) = &self.place else {
            return Ok(None);
        };
        let opened = Session::open(&place.store, id, access);
        let mut session = opened.map_err(|error| failure(&error))?;
        for warning in session.take_warnings() {
            stderr::note(&warning);
        }
        let (model, thinking) = session.last_choice().map_err(|error| failure(&error))?;
        settings.take_session(model.as_ref(), thinking);
        Ok(Some(Opened { session, model }))
    }

    /// Whether a copy could be gone on with: from the entry `at`, or without a message. What is wrong is
    /// told before there is a copy.
    pub(crate) fn check(
        &self,
        opened: &Opened,
        at: Option<&str>,
        says_something: bool,
    ) -> Result<(), Failure> {
        if !matches!(self.wanted, Wanted::Fork(_)) {
            return Ok(());
        }
        let session = &opened.session;
        if let Some(text) = at {
            let on_branch = session
                .find_entry(text)
                .and_then(|entry| session.number_of(entry))
                .and_then(|number| Ok(session.branch()?.contains(&number)));
            if !on_branch.map_err(|error| failure(&error))? {
                return Err(Failure::usage(format!(
                    "the copy has no entry `{text}`: it is not on the branch that the session goes on from"
                ))
                .hint("--session ID --at ENTRY goes on from it"));
            }
        } else if !says_something {
            let context = session.context().map_err(|error| failure(&error))?;
            if !context.has_something_to_answer() && context.queued.is_empty() {
                return Err(nothing_to_go_on_with());
            }
        }
        Ok(())
    }

    /// Begins what the run writes to: a new session in `folder`, a copy, or what was opened; `None` if none
    /// is kept. A new one that cannot be begun is no reason not to run: it is said.
    pub(crate) fn begin(
        &self,
        opened: Option<Opened>,
        folder: &Path,
    ) -> Result<Option<Begun>, Failure> {
        let Some(place) = &self.place else {
            if !self.unkept {
                stderr::note("the conversation is not kept: neither HOME nor XDG_DATA_HOME is set");
            }
            return Ok(None);
        };
        let session = match (opened, &self.wanted) {
            (Some(opened), Wanted::Fork(_)) => opened
                .session
                .fork(&place.store, None)
                .map_err(|error| failure(&error))?,
            (Some(opened), _) => {
                let session = opened.session;
                return Ok(Some(Begun {
                    file: place.store.path_of(session.id()).ok(),
                    session,
                    made: None,
                }));
            }
            (None, _) => {
                let header = Header::new(Some(folder.to_owned()));
                match Session::create(&place.store, header) {
                    Ok(session) => session,
                    Err(error) => {
                        stderr::note(&format!("the conversation is not kept: {error}"));
                        return Ok(None);
                    }
                }
            }
        };
        let made = Made {
            store: place.store.clone(),
            id: session.id(),
            entries: session.log().len(),
            stays: false,
        };
        Ok(Some(Begun {
            file: place.store.path_of(session.id()).ok(),
            session,
            made: Some(made),
        }))
    }
}

/// A subagent's session is gone on with by the agent that it works for, with its role and its bounds.
fn not_of_subagent(place: &SessionPlace, id: SessionId) -> Result<(), Failure> {
    let opened = place.store.open(id, Access::Read);
    let opened = opened.map_err(|error| failure(&error))?;
    let Some(parent) = &opened.header().parent else {
        return Ok(());
    };
    let Some(agent) = &parent.agent else {
        return Ok(());
    };
    let whose = parent.session;
    Err(Failure::usage(format!("the session {id} is that of the subagent {agent}"))
        .hint(format!(
            "go on with the one that it works for: harness run --session {whose}; or with a copy: --fork {id}"
        )))
}

/// What a run without a message says of a conversation that has come to an end.
pub(crate) fn nothing_to_go_on_with() -> Failure {
    Failure::usage("the session has come to an end: there is nothing to go on with")
        .hint("say what is to be done next behind `harness run --continue`")
}

/// What is said if a folder has no session: where the nearest one of the same repository is, if there is one.
fn nothing_of(place: &SessionPlace, folder: &Path) -> Failure {
    let failure = Failure::usage(format!(
        "no session of {} is there to go on with",
        folder.display()
    ));
    let root = repository_root(folder);
    let above = folder
        .ancestors()
        .skip(1)
        .take_while(|above| root.is_some_and(|root| above.starts_with(root)))
        .find(|above| matches!(place.last(above), Ok(Some(_))));
    match above {
        Some(above) => failure.hint(format!(
            "there is one of {above}: harness run --continue -C {above}",
            above = above.display()
        )),
        None => failure
            .hint("run without --continue begins one; `harness sessions list --all` shows all"),
    }
}

/// The folder that a session works in.
fn folder_of(header: &Header) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = &header.cwd else {
        return Ok(None);
    };
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "the session works in {}, which is not there",
            folder.display()
        ))
        .hint("-C DIR goes on in another folder"));
    }
    Ok(Some(folder.clone()))
}
