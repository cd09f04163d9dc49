//! Where sessions are kept.

use std::path::{Path, PathBuf};

use crate::entry::Entry;
use crate::error::Error;
use crate::header::Header;
use crate::id::{EntryId, SessionId, Timestamp};
use crate::node::Node;
use crate::typed_id::TypedId;

/// A place for sessions.
///
/// What every implementation keeps is in `test_support::check_store`, behind the feature `test-support`.
/// All methods may block for as long as the disk takes.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Begins a session, and locks it for this writer.
    fn create(&self, header: Header) -> Result<Box<dyn Log>, Error>;

    /// Opens a session.
    fn open(&self, id: SessionId, access: Access) -> Result<Box<dyn Log>, Error>;

    /// The sessions, the one that was written to last first. Reads the beginning and the end of each, not
    /// the whole.
    fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error>;

    /// The ids of all sessions, in no order.
    fn ids(&self) -> Result<Vec<SessionId>, Error>;

    /// Entries whose text has all words of `query`, whatever their case, in sessions that `filter` lets
    /// through: at most `most`, in the sessions' order. An entry that forks have in common is given once, in
    /// the first of them.
    fn search(&self, query: &str, filter: &Filter, most: usize) -> Result<Vec<Hit>, Error>;

    /// Deletes a session for good. [`Error::Locked`] if it is being written to.
    fn delete(&self, id: SessionId) -> Result<(), Error>;

    /// The session of a working folder that was written to last. Those of subagents do not count.
    fn latest(&self, cwd: &Path) -> Result<Option<SessionId>, Error> {
        let all = self.list(&Filter::of_folder(cwd))?;
        let mut sound = all
            .iter()
            .filter(|listed| listed.problem.is_none() && listed.header.agent().is_none());
        Ok(sound.next().map(|listed| listed.header.id))
    }

    /// The session of this id, or whose id begins or ends like this: at least 4 characters, in any case, with
    /// or without hyphens.
    fn find(&self, text: &str) -> Result<SessionId, Error> {
        if let Ok(id) = text.trim().parse() {
            return Ok(id);
        }
        let wanted = TypedId::new(text)?;
        let mut ids = self.ids()?;
        ids.retain(|id| wanted.fits(id));
        ids.sort_unstable();
        ids.dedup();
        match *ids {
            [] => Err(Error::NotFound(text.to_owned())),
            [id] => Ok(id),
            _ => Err(Error::Ambiguous {
                prefix: text.to_owned(),
                ids,
            }),
        }
    }
}

/// The entries of one session, in the order in which they were appended. They are numbered from 0.
///
/// The session on top of it knows what the entries mean; this only keeps them.
pub trait Log: Send + std::fmt::Debug {
    /// What the session begins with.
    fn header(&self) -> &Header;

    /// How many entries there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of an entry in the tree, without what it says.
    fn node(&self, number: u64) -> Result<Node, Error>;

    /// The number of an entry; the last one if there are several of this id.
    fn find(&self, id: EntryId) -> Result<Option<u64>, Error>;

    /// An entry. [`Error::Unreadable`] if it cannot be read.
    fn read(&self, number: u64) -> Result<Entry, Error>;

    /// Several entries, in the order that is asked for. Those that cannot be read are left out.
    fn read_all(&self, numbers: &[u64]) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::with_capacity(numbers.len());
        for number in numbers {
            match self.read(*number) {
                Ok(entry) => entries.push(entry),
                Err(Error::Unreadable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// Appends an entry whose parent is `parent`, and gives its number. When it returns, the entry
    /// outlives the process, and with [`Durability::Always`] a loss of power. On `Err` nothing was
    /// appended, and it may be tried again.
    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error>;

    /// A turn has ended: what was appended should be made to outlive a loss of power soon, where the
    /// [`Durability`] asks for that. Does not wait. `Err` if an earlier attempt failed.
    fn checkpoint(&mut self) -> Result<(), Error>;

    /// Waits until all that was appended outlives a loss of power, unless that is [`Durability::Never`].
    fn sync(&mut self) -> Result<(), Error>;

    /// What a person should know of the session's state: a torn end that was set aside, lines that cannot
    /// be read. Told once.
    fn take_warnings(&mut self) -> Vec<String>;
}

/// What a session is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read it as it is now, also while another writer has it. Changes nothing.
    Read,
    /// To append to it. Locks it, and mends what a crash left.
    Write,
}

/// When what was appended is made to outlive a loss of power. A crash of the process alone loses nothing
/// under any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Each entry, before it is acknowledged.
    Always,
    /// Each turn, without waiting, and each run's end.
    #[default]
    Turn,
    /// Whenever the system gets to it.
    Never,
}

/// Which sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Those that work in this folder.
    pub cwd: Option<PathBuf>,
}

impl Filter {
    /// The sessions of a working folder.
    pub fn of_folder(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: Some(cwd.into()),
        }
    }

    /// Whether it lets a session through.
    pub fn allows(&self, header: &Header) -> bool {
        self.cwd.is_none() || self.cwd == header.cwd
    }
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// What it begins with.
    pub header: Header,
    /// Its name, if its end tells it.
    pub name: Option<String>,
    /// What the user said first, cut to some length.
    pub first_prompt: Option<String>,
    /// When it was written to last.
    pub modified: Timestamp,
    /// Its size.
    pub bytes: u64,
    /// Why it cannot be read, if it cannot.
    pub problem: Option<String>,
}

impl Listed {
    /// A session of which only this is known.
    pub fn new(header: Header, modified: Timestamp, bytes: u64) -> Self {
        Self {
            header,
            name: None,
            first_prompt: None,
            modified,
            bytes,
            problem: None,
        }
    }
}

/// An entry that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The entry.
    pub entry: EntryId,
    /// When it was appended.
    pub time: Timestamp,
    /// `user`, `assistant`, `tool`, `summary` or `name`.
    pub role: String,
    /// The text around what was found, in one line.
    pub excerpt: String,
}

impl Hit {
    /// An entry that was found.
    pub fn new(
        session: SessionId,
        entry: &Entry,
        role: impl Into<String>,
        excerpt: String,
    ) -> Self {
        Self {
            session,
            entry: entry.id,
            time: entry.time,
            role: role.into(),
            excerpt,
        }
    }
}
