//! Where skills are fetched from.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A place that skills are fetched from.
///
/// Looking and fetching are two things: [`cached`](Self::cached) is for the turn and knows the local
/// disk only, [`update`](Self::update) is for the start, a command or the background. What was fetched
/// is a folder of files that somebody else wrote. It is listed with its origin; nothing in it is run,
/// and having been fetched is no reason to trust it.
pub trait SkillSource: fmt::Debug + Send + Sync + 'static {
    /// In words, for lists: `git https://host/x.git at v1.2 (4f2a9c1)`. One line, without the
    /// credentials of an address.
    fn origin(&self) -> String;

    /// What is here already. Looks at the local disk only: no network, no other program. `Ok(None)`:
    /// nothing was fetched yet.
    fn cached(&self) -> Result<Option<Checkout>, SourceError>;

    /// Whether an update can bring what is not here yet. Default: yes.
    fn fetches(&self) -> bool {
        true
    }

    /// Fetches what is newest. Blocks the thread, at most for the source's timeout; cannot be
    /// cancelled otherwise. After an error, what was here before is here still.
    fn update(&self) -> Result<Update, SourceError>;
}

/// A folder with skills, on the local disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkout {
    /// The folder that has the skills, absolute if its source was. Not to be written to: others may
    /// read the same one.
    pub folder: PathBuf,
    /// All that was fetched: `folder` or one around it. Links may lead to what is in it, and nowhere else.
    pub root: PathBuf,
    /// The revision, for sources that have such: the full hexadecimal name of a git commit.
    pub revision: Option<String>,
}

impl Checkout {
    /// Of a folder and its revision. It is all that was fetched.
    pub fn new(folder: impl Into<PathBuf>, revision: Option<String>) -> Self {
        let folder = folder.into();
        Self {
            root: folder.clone(),
            folder,
            revision,
        }
    }

    /// A part of what was fetched, which is `root`.
    #[must_use]
    pub fn within(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = root.into();
        self
    }
}

/// What an update has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// What is here now.
    pub checkout: Checkout,
    /// Whether that is another one than before, or the first.
    pub changed: bool,
}

impl Update {
    /// Of what is here now.
    pub fn new(checkout: Checkout, changed: bool) -> Self {
        Self { checkout, changed }
    }
}

/// Why a source could not be set up, read or updated. No message has a credential in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// An address that is not fetched from.
    #[error("the address {url:?} is refused: {reason}")]
    Url {
        /// Without credentials.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What cannot be the name of a branch or a tag.
    #[error("{reference:?} cannot be the name of a branch or a tag")]
    Reference {
        /// As it was given.
        reference: String,
    },
    /// What cannot be a pinned revision.
    #[error("{revision:?} is no full revision: 40 or 64 hexadecimal digits")]
    Revision {
        /// As it was given.
        revision: String,
    },
    /// A folder for skills that is not a relative path below the source's root.
    #[error("the skills folder {folder:?} is not a relative path without `..`")]
    SkillsFolder {
        /// As it was given.
        folder: PathBuf,
    },
    /// What was fetched has no such folder for skills, or that folder leads out of it.
    #[error("{origin} has no folder {folder:?} of its own")]
    NoSkillsFolder {
        /// The address, without credentials.
        origin: String,
        /// Relative to the root.
        folder: PathBuf,
    },
    /// A plain folder that is not there, or is none.
    #[error("{folder:?} is not a folder")]
    NoFolder {
        /// The path.
        folder: PathBuf,
    },
    /// The program could not be started.
    #[error("cannot start {program:?}: {error}")]
    Program {
        /// Its name or path.
        program: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The program failed.
    #[error("git {step} failed for {origin}: {message}")]
    Git {
        /// The git command: `fetch`.
        step: &'static str,
        /// The address, without credentials.
        origin: String,
        /// The last lines of what it wrote to its standard error, without credentials; its exit
        /// status if it wrote nothing.
        message: String,
        /// Whether that is what a network does that is down or disturbed.
        network: bool,
    },
    /// The update did not end in time, and was ended.
    #[error("the update of {origin} did not end within {timeout:?}")]
    TimedOut {
        /// The address, without credentials.
        origin: String,
        /// For all of the update.
        timeout: Duration,
    },
    /// What came is not what was pinned.
    #[error("{origin} gave {found} for the pinned revision {pinned}")]
    WrongRevision {
        /// The address, without credentials.
        origin: String,
        /// What was asked for.
        pinned: String,
        /// What came.
        found: String,
    },
    /// There are too many files, or too many bytes in them.
    #[error("{origin} is too large: {what}")]
    TooLarge {
        /// The address, without credentials.
        origin: String,
        /// The limit that was passed.
        what: String,
    },
    /// A file or folder of the cache could not be read or written.
    #[error("cannot {action} {path:?}: {error}")]
    Io {
        /// A verb: `read`.
        action: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

impl SourceError {
    /// Whether the same call may succeed a little later, with nothing changed on this side.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            Self::Git { network, .. } => *network,
            Self::Io { error, .. } | Self::Program { error, .. } => matches!(
                error.kind(),
                io::ErrorKind::Interrupted
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::WouldBlock
                    | io::ErrorKind::ResourceBusy
                    | io::ErrorKind::ExecutableFileBusy
            ),
            Self::Url { .. }
            | Self::Reference { .. }
            | Self::Revision { .. }
            | Self::SkillsFolder { .. }
            | Self::NoSkillsFolder { .. }
            | Self::NoFolder { .. }
            | Self::WrongRevision { .. }
            | Self::TooLarge { .. } => false,
        }
    }

    /// For `map_err`, with what was done to which path.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io {
            action,
            path,
            error,
        }
    }
}
