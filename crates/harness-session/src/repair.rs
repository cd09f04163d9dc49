//! Making the best of a damaged session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::value::RawValue;

use crate::entry::Entry;
use crate::error::Error;
use crate::header::{Header, VERSION};
use crate::header_line::{self, HeaderLine};
use crate::id::EntryId;
use crate::jsonl_log::{JsonlLog, mend_all, open_locked, size_of};
use crate::lines::Lines;
use crate::migration::Migrations;
use crate::replacement::replace;
use crate::scan::{Read, read};
use crate::session_files::SessionFiles;
use crate::store::{Access, Durability, Log};

/// What was found in a session's file, and what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// The session's file.
    pub path: PathBuf,
    /// How many entries it has now.
    pub entries: u64,
    /// Lines that could not be read, and why. They are only in the backup now.
    pub unreadable: Vec<String>,
    /// Entries that were there twice. What was the same to the byte is there once now, what was not got
    /// an id of its own.
    pub repeated: u64,
    /// Where the bytes of a torn end are kept, if there was one.
    pub torn: Option<PathBuf>,
    /// Where the file is kept as it was, if it had to be written anew.
    pub backup: Option<PathBuf>,
    /// What else a person should know.
    pub warnings: Vec<String>,
}

/// What is wrong with a file, beside its end.
#[derive(Debug, Default)]
struct Damage {
    header: Option<String>,
    unreadable: Vec<String>,
    repeated: u64,
    /// Entries that follow one that is not there.
    loose: u64,
}

pub(crate) fn repair(
    files: &SessionFiles,
    durability: Durability,
    migrations: Migrations,
) -> Result<RepairReport, Error> {
    let path = files.session();
    let cannot_read = |error| Error::io("cannot read", &path)(error);
    let mut file = open_locked(files)?;
    let mut torn = None;
    let mut warnings = Vec::new();
    let mut first = header_line::read(&file, &path, files.id, migrations);
    if first.as_ref().is_ok_and(|first| first.version < VERSION) {
        // Its lines are those of another version until it was brought up to date.
        drop(file);
        let mut log = JsonlLog::open(files.clone(), Access::Write, durability, migrations)?;
        warnings.extend(log.take_warnings());
        torn = log.torn().cloned();
        drop(log);
        file = open_locked(files)?;
        first = header_line::read(&file, &path, files.id, migrations);
    }
    match &first {
        Err(error @ (Error::Newer { .. } | Error::Io { .. })) => {
            return Err(error_again(error, &path));
        }
        Err(_) => {}
        Ok(first) => {
            let size = size_of(&file).map_err(cannot_read)?;
            let mended = mend_all(files, &file, size, first, durability)?;
            torn = mended.torn.or(torn);
            warnings.extend(mended.warning);
        }
    }
    let mut damage = look(&file).map_err(cannot_read)?;
    damage.header = first.as_ref().err().map(ToString::to_string);
    let mut backup = None;
    let is_damaged = damage.header.is_some()
        || !damage.unreadable.is_empty()
        || damage.repeated > 0
        || damage.loose > 0;
    if is_damaged {
        let (new, kept) = replace(files, &file, "jsonl.before-repair", |to| {
            write(&file, files, first.as_ref().ok(), to).map_err(Error::io("cannot write", &path))
        })?;
        file = new;
        backup = Some(kept);
    }
    match fs::remove_file(files.index()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("cannot delete", files.index())(error));
        }
        _ => {}
    }
    drop(file);
    let mut log = JsonlLog::open(files.clone(), Access::Write, durability, migrations)?;
    log.sync()?;
    warnings.extend(log.take_warnings());
    if damage.loose > 0 {
        warnings.push(format!(
            "entries that followed one that is not there: {}; each follows the entry before it now",
            damage.loose
        ));
    }
    warnings.extend(damage.header.map(|problem| {
        format!("{problem}; it was given a new first line, which knows no working folder")
    }));
    Ok(RepairReport {
        path,
        entries: log.len(),
        unreadable: damage.unreadable,
        repeated: damage.repeated,
        torn: torn.or_else(|| log.torn().cloned()),
        backup,
        warnings,
    })
}

