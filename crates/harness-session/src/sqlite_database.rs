//! The database file of many sessions.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::Error;
use crate::sqlite_lock::SqliteLock;
use crate::store::Durability;

/// The version of the tables.
const SCHEMA: u32 = 1;
/// What tells a database of sessions from any other: `hses`.
const APPLICATION: u32 = 0x6873_6573;
/// How long to wait for another process that writes. A transaction is one entry.
const PATIENCE: Duration = Duration::from_secs(10);

/// `written` grows with each entry of any session, so that it tells who was written to last, whatever the
/// clock says. The lines are those of the JSONL form, without their ends.
///
/// The index over the texts holds no copy of them; it is asked for candidates only.
const TABLES: &str = "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        header TEXT NOT NULL,
        name TEXT,
        first_prompt TEXT,
        modified INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        written INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX sessions_by_written ON sessions (written);
    CREATE TABLE entries (
        key INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        id BLOB NOT NULL,
        parent INTEGER,
        kind INTEGER NOT NULL,
        line BLOB NOT NULL,
        UNIQUE (session, number)
    );
    CREATE INDEX entries_by_id ON entries (session, id);
    CREATE VIRTUAL TABLE texts USING fts5(
        text, content='', contentless_delete=1, tokenize='trigram'
    );
";

/// Opens the database, and makes it if it is not there.
pub(crate) fn open(path: &Path, durability: Durability) -> Result<Connection, Error> {
    let failed = |error| failed(path, &error);
    let mut connection = connect(path)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    if check(&connection, path)? {
        // The change to a log beside the file does not wait for another process that does the same.
        let _making = SqliteLock::wait(path)?;
        if check(&connection, path)? {
            make(&mut connection).map_err(failed)?;
        }
    }
    set_synchronous(&connection, synchronous(durability)).map_err(failed)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, Error> {
    // Closing a file gives up all locks that this process has on it, those of other connections, too. So it
    // is opened beside SQLite only to make it, and no connection may come between.
    static CONNECTING: Mutex<()> = Mutex::new(());
    let _connecting = CONNECTING.lock().unwrap_or_else(PoisonError::into_inner);
    // Made here, so that nobody else can ever read it; its companions take over its mode.
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Error::io("cannot open", path)(error)),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|error| failed(path, &error))
}

fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", SCHEMA)?;
    transaction.commit()
}

/// Whether the database is empty. `Err` if it is not one of sessions, or of a newer version.
fn check(connection: &Connection, path: &Path) -> Result<bool, Error> {
    let number = |sql: &str| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|error| failed(path, &error))
    };
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == i64::from(APPLICATION) {
        return match u32::try_from(version) {
            Ok(version) if version <= SCHEMA => Ok(false),
            Ok(version) => Err(Error::Newer {
                place: path.display().to_string(),
                version,
            }),
            Err(_) => Err(invalid(path, "its version is no number")),
        };
    }
    if application != 0 || version != 0 || number("SELECT count(*) FROM sqlite_master")? != 0 {
        return Err(invalid(path, "it is a database of another program"));
    }
    Ok(true)
}

/// SQLite's word for how much is waited for.
pub(crate) fn synchronous(durability: Durability) -> &'static str {
    match durability {
        Durability::Always => "FULL",
        Durability::Turn => "NORMAL",
        Durability::Never => "OFF",
    }
}

pub(crate) fn set_synchronous(connection: &Connection, word: &str) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", word)
}

fn invalid(path: &Path, problem: &str) -> Error {
    Error::Invalid {
        place: path.display().to_string(),
        problem: problem.to_owned(),
    }
}

/// What the database says, as this crate's error.
pub(crate) fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => invalid(path, "it is no database"),
        Some(ErrorCode::DatabaseCorrupt) => invalid(path, &format!("it is damaged ({error})")),
        _ => Error::Database(error.to_string()),
    }
}

/// A number as the database keeps it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as the database kept it.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
