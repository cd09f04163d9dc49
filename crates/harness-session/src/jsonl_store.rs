//! Sessions as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file_lock::SessionFile;
use crate::glance::Glance;
use crate::header::{Header, VERSION};
use crate::header_line;
use crate::id::SessionId;
use crate::jsonl_log::{JsonlLog, size_of};
use crate::lines::Lines;
use crate::migration::Migrations;
use crate::prefilter::Prefilter;
use crate::repair::{RepairReport, repair};
use crate::scan::{Read, read};
use crate::search::{Hits, Query};
use crate::session_files::{SessionFiles, canonical, create_folder, id_of, key_of, open_regular};
use crate::store::{Access, Durability, Filter, Hit, Listed, Log, Store};

/// Sessions as files of JSON lines: `<folder>/<working folder>/<id>.jsonl`.
///
/// A session's file is all there is to it: the header on the first line, then an entry a line, in the
/// order in which they were appended. The `.index` beside it only saves time, and can be deleted at any
/// time. Folders and files are their owner's alone.
///
/// ```no_run
/// use harness_session::{Durability, Header, JsonlStore, Store};
///
/// let store = JsonlStore::new("/var/lib/agent/sessions").durability(Durability::Always);
/// let log = store.create(Header::new(None))?;
/// # Ok::<(), harness_session::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonlStore {
    folder: PathBuf,
    durability: Durability,
    migrations: Migrations,
}

impl JsonlStore {
    /// The sessions in a folder, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            // Sessions stay where they are, also when the process goes to another folder.
            folder: std::path::absolute(&folder).unwrap_or(folder),
            durability: Durability::default(),
            migrations: Migrations::default(),
        }
    }

    /// When what is appended is made to outlive a loss of power. Default: [`Durability::Turn`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    #[cfg(test)]
    pub(crate) fn migrations(mut self, migrations: Migrations) -> Self {
        self.migrations = migrations;
        self
    }

    /// The file of a session.
    pub fn path_of(&self, id: SessionId) -> Result<PathBuf, Error> {
        Ok(self.files_of(id)?.session())
    }

    /// Makes the best of a session's file that is damaged, without losing a byte of it: a torn end is
    /// set aside; lines that cannot be read and entries that are there twice are left out, if there are
    /// any, after the file was kept under another name; the index is made anew.
    pub fn repair(&self, id: SessionId) -> Result<RepairReport, Error> {
        repair(&self.files_of(id)?, self.durability, self.migrations)
    }

    pub(crate) fn files_of(&self, id: SessionId) -> Result<SessionFiles, Error> {
        for folder in self.folders()? {
            let files = SessionFiles::new(folder, id);
            if fs::symlink_metadata(files.session()).is_ok() {
                return Ok(files);
            }
        }
        Err(Error::NotFound(id.to_string()))
    }

    /// The folders of the working folders.
    fn folders(&self) -> Result<Vec<PathBuf>, Error> {
        let cannot_read = |error| Error::io("cannot read", &self.folder)(error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(cannot_read)?,
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(cannot_read)?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !is_file {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    }

    /// The files of all sessions that may pass a filter. A folder that cannot be read has none.
    fn all(&self, filter: &Filter) -> Result<Vec<SessionFiles>, Error> {
        let folders = match &filter.cwd {
            Some(cwd) => vec![self.folder.join(key_of(Some(cwd)))],
            None => self.folders()?,
        };
        let mut all = Vec::new();
        for folder in folders {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if let Some(id) = id_of(&entry.file_name()) {
                    all.push(SessionFiles::new(folder.clone(), id));
                }
            }
        }
        Ok(all)
    }

    /// Whether a session is a subagent's. What cannot be read is not known to be.
    fn is_of_subagent(&self, files: &SessionFiles) -> bool {
        let path = files.session();
        let file = open_regular(&path, false).ok();
        let first =
            file.and_then(|file| header_line::read(&file, &path, files.id, self.migrations).ok());
        first.is_some_and(|first| first.header.agent().is_some())
    }

    fn glances(&self, filter: &Filter) -> Result<Vec<(Listed, SessionFiles)>, Error> {
        let cwd = filter.cwd.as_deref().map(canonical);
        let mut glance = Glance::default();
        let mut all: Vec<_> = self
            .all(filter)?
            .into_iter()
            .map(|files| (glance.at(&files, self.migrations), files))
            .filter(|(listed, _)| {
                let header = &listed.header;
                // What cannot be read is where it lies.
                listed.problem.is_some()
                    || filter.allows(header)
                    || header.cwd.as_deref().map(canonical) == cwd
            })
            .collect();
        all.sort_by_cached_key(|(it, _)| std::cmp::Reverse((it.modified, it.header.id)));
        Ok(all)
    }

    /// The entries of one session that a search finds.
    fn search_one(
        &self,
        files: &SessionFiles,
        query: &Query,
        prefilter: &Prefilter,
        hits: &mut Hits,
    ) -> Result<(), Error> {
        let path = files.session();
        let cannot_read = |error| Error::io("cannot read", &path)(error);
        let mut file = open_regular(&path, false).map_err(cannot_read)?;
        let first = header_line::read(&file, &path, files.id, self.migrations)?;
        if first.version < VERSION {
            file = self.migrations.view(files, &file, first.version)?;
        }
        let size = size_of(&file).map_err(cannot_read)?;
        let mut lines = Lines::new(&file, 0, size);
        // The header is no entry.
        lines.next().map_err(cannot_read)?;
        while !hits.is_full()
            && let Some(line) = lines.next().map_err(cannot_read)?
        {
            if prefilter.lets_through(line.bytes)
                && let Read::Entry(_, entry) = read(&line)
            {
                hits.take(query.hit(files.id, &entry));
            }
        }
        Ok(())
    }
}

