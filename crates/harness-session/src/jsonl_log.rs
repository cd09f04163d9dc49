//! The entries of a session in a file.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;

use crate::block_cache::read_up_to;
use crate::entry::Entry;
use crate::error::Error;
use crate::file_lock::{SessionFile, is_locked};
use crate::flusher::Flusher;
use crate::header::{Header, VERSION};
use crate::header_line::{self, HeaderLine};
use crate::id::EntryId;
use crate::index_record::Record;
use crate::legibility::check_readable;
use crate::line_index::{LineIndex, Place};
use crate::migration::Migrations;
use crate::node::{Node, NodeKind};
use crate::scan::Scan;
use crate::session_files::{SessionFiles, appear, create_private, open_regular};
use crate::store::{Access, Durability, Log};
use crate::tail::{Mended, mend};

/// The most bytes that are read at once for entries that stand side by side.
const READ_AT_ONCE: u64 = 1024 * 1024;
/// What became of a file that is no longer the one that was opened.
const GONE: &str = "its file was deleted, moved or replaced";
/// The room that is kept for the next line.
const LINE_ROOM: usize = 1024 * 1024;

/// A session's file, open.
#[derive(Debug)]
pub(crate) struct JsonlLog {
    files: SessionFiles,
    path: PathBuf,
    header: Header,
    header_end: u64,
    file: Arc<SessionFile>,
    /// What tells the file from any other: its device and its number there.
    identity: (u64, u64),
    access: Access,
    durability: Durability,
    index: RefCell<LineIndex>,
    /// Where the next line goes; for a reader, where what it knows ends.
    end: u64,
    /// How many lines there are up to there.
    lines: u32,
    /// How many of those behind the last entry cannot be read.
    unreadable: u16,
    /// How much a failed append may have left behind `end`.
    left_over: u64,
    line: Vec<u8>,
    flusher: Flusher,
    warnings: Vec<String>,
    /// Where the end that a crash left is kept.
    torn: Option<PathBuf>,
}

