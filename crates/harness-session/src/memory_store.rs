//! Sessions in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use crate::entry::{Body, Entry};
use crate::error::Error;
use crate::glance::prompt_of;
use crate::header::Header;
use crate::id::{EntryId, SessionId, Timestamp};
use crate::node::{Node, NodeKind};
use crate::search::{Hits, Query};
use crate::store::{Access, Filter, Hit, Listed, Log, Store};

/// Sessions in memory, which end with the process: for tests, and for programs that keep nothing.
///
/// Clones share their sessions. Nothing is copied or written as text: what is read shares its messages
/// with what was appended.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Counts what is written, so that what was written last is known within a millisecond, too.
    clock: AtomicU64,
}

#[derive(Debug)]
struct Session {
    header: Header,
    is_locked: AtomicBool,
    /// When it was written to last, by the store's count and by the clock.
    written: AtomicU64,
    modified: AtomicU64,
    entries: RwLock<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    all: Vec<(Node, Entry)>,
    by_id: HashMap<EntryId, u64>,
}

impl MemoryStore {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        let sessions = &self.shared.sessions;
        sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: SessionId) -> Result<Arc<Session>, Error> {
        let sessions = self.sessions();
        let session = sessions.get(&id).map(Arc::clone);
        session.ok_or_else(|| Error::NotFound(id.to_string()))
    }

    /// Those that a filter lets through, the one that was written to last first.
    fn filtered(&self, filter: &Filter) -> Vec<Arc<Session>> {
        let sessions = self.sessions();
        let allowed = sessions.values().filter(|it| filter.allows(&it.header));
        let mut all: Vec<_> = allowed.map(Arc::clone).collect();
        drop(sessions);
        all.sort_by_cached_key(|it| std::cmp::Reverse(it.written.load(Ordering::Acquire)));
        all
    }

    fn log(&self, session: Arc<Session>, access: Access) -> Box<dyn Log> {
        let length = session.entries().all.len();
        Box::new(MemoryLog {
            shared: Arc::clone(&self.shared),
            session,
            access,
            length,
        })
    }
}

impl Session {
    fn entries(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self, clock: &AtomicU64) {
        let now = clock.fetch_add(1, Ordering::AcqRel) + 1;
        self.written.store(now, Ordering::Release);
        self.modified.store(Timestamp::now().0, Ordering::Release);
    }

    fn lock(&self) -> Result<(), Error> {
        if self.is_locked.swap(true, Ordering::AcqRel) {
            return Err(Error::Locked {
                session: self.header.id,
                process: Some(std::process::id()),
            });
        }
        Ok(())
    }

    fn listed(&self) -> Listed {
        let entries = self.entries();
        let modified = Timestamp(self.modified.load(Ordering::Acquire));
        // It has no size that would mean anything to a person.
        let mut listed = Listed::new(self.header.clone(), modified, 0);
        listed.first_prompt = entries.all.iter().find_map(|(_, entry)| prompt_of(entry));
        let named = entries
            .all
            .iter()
            .rev()
            .find_map(|(_, entry)| match &entry.body {
                Body::Name(body) => Some(body.name.clone()),
                _ => None,
            });
        listed.name = named.flatten();
        listed
    }
}

impl Store for MemoryStore {
    fn create(&self, header: Header) -> Result<Box<dyn Log>, Error> {
        let id = header.id;
        let session = Arc::new(Session {
            header,
            is_locked: AtomicBool::new(true),
            written: AtomicU64::new(0),
            modified: AtomicU64::new(0),
            entries: RwLock::default(),
        });
        session.touch(&self.shared.clock);
        let mut sessions = self.sessions();
        if sessions.contains_key(&id) {
            return Err(Error::Misuse(format!("there is a session {id} already")));
        }
        sessions.insert(id, Arc::clone(&session));
        drop(sessions);
        Ok(self.log(session, Access::Write))
    }

    fn open(&self, id: SessionId, access: Access) -> Result<Box<dyn Log>, Error> {
        let session = self.get(id)?;
        if access == Access::Write {
            session.lock()?;
        }
        Ok(self.log(session, access))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error> {
        let sessions = self.filtered(filter);
        Ok(sessions.iter().map(|session| session.listed()).collect())
    }

    fn ids(&self) -> Result<Vec<SessionId>, Error> {
        Ok(self.sessions().keys().copied().collect())
    }

    fn search(&self, query: &str, filter: &Filter, most: usize) -> Result<Vec<Hit>, Error> {
        let Some(query) = Query::new(query) else {
            return Ok(Vec::new());
        };
        let mut hits = Hits::new(most);
        for session in self.filtered(filter) {
            for (_, entry) in &session.entries().all {
                if hits.is_full() {
                    break;
                }
                hits.take(query.hit(session.header.id, entry));
            }
        }
        Ok(hits.into_found())
    }

    fn delete(&self, id: SessionId) -> Result<(), Error> {
        self.get(id)?.lock()?;
        self.sessions().remove(&id);
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLog {
    shared: Arc<Shared>,
    session: Arc<Session>,
    access: Access,
    /// How many entries it knows: a reader, those that were there when it was opened.
    length: usize,
}

impl MemoryLog {
    fn at<T>(&self, number: u64, part: impl FnOnce(&(Node, Entry)) -> T) -> Result<T, Error> {
        let entries = self.session.entries();
        let known = entries.all.get(..self.length).unwrap_or_default();
        let entry = known.get(number as usize).map(part);
        entry.ok_or_else(|| Error::Misuse(format!("the session has no entry of number {number}")))
    }
}

impl Log for MemoryLog {
    fn header(&self) -> &Header {
        &self.session.header
    }

    fn len(&self) -> u64 {
        self.length as u64
    }

    fn node(&self, number: u64) -> Result<Node, Error> {
        self.at(number, |(node, _)| *node)
    }

    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        let entries = self.session.entries();
        let newest = entries.by_id.get(&id).copied();
        if newest.is_none_or(|newest| newest < self.length as u64) {
            return Ok(newest);
        }
        let known = entries.all.get(..self.length).unwrap_or_default();
        let found = known.iter().rposition(|(node, _)| node.id == id);
        Ok(found.map(|number| number as u64))
    }

    fn read(&self, number: u64) -> Result<Entry, Error> {
        self.at(number, |(_, entry)| entry.clone())
    }

    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        if self.access == Access::Read {
            return Err(Error::ReadOnly);
        }
        let number = self.length as u64;
        if parent.is_some_and(|parent| parent >= number) {
            return Err(Error::Misuse(format!(
                "entry {number} cannot follow {parent:?}"
            )));
        }
        let node = Node {
            id: entry.id,
            parent,
            kind: NodeKind::of(&entry.body),
        };
        let mut entries = self
            .session
            .entries
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        entries.all.push((node, entry.clone()));
        entries.by_id.insert(entry.id, number);
        drop(entries);
        self.length += 1;
        self.session.touch(&self.shared.clock);
        Ok(number)
    }

    fn checkpoint(&mut self) -> Result<(), Error> {
        match self.access {
            Access::Read => Err(Error::ReadOnly),
            Access::Write => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.checkpoint()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        if self.access == Access::Write {
            self.session.is_locked.store(false, Ordering::Release);
        }
    }
}