/// An error once more, since errors cannot be copied.
fn error_again(error: &Error, path: &std::path::Path) -> Error {
    match error {
        Error::Newer { place, version } => Error::Newer {
            place: place.clone(),
            version: *version,
        },
        other => Error::Invalid {
            place: path.display().to_string(),
            problem: other.to_string(),
        },
    }
}

/// Reads all lines, and tells what is wrong with them.
fn look(file: &File) -> io::Result<Damage> {
    let mut damage = Damage::default();
    let mut seen = HashSet::new();
    let mut lines = Lines::new(file, 0, size_of(file)?);
    lines.next()?;
    let mut number = 1_u64;
    while let Some(line) = lines.next()? {
        number += 1;
        match read(&line) {
            Read::Blank => {}
            Read::Problem(why) => damage.unreadable.push(format!("line {number}: {why}")),
            Read::Entry(_, entry) => {
                let is_loose = entry.parent.is_some_and(|parent| !seen.contains(&parent));
                damage.loose += u64::from(is_loose);
                if !seen.insert(entry.id) {
                    damage.repeated += 1;
                }
            }
        }
    }
    Ok(damage)
}

/// Writes the file without what is wrong with it.
fn write(
    old: &File,
    files: &SessionFiles,
    first: Option<&HeaderLine>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = Lines::new(old, 0, size_of(old)?);
    let beginning = lines.next()?;
    if first.is_some() {
        to.write_all(beginning.map(|line| line.bytes).unwrap_or_default())?;
        to.write_all(b"\n")?;
    } else {
        let mut header = Header::new(None);
        header.id = files.id;
        header.time = files.id.time();
        to.write_all(&header_line::write(&header)?)?;
        // The first line may be an entry, if only the header was lost.
        lines = Lines::new(old, 0, size_of(old)?);
    }
    let mut renamed = Renamed::default();
    while let Some(line) = lines.next()? {
        if let Read::Entry(offset, entry) = read(&line) {
            let bytes = &line.bytes[(offset - line.offset) as usize..];
            if let Some(bytes) = renamed.line(&entry, bytes)? {
                to.write_all(&bytes)?;
                to.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}

/// The ids that were there, and what they are called from here on.
#[derive(Debug, Default)]
struct Renamed {
    seen: HashMap<EntryId, u64>,
    names: HashMap<EntryId, EntryId>,
    last: Option<EntryId>,
    /// The entry before.
    before: Option<EntryId>,
}

impl Renamed {
    /// The line of an entry, with an id that only it has; `None` if the same line was there before.
    fn line(&mut self, entry: &Entry, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let hash = hash_of(bytes);
        let mut id = entry.id;
        // What follows an entry that is not there follows the one before, as it is read anyway.
        let parent = match entry.parent {
            Some(parent) if !self.seen.contains_key(&parent) => self.before,
            Some(parent) => Some(self.names.get(&parent).copied().unwrap_or(parent)),
            None => None,
        };
        match self.seen.get(&entry.id) {
            Some(before) if *before == hash => return Ok(None),
            Some(_) => {
                id = EntryId::after(self.last, entry.time);
                self.names.insert(entry.id, id);
            }
            None => {
                self.seen.insert(entry.id, hash);
            }
        }
        self.last = self.last.max(Some(id));
        self.before = Some(id);
        if id == entry.id && parent == entry.parent {
            return Ok(Some(bytes.to_vec()));
        }
        let mut fields: BTreeMap<&str, Box<RawValue>> = serde_json::from_slice(bytes)?;
        fields.insert("id", serde_json::value::to_raw_value(&id)?);
        fields.insert("parent", serde_json::value::to_raw_value(&parent)?);
        Ok(Some(serde_json::to_vec(&fields)?))
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