impl JsonlLog {
    /// Begins a session. `folders` is what has new names in it.
    pub(crate) fn create(
        files: SessionFiles,
        header: Header,
        durability: Durability,
        folders: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        let path = files.session();
        let line = header_line::write(&header)
            .map_err(|error| Error::Misuse(format!("the session cannot be written: {error}")))?;
        // It gets its name with its header in it, and locked: nobody ever sees half of a session.
        let new = files.new_session();
        let file = create_private(&new).map_err(Error::io("cannot create", &path))?;
        let begun = SessionFile::locked(file, files.id, &path).and_then(|file| {
            file.write_all_at(&line, 0)
                .map_err(Error::io("cannot write", &path))?;
            appear(&new, &path).map_err(Error::io("cannot create", &path))?;
            Ok(file)
        });
        let file = begun.inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })?;
        let identity = identity_of(&file).map_err(Error::io("cannot read", &path))?;
        let file = Arc::new(file);
        let end = line.len() as u64;
        let log = Self {
            index: RefCell::new(LineIndex::empty(files.index(), files.id, true)),
            path,
            header,
            header_end: end,
            flusher: Flusher::new(Arc::clone(&file), 0, folders),
            identity,
            file,
            access: Access::Write,
            durability,
            end,
            lines: 1,
            unreadable: 0,
            left_over: 0,
            line,
            warnings: Vec::new(),
            torn: None,
            files,
        };
        if durability == Durability::Always {
            log.flusher.sync(end).map_err(log.failed_sync())?;
        }
        Ok(log)
    }

    /// Opens a session.
    pub(crate) fn open(
        files: SessionFiles,
        access: Access,
        durability: Durability,
        migrations: Migrations,
    ) -> Result<Self, Error> {
        let path = files.session();
        let mut warnings = Vec::new();
        let mut file = match access {
            Access::Read => {
                let file = open_regular(&path, false).map_err(Error::io("cannot open", &path))?;
                SessionFile::unlocked(file)
            }
            Access::Write => open_locked(&files)?,
        };
        let mut first = header_line::read(&file, &path, files.id, migrations)?;
        let is_migrated = first.version < VERSION;
        if is_migrated {
            if access == Access::Read {
                let view = migrations.view(&files, &file, first.version)?;
                file = SessionFile::unlocked(view);
            } else {
                let (new, told) = migrations.migrate(&files, &file, first.version)?;
                file = new;
                warnings.push(told);
            }
            first = header_line::read(&file, &path, files.id, migrations)?;
        }
        let mut size = size_of(&file).map_err(Error::io("cannot read", &path))?;
        let mut torn = None;
        if access == Access::Write {
            let mended = mend_all(&files, &file, size, &first, durability)?;
            size = mended.size;
            torn = mended.torn;
            warnings.extend(mended.warning);
        }
        let file = Arc::new(file);
        let is_kept = access == Access::Write;
        let index = if is_migrated {
            LineIndex::empty(files.index(), files.id, is_kept)
        } else {
            LineIndex::open(files.index(), files.id, is_kept, &file, size)
        };
        let mut log = Self {
            header: first.header,
            header_end: first.end,
            flusher: Flusher::new(Arc::clone(&file), size, Vec::new()),
            identity: identity_of(&file).map_err(Error::io("cannot read", &path))?,
            file,
            access,
            durability,
            index: RefCell::new(index),
            end: size,
            lines: 1,
            unreadable: 0,
            left_over: 0,
            line: Vec::new(),
            warnings,
            torn,
            path,
            files,
        };
        log.scan(size)?;
        Ok(log)
    }

    /// Reads what the index does not have.
    fn scan(&mut self, size: u64) -> Result<(), Error> {
        let mut index = self.index.borrow_mut();
        let mut scan = Scan::behind(&index, self.header_end);
        scan.run(&self.file, size, &mut index)
            .map_err(Error::io("cannot read", &self.path))?;
        if scan.is_unsound {
            let (other, anew) = self.rebuilt(size)?;
            *index = other;
            scan = anew;
        }
        self.lines = scan.line;
        self.unreadable = scan.unreadable;
        self.warnings.append(&mut scan.warnings);
        if let Some(at) = scan.torn {
            self.end = at;
            // While somebody writes, it is only a line that is not there yet.
            if !is_locked(&self.file) {
                self.warnings.push(format!(
                    "the last line of the session was cut short by a crash; its {} bytes are passed over",
                    size - at
                ));
            }
        }
        Ok(())
    }

    /// The index as the file alone makes it.
    fn rebuilt(&self, size: u64) -> Result<(LineIndex, Scan), Error> {
        let is_kept = self.access == Access::Write;
        let mut index = LineIndex::empty(self.files.index(), self.files.id, is_kept);
        let mut scan = Scan::behind(&index, self.header_end);
        scan.run(&self.file, size, &mut index)
            .map_err(Error::io("cannot read", &self.path))?;
        Ok((index, scan))
    }

    /// The index turned out not to be sound: it is made anew, in which the entries keep their numbers.
    fn mend_index(&self, index: &mut LineIndex) -> Result<(), Error> {
        let (other, _) = self.rebuilt(self.end)?;
        if index.replace_by(other) {
            return Ok(());
        }
        Err(self.changed("its index does not agree with it any more"))
    }

    fn record(&self, number: u64) -> Result<Record, Error> {
        let mut index = self.index.borrow_mut();
        if let Some(record) = index.record(number) {
            return Ok(record);
        }
        if number < index.len() {
            self.mend_index(&mut index)?;
        }
        index
            .record(number)
            .ok_or_else(|| Error::Misuse(format!("the session has no entry of number {number}")))
    }

    fn read_bytes(&self, offset: u64, length: usize, into: &mut Vec<u8>) -> Result<(), Error> {
        into.clear();
        into.resize(length, 0);
        let read =
            read_up_to(&self.file, into, offset).map_err(Error::io("cannot read", &self.path))?;
        into.truncate(read);
        Ok(())
    }

    /// Cuts off what a failed append left.
    fn cut(&mut self) -> Result<(), Error> {
        self.file
            .set_len(self.end)
            .map_err(Error::io("cannot cut", &self.path))?;
        self.left_over = 0;
        Ok(())
    }

    /// Looks whether the file is as this writer left it.
    fn look(&mut self) -> Result<(), Error> {
        // By its name: what was moved away is somebody else's file, also if it is still there.
        let found = match rustix::fs::stat(&self.path) {
            Err(rustix::io::Errno::NOENT) => return Err(self.changed(GONE)),
            found => found.map_err(|error| Error::io("cannot read", &self.path)(error.into()))?,
        };
        if (found.st_dev, found.st_ino) != self.identity {
            return Err(self.changed(GONE));
        }
        let size = found.st_size.cast_unsigned();
        if size < self.end || size > self.end + self.left_over {
            let problem = format!("its file has {size} bytes instead of {}", self.end);
            return Err(self.changed(problem));
        }
        if self.left_over > 0 {
            self.cut()?;
        }
        Ok(())
    }

    /// Writes the line at the file's end. On `Err` the file is as before.
    fn write_line(&mut self) -> Result<(), Error> {
        let mut written = 0;
        while written < self.line.len() {
            let at = self.end + written as u64;
            let error = match self.file.write_at(&self.line[written..], at) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    written += count;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            return Err(self.undo(Error::io("cannot write", &self.path)(error)));
        }
        Ok(())
    }

    /// Cuts off the line that is being appended; if that cannot be done now, the next append does it.
    fn undo(&mut self, error: Error) -> Error {
        self.left_over = self.line.len() as u64;
        let _ = self.cut();
        error
    }

    fn changed(&self, what: impl Into<String>) -> Error {
        Error::Changed {
            session: self.files.id,
            what: what.into(),
        }
    }

    fn failed_sync(&self) -> impl FnOnce(io::Error) -> Error {
        Error::io("cannot make durable", &self.path)
    }

    /// Where the end that a crash left is kept.
    pub(crate) fn torn(&self) -> Option<&PathBuf> {
        self.torn.as_ref()
    }

    fn is_writer(&self) -> Result<(), Error> {
        match self.access {
            Access::Read => Err(Error::ReadOnly),
            Access::Write => Ok(()),
        }
    }
}

