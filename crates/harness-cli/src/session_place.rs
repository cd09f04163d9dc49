//! Where the command line keeps sessions.

use std::path::{Path, PathBuf};

use harness_session::{Error, JsonlStore, SessionId, Store};

use crate::environment::Environment;
use crate::failure::Failure;

/// The folder of all sessions.
pub(crate) struct SessionPlace {
    pub(crate) store: JsonlStore,
    pub(crate) folder: PathBuf,
}

impl SessionPlace {
    /// The folder below the user's data; `None` if there is no place for it.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        let folder = environment.data_folder()?.join("sessions");
        Some(Self {
            store: JsonlStore::new(&folder),
            folder,
        })
    }

    /// The same, where there has to be one.
    pub(crate) fn required(environment: &Environment) -> Result<Self, Failure> {
        Self::of(environment).ok_or_else(|| {
            Failure::configuration(
                "there is no place for sessions: neither HOME nor XDG_DATA_HOME is set",
            )
            .hint("set one of them")
        })
    }

    /// The session whose id is this, or begins or ends like this.
    pub(crate) fn find(&self, text: &str) -> Result<SessionId, Failure> {
        not_blank(text)?;
        self.store.find(text).map_err(|error| failure(&error))
    }

    /// The last session of a working folder.
    pub(crate) fn last(&self, cwd: &Path) -> Result<Option<SessionId>, Failure> {
        self.store.latest(cwd).map_err(|error| failure(&error))
    }
}

/// A blank id, such as a variable of a script that is not set, means nothing: every id begins with it.
pub(crate) fn not_blank(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the id is blank").hint(
            "`harness sessions list --all` shows the sessions, `tree ID` the entries of one",
        ));
    }
    Ok(())
}

/// An error of a session, and what to do about it.
pub(crate) fn failure(error: &Error) -> Failure {
    let message = error.to_string();
    match error {
        Error::NotFound(_) => {
            Failure::usage(message).hint("`harness sessions list --all` shows those that there are")
        }
        Error::Ambiguous { .. } | Error::TooShort(_) => {
            Failure::usage(message).hint("give more of the id")
        }
        Error::Locked { session, .. } => Failure::failed(message).hint(format!(
            "wait for it, or go on in a copy: harness run --fork {session}"
        )),
        Error::Newer { .. } => Failure::failed(message).hint("use the newer version of harness"),
        Error::Invalid { place, .. } => {
            let id = session_of(place).map_or_else(|| "ID".to_owned(), |id| id.to_string());
            Failure::failed(message).hint(format!(
                "`harness sessions repair {id}` saves what can be read"
            ))
        }
        Error::NoEntry(_) | Error::Misuse(_) => {
            Failure::usage(message).hint("`harness sessions tree ID` shows the entries")
        }
        Error::Io { .. } => {
            Failure::failed(message).hint("--no-session runs without keeping the conversation")
        }
        _ => Failure::failed(message),
    }
}

/// The session that a file is of.
fn session_of(place: &str) -> Option<SessionId> {
    Path::new(place).file_stem()?.to_str()?.parse().ok()
}
