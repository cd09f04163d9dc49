//! Files that are nowhere but in memory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Cursor};
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::{
    Entry, FileInfo, FileKind, Files, OpenFile, ReplaceError, Replacement, Resolved,
};
use crate::place;
use crate::version::FileVersion;

/// Files in memory, with folders and symlinks: a stand-in for those of another machine. Clones share
/// the files.
///
/// ```
/// use std::sync::Arc;
///
/// use harness_tools::test_support::MemoryFiles;
/// use harness_tools::{ReadArgs, ReadResult, SeenFiles, Stop, Workspace, read_file};
///
/// let files = MemoryFiles::new();
/// files.put("/ws/a.txt", "one\ntwo\n");
/// let workspace = Workspace::new("/ws").with_files(Arc::new(files));
/// let args = ReadArgs { path: "a.txt".into(), offset: Some(2), limit: None };
/// let read = read_file(&workspace, &args, &SeenFiles::new(), &Stop::default())?;
/// assert!(matches!(read, ReadResult::Text(read) if read.text == "two\n"));
/// # Ok::<(), harness_tools::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// By real path. Every folder on the way to something is there too.
    nodes: BTreeMap<PathBuf, Node>,
    /// How many changes there were.
    changes: i64,
    /// How many nodes were made.
    made: u64,
}

#[derive(Clone, Debug)]
struct Node {
    number: u64,
    stamp: i64,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Folder,
    File(Arc<[u8]>),
    Link(PathBuf),
}

impl Node {
    fn info(&self) -> FileInfo {
        let (kind, size) = match &self.content {
            Content::Folder => (FileKind::Folder, 0),
            Content::File(bytes) => (FileKind::File, bytes.len() as u64),
            Content::Link(_) => (FileKind::Symlink, 0),
        };
        FileInfo {
            kind,
            size,
            version: FileVersion::numbered(self.number, size, self.stamp),
        }
    }
}

impl MemoryFiles {
    /// No files, and the folder `/`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file there, and the folders on the way. The path is absolute and real.
    pub fn put(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let content = Content::File(content.as_ref().into());
        self.state().put(path.as_ref(), content);
    }

    /// Makes a symlink, and the folders on the way.
    pub fn link(&self, target: impl Into<PathBuf>, path: impl AsRef<Path>) {
        self.state()
            .put(path.as_ref(), Content::Link(target.into()));
    }

    /// The content of the file with this real path.
    pub fn content(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        match &self.state().nodes.get(path.as_ref())?.content {
            Content::File(bytes) => Some(bytes.to_vec()),
            Content::Folder | Content::Link(_) => None,
        }
    }

    /// The real paths of all files.
    pub fn paths(&self) -> Vec<PathBuf> {
        let state = self.state();
        let files = state.nodes.iter();
        files
            .filter(|(_, node)| matches!(node.content, Content::File(_)))
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, path: &Path, content: Content) {
        for folder in path.ancestors().skip(1) {
            if folder != Path::new("/") && !self.nodes.contains_key(folder) {
                self.insert(folder, Content::Folder);
            }
        }
        self.insert(path, content);
    }

    fn insert(&mut self, path: &Path, content: Content) {
        self.changes += 1;
        self.made += 1;
        let node = Node {
            number: self.made,
            stamp: self.changes,
            content,
        };
        self.nodes.insert(path.to_owned(), node);
    }

    fn look(&self, path: &Path) -> io::Result<FileInfo> {
        if path == Path::new("/") {
            return Ok(FileInfo {
                kind: FileKind::Folder,
                size: 0,
                version: FileVersion::numbered(0, 0, 0),
            });
        }
        for folder in path.ancestors().skip(1) {
            if let Some(node) = self.nodes.get(folder)
                && !matches!(node.content, Content::Folder)
            {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        let node = self.nodes.get(path);
        node.map(Node::info)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        match self.nodes.get(path).map(|node| &node.content) {
            Some(Content::Link(target)) => Ok(target.clone()),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Files for MemoryFiles {
    fn resolve(&self, path: &Path) -> io::Result<Resolved> {
        let state = self.state();
        place::follow(path, |path| state.look(path), |path| state.read_link(path))
    }

    fn open(&self, real: &Path) -> io::Result<OpenFile> {
        let state = self.state();
        let info = state.look(real)?;
        match state.nodes.get(real).map(|node| &node.content) {
            Some(Content::File(bytes)) => Ok(OpenFile {
                info,
                content: Box::new(Cursor::new(Arc::clone(bytes))),
            }),
            Some(Content::Link(_)) => Err(io::ErrorKind::NotFound.into()),
            Some(Content::Folder) | None => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn replace(&self, replacement: &Replacement<'_>) -> Result<FileInfo, ReplaceError> {
        let mut state = self.state();
        let now = match state.look(replacement.real) {
            Ok(info) => Some(info.version),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if now != replacement.expected {
            return Err(ReplaceError::Changed);
        }
        if replacement.stop.is_stopped() {
            return Err(ReplaceError::Stopped);
        }
        let content = Content::File(replacement.content.concat().into());
        state.put(replacement.real, content);
        Ok(state.look(replacement.real)?)
    }

    fn list(&self, real: &Path, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) -> io::Result<()> {
        let entries: Vec<Entry> = {
            let state = self.state();
            if !state.look(real)?.is_folder() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            let below = (Bound::Excluded(real), Bound::Unbounded);
            let all = state.nodes.range::<Path, _>(below);
            all.take_while(|(path, _)| path.starts_with(real))
                .filter(|(path, _)| path.parent() == Some(real))
                .map(|(path, node)| Entry {
                    name: path.file_name().unwrap_or(OsStr::new("")).to_owned(),
                    kind: node.info().kind,
                })
                .collect()
        };
        for entry in entries {
            if visit(entry).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.state().read_link(path)
    }
}