impl Log for JsonlLog {
    fn header(&self) -> &Header {
        &self.header
    }

    fn len(&self) -> u64 {
        self.index.borrow().len()
    }

    fn node(&self, number: u64) -> Result<Node, Error> {
        self.record(number).map(|record| record.node())
    }

    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        let mut index = self.index.borrow_mut();
        if let Ok(found) = index.find(id) {
            return Ok(found);
        }
        self.mend_index(&mut index)?;
        Ok(index.find(id).unwrap_or_default())
    }

    fn read(&self, number: u64) -> Result<Entry, Error> {
        let record = self.record(number)?;
        let mut line = Vec::new();
        self.read_bytes(record.offset, record.length as usize, &mut line)?;
        parse(number, &record, &line)
    }

    fn read_all(&self, numbers: &[u64]) -> Result<Vec<Entry>, Error> {
        let records = numbers
            .iter()
            .map(|number| self.record(*number).map(|record| (*number, record)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut entries = Vec::with_capacity(records.len());
        let mut bytes = Vec::new();
        let mut rest = records.as_slice();
        while let Some((_, first)) = rest.first() {
            let fits = |pair: &[(u64, Record)]| {
                pair[1].1.offset == pair[0].1.end()
                    && pair[1].1.end() - first.offset <= READ_AT_ONCE
            };
            let count = 1 + rest.windows(2).take_while(|pair| fits(pair)).count();
            let (together, others) = rest.split_at(count);
            let end = together.last().map_or(0, |(_, last)| last.end() - 1);
            self.read_bytes(first.offset, (end - first.offset) as usize, &mut bytes)?;
            for (number, record) in together {
                let start = (record.offset - first.offset) as usize;
                let line = bytes.get(start..start + record.length as usize);
                entries.extend(parse(*number, record, line.unwrap_or_default()).ok());
            }
            rest = others;
        }
        Ok(entries)
    }

    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        self.is_writer()?;
        self.flusher.take_failure().map_err(self.failed_sync())?;
        let number = self.index.get_mut().len();
        if parent.is_some_and(|parent| parent >= number) || number >= u64::from(u32::MAX) {
            return Err(Error::Misuse(format!(
                "entry {number} cannot follow {parent:?}"
            )));
        }
        self.line.clear();
        self.line.shrink_to(LINE_ROOM);
        entry
            .write(&mut self.line)
            .map_err(|error| Error::Misuse(format!("the entry cannot be written: {error}")))?;
        check_readable(&self.line)?;
        self.look()?;
        self.write_line()?;
        let end = self.end + self.line.len() as u64;
        if self.durability == Durability::Always
            && let Err(error) = self.flusher.sync(end)
        {
            self.flusher.cut(self.end);
            let error = self.failed_sync()(error);
            return Err(self.undo(error));
        }
        let index = self.index.get_mut();
        let place = Place {
            offset: self.end,
            length: (self.line.len() - 1) as u32,
            parent: parent.map(|parent| parent as u32),
            line: self.lines.saturating_add(1),
            unreadable: std::mem::take(&mut self.unreadable),
        };
        index.push(place, entry.id, NodeKind::of(&entry.body));
        self.lines = self.lines.saturating_add(1);
        self.end = end;
        Ok(number)
    }

    fn checkpoint(&mut self) -> Result<(), Error> {
        self.is_writer()?;
        match self.durability {
            Durability::Turn => self.flusher.ask(self.end),
            Durability::Always | Durability::Never => self.flusher.take_failure(),
        }
        .map_err(self.failed_sync())
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.is_writer()?;
        self.index.get_mut().write();
        match self.durability {
            Durability::Never => Ok(()),
            Durability::Always | Durability::Turn => {
                self.flusher.sync(self.end).map_err(self.failed_sync())
            }
        }
    }

    fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.index.get_mut().take_failure());
        warnings
    }
}

