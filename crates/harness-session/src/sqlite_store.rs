//! Many sessions in one database file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::entry::Entry;
use crate::error::Error;
use crate::header::{Header, VERSION};
use crate::id::{SessionId, Timestamp};
use crate::search::{Hits, Query};
use crate::sqlite_database::{self as database, failed, signed, unsigned};
use crate::sqlite_lock::SqliteLock;
use crate::sqlite_log::SqliteLog;
use crate::store::{Access, Durability, Filter, Hit, Listed, Log, Store};

/// The fewest characters of a word that the index over the texts can look for.
const INDEXED: usize = 3;

/// Sessions in one SQLite database, with an index over their texts.
///
/// Several processes may use it at once: each session has one writer, and readers wait for nobody. The file
/// is readable for its owner only. Beside it are SQLite's own `-wal` and `-shm`, and a `.lock-…` for each
/// session that is being written to.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    durability: Durability,
    connection: Mutex<Connection>,
}

impl SqliteStore {
    /// Opens a database, and makes it if there is none. Its folder has to be there.
    ///
    /// [`Error::Newer`] if a newer version made it, [`Error::Invalid`] if it is no database of sessions; it is
    /// then left as it is.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let connection = database::open(&path, Durability::default())?;
        Ok(Self {
            path,
            durability: Durability::default(),
            connection: Mutex::new(connection),
        })
    }

    /// When what is appended from now on is made to outlive a loss of power.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic of another thread rolled its transaction back.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        failed(&self.path, error)
    }

    /// The header of a session; [`Error::Newer`] if this version cannot know what is in it.
    fn header(&self, connection: &Connection, id: SessionId) -> Result<Header, Error> {
        let found = connection
            .query_row(
                "SELECT version, header FROM sessions WHERE id = ?1",
                [id.to_string()],
                |row| Ok((row.get(0)?, row.get::<_, String>(1)?)),
            )
            .optional()
            .map_err(|error| self.failed(&error))?;
        let Some((version, header)) = found else {
            return Err(Error::NotFound(id.to_string()));
        };
        parse_header(id, version, &header)
    }

    /// The keys of the entries whose texts may have all words, each with its session.
    fn candidates(
        &self,
        connection: &Connection,
        query: &Query,
    ) -> Result<Vec<(String, i64, i64)>, Error> {
        let words: Vec<String> = query
            .words()
            .iter()
            .filter(|word| word.chars().count() >= INDEXED && !word.contains('\0'))
            .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
            .collect();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found = if words.is_empty() {
            connection
                .prepare("SELECT session, number, key FROM entries")
                .and_then(|mut all| all.query_map([], read)?.collect())
        } else {
            connection
                .prepare(
                    "SELECT session, number, key FROM texts CROSS JOIN entries \
                     ON entries.key = texts.rowid WHERE texts MATCH ?1",
                )
                .and_then(|mut some| some.query_map([words.join(" ")], read)?.collect())
        };
        found.map_err(|error| self.failed(&error))
    }
}

fn parse_header(id: SessionId, version: i64, header: &str) -> Result<Header, Error> {
    if version > i64::from(VERSION) {
        return Err(Error::Newer {
            place: id.to_string(),
            version: u32::try_from(version).unwrap_or(u32::MAX),
        });
    }
    serde_json::from_str(header).map_err(|error| Error::Invalid {
        place: id.to_string(),
        problem: error.to_string(),
    })
}

/// As much as is known of a session whose header cannot be read.
fn bare_header(id: SessionId, header: &str) -> Header {
    serde_json::from_str(header).unwrap_or_else(|_| Header {
        version: VERSION,
        id,
        time: id.time(),
        cwd: None,
        parent: None,
    })
}

impl Store for SqliteStore {
    fn create(&self, header: Header) -> Result<Box<dyn Log>, Error> {
        let lock = SqliteLock::take(&self.path, header.id)?;
        let text = serde_json::to_string(&header)
            .map_err(|error| Error::Misuse(format!("the header cannot be written: {error}")))?;
        let added = self
            .connection()
            .execute(
                "INSERT INTO sessions (id, version, header, modified, bytes, written) \
                 VALUES (?1, ?2, ?3, ?4, ?5, (SELECT coalesce(max(written), 0) + 1 FROM sessions)) \
                 ON CONFLICT DO NOTHING",
                params![
                    header.id.to_string(),
                    header.version,
                    text,
                    signed(Timestamp::now().0),
                    signed(text.len() as u64 + 1),
                ],
            )
            .map_err(|error| self.failed(&error))?;
        if added == 0 {
            return Err(Error::Misuse(format!(
                "there is already a session {}",
                header.id
            )));
        }
        let mut log = SqliteLog::open(&self.path, self.durability, header, Some(lock))?;
        log.begin()?;
        Ok(Box::new(log))
    }

