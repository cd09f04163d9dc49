//! Where each entry of a session's file is.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::block_cache::{BlockCache, read_up_to};
use crate::entry::Entry;
use crate::id::{EntryId, SessionId};
use crate::index_record::{HEADER, RECORD, Record, index_header, seed_of};
use crate::node::NodeKind;
use crate::session_files::{create_private, open_regular, open_with_metadata};

/// How many new records are kept before they are written.
const WRITE_EVERY: usize = 256;

/// Where each entry of a session's file is, and what it follows.
///
/// The records lie in a file of their own, of which only those blocks are read that are asked for. That
/// file can be thrown away at any time: it is believed only where it agrees with the session's.
#[derive(Debug)]
pub(crate) struct LineIndex {
    path: PathBuf,
    session: SessionId,
    seed: u64,
    file: Option<File>,
    /// Whether it is to be written.
    is_kept: bool,
    /// How many records the file has.
    stored: u64,
    /// The records behind them.
    recent: Vec<Record>,
    last: Option<Record>,
    cache: BlockCache,
    /// The newest entry of each id, while ids that do not ascend are being added.
    by_id: Option<HashMap<EntryId, u32>>,
    /// Why it cannot be written.
    failure: Option<String>,
}

impl LineIndex {
    /// An index that has nothing yet.
    pub(crate) fn empty(path: PathBuf, session: SessionId, is_kept: bool) -> Self {
        Self {
            path,
            session,
            seed: seed_of(session),
            file: None,
            is_kept,
            stored: 0,
            recent: Vec::new(),
            last: None,
            cache: BlockCache::default(),
            by_id: None,
            failure: None,
        }
    }

    /// The index that is there, as far as it agrees with the session's file.
    pub(crate) fn open(
        path: PathBuf,
        session: SessionId,
        is_kept: bool,
        lines: &File,
        size: u64,
    ) -> Self {
        let mut index = Self::empty(path, session, is_kept);
        if let Some((file, stored, last)) = stored(&index, lines, size) {
            index.file = Some(file);
            index.stored = stored;
            index.last = Some(last);
        }
        index
    }

    pub(crate) fn len(&self) -> u64 {
        self.stored + self.recent.len() as u64
    }

    /// The record of the last entry.
    pub(crate) fn last(&self) -> Option<&Record> {
        self.last.as_ref()
    }

    /// The record of an entry. `None` if there is none, or if the index's file is not sound.
    pub(crate) fn record(&mut self, number: u64) -> Option<Record> {
        if let Some(place) = number.checked_sub(self.stored) {
            return self.recent.get(place as usize).copied();
        }
        if number + 1 == self.len() {
            return self.last;
        }
        self.cache.record(self.file.as_ref()?, number, self.seed)
    }