impl Drop for JsonlLog {
    fn drop(&mut self) {
        // A file that is not this writer's any more gets no index from it.
        if self.access == Access::Write && self.look().is_ok() {
            self.index.get_mut().write();
        }
    }
}

/// Opens a session to write to it. What is locked is the file that has the session's name now.
pub(crate) fn open_locked(files: &SessionFiles) -> Result<SessionFile, Error> {
    let path = files.session();
    loop {
        let file =
            open_regular(&path, true).map_err(Error::io("cannot open for writing", &path))?;
        let file = SessionFile::locked(file, files.id, &path)?;
        // Another one may have put a new file in its place in between.
        let cannot_read = |error| Error::io("cannot read", &path)(error);
        let (mine, named) = (file.metadata(), fs::metadata(&path));
        let (mine, named) = (mine.map_err(cannot_read)?, named.map_err(cannot_read)?);
        if (mine.dev(), mine.ino()) == (named.dev(), named.ino()) {
            return Ok(file);
        }
    }
}

/// Mends the end of a file, also where only the first line lacks its end.
pub(crate) fn mend_all(
    files: &SessionFiles,
    file: &File,
    size: u64,
    first: &HeaderLine,
    durability: Durability,
) -> Result<Mended, Error> {
    if !first.is_ended {
        let path = files.session();
        file.write_all_at(b"\n", size)
            .map_err(Error::io("cannot write", path))?;
        return Ok(Mended {
            size: size + 1,
            ..Mended::default()
        });
    }
    let is_durable = durability != Durability::Never;
    mend(files, file, size, first.end, is_durable)
}

fn identity_of(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

pub(crate) fn size_of(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.len())
}

/// The entry of a line, which has to be the one that the index says.
fn parse(number: u64, record: &Record, line: &[u8]) -> Result<Entry, Error> {
    let problem = match Entry::parse(line) {
        Ok(entry) if entry.id == record.id => return Ok(entry),
        Ok(entry) => format!("the entry {} is in its place", entry.id),
        Err(error) => error.to_string(),
    };
    Err(Error::Unreadable { number, problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Body, NameBody};
    use crate::id::Timestamp;

    fn name(name: &str) -> Entry {
        let body = NameBody {
            name: Some(name.to_owned()),
        };
        Entry {
            id: EntryId::after(None, Timestamp(1)),
            parent: None,
            time: Timestamp(1),
            body: Body::Name(body),
        }
    }

    fn log(durability: Durability, failures: usize) -> (tempfile::TempDir, JsonlLog) {
        let folder = tempfile::tempdir().unwrap();
        let header = Header::new(None);
        let files = SessionFiles::new(folder.path().to_owned(), header.id);
        let mut log = JsonlLog::create(files, header, durability, Vec::new()).unwrap();
        log.flusher = Flusher::failing(Arc::clone(&log.file), log.end, failures);
        (folder, log)
    }

    #[test]
    fn an_entry_that_cannot_be_made_durable_is_not_there() {
        let (_folder, mut log) = log(Durability::Always, 2);
        let before = fs::read(&log.path).unwrap();
        for _ in 0..2 {
            let error = log.append(&name("lost"), None).unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{error}");
            assert_eq!(fs::read(&log.path).unwrap(), before);
            assert_eq!(log.len(), 0);
        }
        assert_eq!(log.append(&name("kept"), None).unwrap(), 0);
        assert!(fs::read_to_string(&log.path).unwrap().contains("kept"));
    }

    #[test]
    fn a_failure_in_the_background_is_told_by_whatever_comes_next() {
        type Next = fn(&mut JsonlLog) -> Result<(), Error>;
        let nexts: [Next; 3] = [
            |log| log.append(&name("second"), None).map(drop),
            |log| log.checkpoint(),
            |log| log.sync(),
        ];
        for next in nexts {
            let (_folder, mut log) = log(Durability::Turn, 1);
            log.append(&name("first"), None).unwrap();
            log.checkpoint().unwrap();
            log.flusher.wait_for_failure();
            let error = next(&mut log).unwrap_err();
            assert!(error.to_string().contains("cannot make durable"), "{error}");
            assert_eq!(log.len(), 1);
            next(&mut log).unwrap();
            log.sync().unwrap();
        }
    }

    #[test]
    fn what_cannot_be_cut_off_at_once_is_cut_off_later() {
        let (_folder, mut log) = log(Durability::Never, 0);
        log.append(&name("first"), None).unwrap();
        // As if half a line was written, and could not be taken back.
        log.file.write_all_at(b"{\"type\"", log.end).unwrap();
        log.left_over = 100;
        log.append(&name("second"), None).unwrap();
        let text = fs::read_to_string(&log.path).unwrap();
        assert_eq!(text.lines().count(), 3);
        let last = text.lines().last().unwrap();
        assert!(last.contains("second"), "{last}");
    }
}