    fn open(&self, id: SessionId, access: Access) -> Result<Box<dyn Log>, Error> {
        let header = self.header(&self.connection(), id)?;
        let lock = match access {
            Access::Read => None,
            Access::Write => Some(SqliteLock::take(&self.path, id)?),
        };
        let log = SqliteLog::open(&self.path, self.durability, header, lock)?;
        Ok(Box::new(log))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error> {
        let connection = self.connection();
        let rows: rusqlite::Result<Vec<_>> = connection
            .prepare_cached(
                "SELECT id, version, header, name, first_prompt, modified, bytes FROM sessions \
                 ORDER BY written DESC",
            )
            .and_then(|mut rows| {
                rows.query_map([], |row| {
                    let listed = (row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?);
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get(1)?,
                        row.get::<_, String>(2)?,
                        listed,
                    ))
                })?
                .collect()
            });
        let mut all = Vec::new();
        for (id, version, header, listed) in rows.map_err(|error| self.failed(&error))? {
            let Ok(id) = id.parse::<SessionId>() else {
                continue;
            };
            let (name, first_prompt, modified, bytes) = listed;
            let (header, problem) = match parse_header(id, version, &header) {
                Ok(header) => (header, None),
                Err(error) => (bare_header(id, &header), Some(error.to_string())),
            };
            if filter.allows(&header) {
                all.push(Listed {
                    header,
                    name,
                    first_prompt,
                    modified: Timestamp(unsigned(modified)),
                    bytes: unsigned(bytes),
                    problem,
                });
            }
        }
        Ok(all)
    }

    fn ids(&self) -> Result<Vec<SessionId>, Error> {
        let ids: rusqlite::Result<Vec<String>> = self
            .connection()
            .prepare_cached("SELECT id FROM sessions")
            .and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect());
        let ids = ids.map_err(|error| self.failed(&error))?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }

    fn search(&self, query: &str, filter: &Filter, most: usize) -> Result<Vec<Hit>, Error> {
        let Some(query) = Query::new(query) else {
            return Ok(Vec::new());
        };
        let sessions: Vec<SessionId> = self
            .list(filter)?
            .into_iter()
            .filter(|listed| listed.problem.is_none())
            .map(|listed| listed.header.id)
            .collect();
        let ranks: HashMap<String, usize> = sessions
            .iter()
            .enumerate()
            .map(|(rank, id)| (id.to_string(), rank))
            .collect();
        let connection = self.connection();
        let mut candidates: Vec<(usize, i64, i64)> = self
            .candidates(&connection, &query)?
            .into_iter()
            .filter_map(|(session, number, key)| Some((*ranks.get(&session)?, number, key)))
            .collect();
        candidates.sort_unstable();
        let mut lines = connection
            .prepare_cached("SELECT CAST(line AS BLOB) FROM entries WHERE key = ?1")
            .map_err(|error| self.failed(&error))?;
        let mut hits = Hits::new(most);
        for (rank, _, key) in candidates {
            if hits.is_full() {
                break;
            }
            let line: Option<Vec<u8>> = lines
                .query_row([key], |row| row.get(0))
                .optional()
                .map_err(|error| self.failed(&error))?;
            // What cannot be read has no text.
            let entry = line.and_then(|line| Entry::parse(&line).ok());
            if let (Some(entry), Some(session)) = (entry, sessions.get(rank)) {
                hits.take(query.hit(*session, &entry));
            }
        }
        Ok(hits.into_found())
    }

    fn delete(&self, id: SessionId) -> Result<(), Error> {
        let _lock = SqliteLock::take(&self.path, id)?;
        let mut connection = self.connection();
        let deleted = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let id = id.to_string();
                transaction.execute(
                    "DELETE FROM texts WHERE rowid IN (SELECT key FROM entries WHERE session = ?1)",
                    [&id],
                )?;
                transaction.execute("DELETE FROM entries WHERE session = ?1", [&id])?;
                let deleted = transaction.execute("DELETE FROM sessions WHERE id = ?1", [&id])?;
                transaction.commit()?;
                Ok(deleted)
            })
            .map_err(|error| self.failed(&error))?;
        match deleted {
            0 => Err(Error::NotFound(id.to_string())),
            _ => Ok(()),
        }
    }
}