    /// The number of the newest entry of an id. `Err` if the index's file is not sound.
    pub(crate) fn find(&mut self, id: EntryId) -> Result<Option<u64>, Unsound> {
        let Some(last) = self.last else {
            return Ok(None);
        };
        if last.id == id {
            return Ok(Some(self.len() - 1));
        }
        if !last.sorted {
            return self.find_by_walk(id);
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let record = self.record(middle).ok_or(Unsound)?;
            match record.id.cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    fn find_by_walk(&mut self, id: EntryId) -> Result<Option<u64>, Unsound> {
        if let Some(by_id) = &self.by_id {
            return Ok(by_id.get(&id).copied().map(u64::from));
        }
        for number in (0..self.len()).rev() {
            if self.record(number).ok_or(Unsound)?.id == id {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Prepares for many entries whose ids do not ascend: each then looks for its parent.
    pub(crate) fn remember_ids(&mut self) -> Result<(), Unsound> {
        if self.by_id.is_none() && self.last.is_some_and(|last| !last.sorted) {
            let mut by_id = HashMap::with_capacity(self.len() as usize);
            for number in 0..self.len() {
                by_id.insert(self.record(number).ok_or(Unsound)?.id, number as u32);
            }
            self.by_id = Some(by_id);
        }
        Ok(())
    }

    /// Forgets what was prepared.
    pub(crate) fn forget_ids(&mut self) {
        self.by_id = None;
    }

    /// Adds the record of the next entry: `place` is where its line is, the rest is known here.
    pub(crate) fn push(&mut self, place: Place, id: EntryId, kind: NodeKind) {
        let number = self.len() as u32;
        let last = self.last;
        let record = Record {
            offset: place.offset,
            length: place.length,
            parent: place.parent,
            id,
            line: place.line,
            named: match kind {
                NodeKind::Name => Some(number),
                _ => last.and_then(|last| last.named),
            },
            unreadable: last
                .map_or(0, |last| last.unreadable)
                .saturating_add(place.unreadable),
            kind,
            sorted: last.is_none_or(|last| last.sorted && last.id < id),
        };
        if let Some(by_id) = &mut self.by_id {
            by_id.insert(id, number);
        }
        self.last = Some(record);
        self.recent.push(record);
        if self.recent.len() >= WRITE_EVERY {
            self.write();
        }
    }

    /// Writes what is not written yet. A failure only means that the next one to open the session has
    /// more to read.
    pub(crate) fn write(&mut self) {
        if !self.is_kept || self.recent.is_empty() {
            return;
        }
        if let Err(error) = self.try_write() {
            self.is_kept = false;
            self.failure = Some(format!(
                "the index {} cannot be written: {error}",
                self.path.display()
            ));
        }
    }

    fn try_write(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(create(&self.path, self.session)?);
        }
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut bytes = Vec::with_capacity(self.recent.len() * RECORD);
        for (number, record) in (self.stored..).zip(&self.recent) {
            bytes.extend_from_slice(&record.encode(number, self.seed));
        }
        let offset = HEADER as u64 + self.stored * RECORD as u64;
        file.write_all_at(&bytes, offset)?;
        // What stood behind it came from a session that had more entries.
        if file.metadata()?.len() > offset + bytes.len() as u64 {
            file.set_len(offset + bytes.len() as u64)?;
        }
        self.stored += self.recent.len() as u64;
        self.recent.clear();
        Ok(())
    }

    /// Why it could not be written; told once.
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// Takes the place of an index that turned out not to be sound, if it says the same of the last
    /// entry.
    pub(crate) fn replace_by(&mut self, mut other: Self) -> bool {
        if other.len() < self.len() {
            return false;
        }
        let count = self.len();
        let same =
            count == 0 || other.record(count - 1).map(|it| it.id) == self.last.map(|it| it.id);
        if same {
            other.cache.clear();
            *self = other;
        }
        same
    }
}

/// The index's file is not what it should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsound;

/// Where a line is, and what it follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) parent: Option<u32>,
    pub(crate) line: u32,
    /// How many lines between this entry and the one before it cannot be read.
    pub(crate) unreadable: u16,
}

/// Begins an index's file anew.
fn create(path: &Path, session: SessionId) -> io::Result<File> {
    let file = match create_private(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // A reader may have the old one: it is put aside for it, not changed under its hands.
            fs::remove_file(path)?;
            create_private(path)?
        }
        file => file?,
    };
    file.write_all_at(&index_header(session), 0)?;
    Ok(file)
}

/// The index's file, how many records it has, and the last one; `None` unless it agrees with the
/// session's file.
fn stored(index: &LineIndex, lines: &File, size: u64) -> Option<(File, u64, Record)> {
    let session = index.session;
    let file = open_regular(&index.path, index.is_kept)
        .or_else(|_| open_regular(&index.path, false))
        .ok()?;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    if header != index_header(session) {
        return None;
    }
    let length = file.metadata().ok()?.len();
    let count = length.checked_sub(HEADER as u64)? / RECORD as u64;
    let last = record_at(&file, count.checked_sub(1)?, session)?;
    agrees(&last, lines, size).then_some((file, count, last))
}

/// One record, without its block.
fn record_at(file: &File, number: u64, session: SessionId) -> Option<Record> {
    let mut bytes = [0; RECORD];
    let offset = HEADER as u64 + number * RECORD as u64;
    file.read_exact_at(&mut bytes, offset).ok()?;
    Record::decode(&bytes, number, seed_of(session))
}

/// Whether the line of a record is where the record says, and the entry that it says.
fn agrees(record: &Record, lines: &File, size: u64) -> bool {
    if record.end() > size {
        return false;
    }
    let mut line = vec![0; record.length as usize + 1];
    if read_up_to(lines, &mut line, record.offset).ok() != Some(line.len()) {
        return false;
    }
    line.pop() == Some(b'\n') && Entry::parse(&line).is_ok_and(|entry| entry.id == record.id)
}

/// The newest line that names a session, by its index alone: where it is, and up to where of the
/// session's file that holds. `None` if the index is of no use.
pub(crate) fn named(path: &Path, session: SessionId, size: u64) -> Option<(Option<Record>, u64)> {
    let (file, metadata) = open_with_metadata(path, false).ok()?;
    let count = metadata.len().checked_sub(HEADER as u64)? / RECORD as u64;
    let last = record_at(&file, count.checked_sub(1)?, session)?;
    if last.end() > size {
        return None;
    }
    let record = match last.named {
        Some(number) => Some(record_at(&file, u64::from(number), session)?),
        None => None,
    };
    Some((record, last.end()))
}
