//! One session of a database.

use std::path::{Path, PathBuf};

use harness_core::{Message, UserPart};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::entry::{Body, Entry};
use crate::error::Error;
use crate::header::Header;
use crate::id::{EntryId, Timestamp};
use crate::legibility::check_readable;
use crate::node::{Node, NodeKind};
use crate::search::text_of;
use crate::sqlite_database::{self as database, failed, set_synchronous, signed, unsigned};
use crate::sqlite_lock::SqliteLock;
use crate::store::{Durability, Log};

/// The most characters of what the user said first.
const FIRST_PROMPT: usize = 200;

/// One session of a database. Each has a connection of its own, so that none waits for another one's reading.
#[derive(Debug)]
pub(crate) struct SqliteLog {
    connection: Connection,
    path: PathBuf,
    durability: Durability,
    header: Header,
    session: String,
    len: u64,
    /// Whether something was appended that a loss of power may take.
    unsynced: bool,
    /// None if it is only read.
    lock: Option<SqliteLock>,
}

impl SqliteLog {
    pub(crate) fn open(
        path: &Path,
        durability: Durability,
        header: Header,
        lock: Option<SqliteLock>,
    ) -> Result<Self, Error> {
        let connection = database::open(path, durability)?;
        let session = header.id.to_string();
        // Also asked once the lock is there: it may have been deleted just before.
        let last: Option<Option<i64>> = connection
            .query_row(
                "SELECT (SELECT max(number) FROM entries WHERE session = ?1) \
                 FROM sessions WHERE id = ?1",
                [&session],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| failed(path, &error))?;
        let Some(last) = last else {
            return Err(Error::NotFound(session));
        };
        Ok(Self {
            connection,
            path: path.to_owned(),
            durability,
            header,
            session,
            len: last.map_or(0, |last| unsigned(last) + 1),
            unsynced: false,
            lock,
        })
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        failed(&self.path, error)
    }

    /// The session was just begun, on another connection.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        self.unsynced = self.durability != Durability::Never;
        match self.durability {
            Durability::Always => self.sync(),
            Durability::Turn | Durability::Never => Ok(()),
        }
    }

    fn missing(&self, number: u64) -> Error {
        let problem = if number < self.len {
            "it is no longer there"
        } else {
            "there is no such entry"
        };
        Error::Unreadable {
            number,
            problem: problem.to_owned(),
        }
    }

    /// Appends in one transaction. `Ok(false)` if the session is not as this writer left it.
    fn try_append(
        &mut self,
        entry: &Entry,
        parent: Option<u64>,
        line: &[u8],
    ) -> rusqlite::Result<bool> {
        let number = signed(self.len);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let last: Option<i64> = transaction
                .prepare_cached("SELECT max(number) FROM entries WHERE session = ?1")?
                .query_row([&self.session], |row| row.get(0))?;
            let updated = transaction
                .prepare_cached(
                    "UPDATE sessions SET modified = ?2, bytes = bytes + ?3, \
                     first_prompt = coalesce(first_prompt, ?4), \
                     name = CASE WHEN ?5 THEN ?6 ELSE name END, \
                     written = (SELECT max(written) + 1 FROM sessions) WHERE id = ?1",
                )?
                .execute(params![
                    self.session,
                    signed(Timestamp::now().0),
                    signed(line.len() as u64 + 1),
                    first_prompt(entry),
                    matches!(entry.body, Body::Name(_)),
                    name(entry),
                ])?;
            if updated == 0 || last.map_or(0, |last| last + 1) != number {
                return Ok(false);
            }
            transaction
                .prepare_cached(
                    "INSERT INTO entries (session, number, id, parent, kind, line) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![
                    self.session,
                    number,
                    entry.id.as_bytes(),
                    parent.map(signed),
                    NodeKind::of(&entry.body) as u8,
                    line,
                ])?;
            if let Some((_, text)) = text_of(entry) {
                let key = transaction.last_insert_rowid();
                // In the case in which it is looked for. The index stops at a zero.
                let text = text.to_lowercase().replace('\0', " ");
                transaction
                    .prepare_cached("INSERT INTO texts (rowid, text) VALUES (?1, ?2)")?
                    .execute(params![key, text])?;
            }
        }
        transaction.commit()?;
        Ok(true)
    }
}

/// What the user said, in an entry that may be the first one of this kind.
fn first_prompt(entry: &Entry) -> Option<String> {
    let Body::Message(body) = &entry.body else {
        return None;
    };
    let Message::User(user) = &*body.message else {
        return None;
    };
    user.content.iter().find_map(|part| match part {
        UserPart::Text(text) if !text.text.trim().is_empty() => {
            Some(text.text.chars().take(FIRST_PROMPT).collect())
        }
        _ => None,
    })
}

fn name(entry: &Entry) -> Option<&str> {
    match &entry.body {
        Body::Name(body) => body.name.as_deref(),
        _ => None,
    }
}

