//! The files that the tools work on, behind a small trait.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::Metadata;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::blocking::Stop;
use crate::plain_walk;
use crate::version::FileVersion;

/// The files that the tools work on: those of this machine ([`LocalFiles`](crate::LocalFiles), the
/// default), or a stand-in for those of a container or of another machine.
///
/// All paths are absolute. All methods may block; the tools call them on threads for blocking work.
///
/// What holds for each implementation, because the policy for paths rests on it: a *real* path that
/// [`resolve`](Self::resolve) gave is absolute, has no `..` and no symlink in it, and [`open`](Self::open),
/// [`replace`](Self::replace) and [`list`](Self::list) fail if there is one by the time they are
/// called. So what was checked is what is used.
pub trait Files: Debug + Send + Sync {
    /// Where a path leads, as the kernel would follow it: every symlink, the last component
    /// included, and `..` after them. Nothing need be there: of a path that does not exist, the
    /// deepest folder that does is resolved and the rest is appended.
    ///
    /// # Errors
    ///
    /// `NotADirectory` if a part of the path is a file. That nothing is there is no error.
    fn resolve(&self, path: &Path) -> io::Result<Resolved>;

    /// Opens what has this real path for reading, without waiting for the other end of a pipe.
    ///
    /// # Errors
    ///
    /// `NotFound` if nothing is there (any more). What is no regular file may be opened or be an error;
    /// [`OpenFile::info`] is looked at.
    fn open(&self, real: &Path) -> io::Result<OpenFile>;

    /// Gives the file with this real path a new content in one step: a reader, or a crash, finds the
    /// old content or the new. Mode and, if possible, owner of an existing file are kept; folders that
    /// are missing on the way to a new one are made.
    fn replace(&self, replacement: &Replacement<'_>) -> Result<FileInfo, ReplaceError>;

    /// Hands each entry of a folder to `visit`, in any order, until it breaks.
    fn list(&self, real: &Path, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) -> io::Result<()>;

    /// Where a symlink points, as it is written.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Hands everything below a folder to `visitor`, perhaps on several threads, by the rules of
    /// [`Walk`]. This default does it with the other methods, on one thread.
    fn walk(&self, walk: &Walk<'_>, visitor: &(dyn Fn(&WalkEntry<'_>) -> Next + Sync)) -> WalkEnd {
        plain_walk::walk(self, walk, visitor)
    }

    /// Whether a small file is read sooner than a thread is woken for it, and a look at it cannot
    /// hang; `root` is the workspace's. By default, no.
    fn is_quick(&self, root: &Path, info: &FileInfo) -> bool {
        let _ = (root, info);
        false
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The absolute path, without symlinks and without `..`.
    pub real: PathBuf,
    /// What is there; `None` when nothing is.
    pub info: Option<FileInfo>,
}

/// What something in the file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symlink.
    Symlink,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device, or something else that is none of the others.
    Device,
}

impl FileKind {
    pub(crate) fn of(kind: std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Symlink
        } else if kind.is_fifo() {
            Self::Pipe
        } else if kind.is_socket() {
            Self::Socket
        } else {
            Self::Device
        }
    }

    /// What it is, if it is no regular file, and what to do; for messages.
    pub(crate) fn unlike_a_file(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::File => None,
            Self::Folder => Some(("a folder, not a file", " Use `ls` to list it.")),
            Self::Symlink => Some(("a symlink, not a file", "")),
            Self::Pipe => Some(("a named pipe, not a file", "")),
            Self::Socket => Some(("a socket, not a file", "")),
            Self::Device => Some(("a device, not a file", "")),
        }
    }
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes, of a regular file.
    pub size: u64,
    /// Which state of it this is.
    pub version: FileVersion,
}

impl FileInfo {
    /// What these facts say.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            kind: FileKind::of(metadata.file_type()),
            size: metadata.size(),
            version: FileVersion::of(metadata),
        }
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }
}

/// A file that is open for reading.
pub struct OpenFile {
    /// What was opened.
    pub info: FileInfo,
    /// Its content, from the beginning.
    pub content: Box<dyn Read + Send>,
}

impl Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// A new content for a file.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The real path.
    pub real: &'a Path,
    /// The content, in pieces that follow each other.
    pub content: &'a [&'a [u8]],
    /// The state that is replaced; `None` for a file that must not be there yet.
    pub expected: Option<FileVersion>,
    /// Looked at before the last step. Once that is done, the file is replaced.
    pub stop: &'a Stop,
}

/// Why a file was not replaced. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The file is not in the state that was expected.
    #[error("the file changed in between")]
    Changed,
    /// The call was stopped.
    #[error("stopped")]
    Stopped,
    /// The system refused, or the file may not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Something in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is; a symlink is not followed.
    pub kind: FileKind,
}

/// A walk over everything below a folder.
///
/// `.git` is left out. Symlinks are visited and not followed. What cannot be read is left out, and
/// counted.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// The folder, by its real path. It is not visited itself.
    pub folder: &'a Path,
    /// Whether what `.gitignore` and `.ignore` files exclude, in the folder, above and below it, is
    /// left out; also outside a repository.
    pub ignore_files: bool,
    /// Whether entries come one after the other, sorted by path: a folder, what is in it, and then
    /// what follows it. If not, they come in any order.
    pub sorted: bool,
    /// The most entries that are visited.
    pub max_entries: usize,
    /// Looked at between entries.
    pub stop: &'a Stop,
}

/// Something that a walk came to.
#[derive(Clone, Copy, Debug)]
pub struct WalkEntry<'a> {
    /// Its path, which begins with the folder's.
    pub path: &'a Path,
    /// What it is.
    pub kind: FileKind,
}

/// Where a walk goes after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// On, and into this folder.
    Continue,
    /// On, and not into this folder.
    Skip,
    /// Nowhere. On other threads a few more entries may be visited.
    Stop,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkEnd {
    /// How many entries were visited.
    pub visited: usize,
    /// [`Walk::max_entries`] ended it.
    pub bounded: bool,
    /// How many folders could not be read.
    pub unread: usize,
}
