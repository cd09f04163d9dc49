//! The session that a run belongs to.

use std::path::{Path, PathBuf};

use harness_core::{ModelId, ThinkingLevel};
use harness_session::{Access, Header, Session, SessionId, Store};

use crate::arguments::{AgentArguments, SessionArguments};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::session_place::{SessionPlace, failure};
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

/// A session that was opened to write to, and what it was used with.
pub(crate) struct Opened {
    pub(crate) session: Session,
    pub(crate) model: Option<ModelId>,
    pub(crate) thinking: Option<ThinkingLevel>,
}

impl RunSession {
    /// Finds the session, and lets the run work in its folder unless another one is named.
    pub(crate) fn find(
        environment: &Environment,
        arguments: &SessionArguments,
        agent: &mut AgentArguments,
    ) -> Result<Self, Failure> {
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
            place.last(&folder)?.ok_or_else(|| {
                Failure::usage(format!(
                    "no session of {} is there to go on with",
                    folder.display()
                ))
                .hint("run without --continue begins one; `harness sessions list --all` shows all")
            })?
        };
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

    /// Opens it, or begins a new one in `folder`; `None` if none is kept. One that cannot be begun is no
    /// reason not to run: it is said.
    pub(crate) fn open(&self, folder: &Path) -> Result<Option<Opened>, Failure> {
        let Some(place) = &self.place else {
            if !self.unkept {
                stderr::note("the conversation is not kept: neither HOME nor XDG_DATA_HOME is set");
            }
            return Ok(None);
        };
        let opened = match &self.wanted {
            Wanted::New => {
                let header = Header::new(Some(folder.to_owned()));
                match Session::create(&place.store, header) {
                    Ok(session) => Ok(session),
                    Err(error) => {
                        stderr::note(&format!("the conversation is not kept: {error}"));
                        return Ok(None);
                    }
                }
            }
            Wanted::GoOn(id) => Session::open(&place.store, *id, Access::Write),
            Wanted::Fork(id) => Session::open(&place.store, *id, Access::Read)
                .and_then(|session| session.fork(&place.store, None)),
        };
        let mut session = opened.map_err(|error| failure(&error))?;
        for warning in session.take_warnings() {
            stderr::note(&warning);
        }
        let (model, thinking) = session.last_choice().map_err(|error| failure(&error))?;
        Ok(Some(Opened {
            session,
            model,
            thinking,
        }))
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