impl Log for SqliteLog {
    fn header(&self) -> &Header {
        &self.header
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn node(&self, number: u64) -> Result<Node, Error> {
        if number >= self.len {
            return Err(self.missing(number));
        }
        let node = self
            .connection
            .prepare_cached(
                "SELECT id, parent, kind FROM entries WHERE session = ?1 AND number = ?2",
            )
            .and_then(|mut node| {
                node.query_row(params![self.session, signed(number)], |row| {
                    Ok(Node {
                        id: EntryId::from_bytes(row.get(0)?),
                        parent: row.get::<_, Option<i64>>(1)?.map(unsigned),
                        kind: NodeKind::from_byte(row.get(2)?),
                    })
                })
                .optional()
            })
            .map_err(|error| self.failed(&error))?;
        node.ok_or_else(|| self.missing(number))
    }

    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        let number: Option<i64> = self
            .connection
            .prepare_cached(
                "SELECT max(number) FROM entries WHERE session = ?1 AND id = ?2 AND number < ?3",
            )
            .and_then(|mut found| {
                found.query_row(
                    params![self.session, id.as_bytes(), signed(self.len)],
                    |row| row.get(0),
                )
            })
            .map_err(|error| self.failed(&error))?;
        Ok(number.map(unsigned))
    }

    fn read(&self, number: u64) -> Result<Entry, Error> {
        if number >= self.len {
            return Err(self.missing(number));
        }
        let line: Option<Vec<u8>> = self
            .connection
            .prepare_cached(
                "SELECT CAST(line AS BLOB) FROM entries WHERE session = ?1 AND number = ?2",
            )
            .and_then(|mut line| {
                line.query_row(params![self.session, signed(number)], |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.failed(&error))?;
        let line = line.ok_or_else(|| self.missing(number))?;
        Entry::parse(&line).map_err(|error| Error::Unreadable {
            number,
            problem: error.to_string(),
        })
    }

    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        if self.lock.is_none() {
            return Err(Error::ReadOnly);
        }
        if let Some(parent) = parent
            && parent >= self.len
        {
            return Err(Error::Misuse(format!(
                "the parent, entry {parent}, is not there yet"
            )));
        }
        let mut line = Vec::new();
        entry
            .write(&mut line)
            .map_err(|error| Error::Misuse(format!("the entry cannot be written: {error}")))?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        check_readable(&line)?;
        match self.try_append(entry, parent, &line) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Error::Changed {
                    session: self.header.id,
                    what: "its entries are not those that were there before".to_owned(),
                });
            }
            Err(error) => return Err(self.failed(&error)),
        }
        let number = self.len;
        self.len += 1;
        self.unsynced = self.durability == Durability::Turn;
        Ok(number)
    }

    /// The database writes its log out by itself from time to time; nothing is waited for here.
    fn checkpoint(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        if !self.unsynced {
            return Ok(());
        }
        // A commit under `FULL` waits for the whole log, with all that came before it. A checkpoint would
        // do as well, but has to wait for readers.
        let synced = set_synchronous(&self.connection, database::synchronous(Durability::Always))
            .and_then(|()| {
                self.connection.execute(
                    "UPDATE sessions SET modified = modified WHERE id = ?1",
                    [&self.session],
                )
            });
        let set_back = set_synchronous(&self.connection, database::synchronous(self.durability));
        synced.and(set_back).map_err(|error| self.failed(&error))?;
        self.unsynced = false;
        Ok(())
    }

    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::MessageBody;
    use crate::sqlite_store::SqliteStore;
    use crate::store::{Access, Filter, Store as _};

    fn said(text: &str) -> Entry {
        Entry {
            id: EntryId::after(None, Timestamp::now()),
            parent: None,
            time: Timestamp::now(),
            body: Body::Message(MessageBody {
                message: Message::user(text).into(),
                queued: None,
            }),
        }
    }

    #[test]
    fn a_full_database_takes_nothing_half_and_goes_on_when_there_is_room() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("sessions.db");
        let store = SqliteStore::open(&path).unwrap();
        let header = Header::new(None);
        drop(store.create(header.clone()).unwrap());
        let lock = SqliteLock::take(&path, header.id).unwrap();
        let mut log = SqliteLog::open(&path, Durability::Turn, header, Some(lock)).unwrap();
        log.append(&said("small"), None).unwrap();
        let bound = |log: &SqliteLog, pages: u32| {
            log.connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .unwrap();
        };
        bound(&log, 40);
        let large = said(&"large ".repeat(100_000));
        for _ in 0..2 {
            let appended = log.append(&large, Some(0));
            assert!(matches!(appended, Err(Error::Database(_))), "{appended:?}");
            assert_eq!(log.len(), 1);
            assert!(log.read(0).is_ok());
        }
        assert!(
            store
                .search("large", &Filter::default(), 9)
                .unwrap()
                .is_empty()
        );
        bound(&log, 1_000_000);
        assert_eq!(log.append(&large, Some(0)).unwrap(), 1);
        log.sync().unwrap();
        assert_eq!(
            store.search("large", &Filter::default(), 9).unwrap().len(),
            1
        );
        let read = store.open(log.header.id, Access::Read).unwrap();
        assert_eq!(read.len(), 2);
    }
}