impl Store for JsonlStore {
    fn create(&self, header: Header) -> Result<Box<dyn Log>, Error> {
        let id = header.id;
        let folder = self.folder.join(key_of(header.cwd.as_deref()));
        match self.files_of(id) {
            Err(Error::NotFound(_)) => {}
            Ok(files) => {
                let place = files.session();
                let problem = format!("there is a session {id} already: {}", place.display());
                return Err(Error::Misuse(problem));
            }
            Err(error) => return Err(error),
        }
        create_folder(&folder).map_err(Error::io("cannot create", &folder))?;
        let new_names = match self.durability {
            Durability::Never => Vec::new(),
            Durability::Always | Durability::Turn => vec![folder.clone(), self.folder.clone()],
        };
        let files = SessionFiles::new(folder, id);
        let log = JsonlLog::create(files, header, self.durability, new_names)?;
        Ok(Box::new(log))
    }

    fn open(&self, id: SessionId, access: Access) -> Result<Box<dyn Log>, Error> {
        let files = self.files_of(id)?;
        let log = JsonlLog::open(files, access, self.durability, self.migrations)?;
        Ok(Box::new(log))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error> {
        let all = self.glances(filter)?;
        Ok(all.into_iter().map(|(listed, _)| listed).collect())
    }

    /// By the times of the files: of the last ones, the first lines are read until one is of no subagent. One that is
    /// empty was never begun: its process died before it could write the first line.
    fn latest(&self, cwd: &Path) -> Result<Option<SessionId>, Error> {
        let all = self.all(&Filter::of_folder(cwd))?;
        let modified = |files: &SessionFiles| {
            let metadata = fs::metadata(files.session()).ok()?;
            if metadata.is_file() && metadata.len() == 0 {
                return None;
            }
            Some((metadata.modified().ok()?, files.id))
        };
        let mut all: Vec<_> = all
            .iter()
            .filter_map(|files| Some((modified(files)?, files)))
            .collect();
        all.sort_unstable_by_key(|(modified, _)| std::cmp::Reverse(*modified));
        let mut own = all.iter().filter(|(_, files)| !self.is_of_subagent(files));
        Ok(own.next().map(|(_, files)| files.id))
    }

    fn ids(&self) -> Result<Vec<SessionId>, Error> {
        let all = self.all(&Filter::default())?;
        Ok(all.into_iter().map(|files| files.id).collect())
    }

    fn search(&self, query: &str, filter: &Filter, most: usize) -> Result<Vec<Hit>, Error> {
        let Some(query) = Query::new(query) else {
            return Ok(Vec::new());
        };
        let prefilter = Prefilter::new(query.words());
        let mut hits = Hits::new(most);
        for (listed, files) in self.glances(filter)? {
            if hits.is_full() {
                break;
            }
            if listed.problem.is_none() {
                // One that cannot be read, or is gone, does not keep the others from being searched.
                let _ = self.search_one(&files, &query, &prefilter, &mut hits);
            }
        }
        Ok(hits.into_found())
    }

    fn delete(&self, id: SessionId) -> Result<(), Error> {
        let files = self.files_of(id)?;
        let path = files.session();
        // What is no file at all has no writer.
        let _locked = open_regular(&path, false)
            .ok()
            .map(|file| SessionFile::locked(file, id, &path))
            .transpose()?;
        let others = files
            .others()
            .map_err(Error::io("cannot read", &files.folder))?;
        // The session goes last: as long as it is there, this can be tried again.
        for path in others.iter().chain([&path]) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("cannot delete", path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
