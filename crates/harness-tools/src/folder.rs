//! Opening by a real path, so that what was checked is what is used.
//!
//! A path is checked once, resolved. Between the check and the use somebody may put a symlink in
//! its place. So nothing is opened through a link: the kernel is told to refuse any on the way
//! (`openat2` with `RESOLVE_NO_SYMLINKS`, Linux 5.6), or the path is opened step by step where it
//! cannot be told. Everything below a folder then happens relative to its handle. A real path has no
//! `..` in it, so what is opened lies beneath every folder that the path was checked to lie in.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, accessat, flock, mkdirat,
    openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::files::{Entry, FileKind};

/// A handle that names a folder and needs no right to read it.
#[cfg(target_os = "linux")]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = OFlags::RDONLY;

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// How often, and how far apart, it is asked whether a file that somebody holds is free. It is held
/// for the time of two or three system calls; what is held longer is held for another reason.
const HOLD_TRIES: usize = 200;
const HOLD_PAUSE: Duration = Duration::from_millis(5);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by its real path.
    pub(crate) fn open(real: &Path) -> io::Result<Self> {
        Self::open_as(real, HANDLE)
    }

    fn open_as(real: &Path, flags: OFlags) -> io::Result<Self> {
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Some(opened) = without_links(real, flags) {
            return opened.map(Self).map_err(io::Error::from);
        }
        let folder = Self::walk(real, &mut None)?;
        if flags.contains(HANDLE) && HANDLE == OFlags::PATH {
            return Ok(folder);
        }
        Ok(Self(openat(&folder.0, ".", flags, Mode::empty())?))
    }

    /// The same, and makes what is missing.
    pub(crate) fn open_or_create(real: &Path) -> io::Result<(Self, MadeFolders)> {
        let mut made = Some(MadeFolders::default());
        let folder = match Self::open(real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::walk(real, &mut made)?,
            other => other?,
        };
        Ok((folder, made.unwrap_or_default()))
    }

    /// Step by step. With `made`, what is missing is made, and noted there.
    fn walk(real: &Path, made: &mut Option<MadeFolders>) -> io::Result<Self> {
        let flags = HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = openat(CWD, "/", flags, Mode::empty())?;
        for component in real.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            at = match (openat(&at, name, flags, Mode::empty()), made.as_mut()) {
                (Err(Errno::NOENT), Some(made)) => {
                    let new = match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => true,
                        Err(Errno::EXIST) => false,
                        Err(error) => return Err(error.into()),
                    };
                    let below = openat(&at, name, flags, Mode::empty())?;
                    if new {
                        made.0.push((at, name.to_owned()));
                    }
                    below
                }
                (other, _) => other?,
            };
        }
        Ok(Self(at))
    }

    /// The handle.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// What is under a name now, without following a link; `None` when nothing is.
    pub(crate) fn metadata(&self, name: &OsStr) -> io::Result<Option<std::fs::Metadata>> {
        let flags = HANDLE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd).metadata()?)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Holds the file with this name against other processes that ask for it like this; `None` if it
    /// cannot be held, or somebody else holds it for long. Whoever waited must look again at what has
    /// the name.
    pub(crate) fn hold(&self, name: &OsStr) -> Option<OwnedFd> {
        let file = openat(&self.0, name, READ, Mode::empty()).ok()?;
        for _ in 0..HOLD_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(file),
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(HOLD_PAUSE),
                Err(_) => return None,
            }
        }
        None
    }

    /// An error if the file with this name may not be written.
    pub(crate) fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        Ok(accessat(&self.0, name, Access::WRITE_OK, AtFlags::empty())?)
    }
}

/// Folders that were made on the way to a file, each with the one that it is in. Dropped before they are
/// to stay, they are removed again if nothing is in them.
#[derive(Debug, Default)]
pub(crate) struct MadeFolders(Vec<(OwnedFd, OsString)>);

impl MadeFolders {
    /// They are to stay.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for (folder, name) in self.0.drain(..).rev() {
            let _ = unlinkat(folder, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Opens a file by its real path for reading, without waiting for the other end of a pipe.
pub(crate) fn open_file(real: &Path) -> io::Result<File> {
    if let Some(opened) = without_links(real, READ) {
        return Ok(File::from(opened?));
    }
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let folder = Folder::walk(parent, &mut None)?;
    Ok(File::from(openat(&folder.0, name, READ, Mode::empty())?))
}

/// A handle of what has this path, if there is something and no symlink leads to it. `None` is no
/// answer: look step by step.
pub(crate) fn handle_without_links(path: &Path) -> Option<File> {
    // Without `NOFOLLOW`, which would give a handle of a symlink at the end.
    let opened = without_links(path, HANDLE | OFlags::CLOEXEC)?;
    opened.ok().map(File::from)
}

/// The path without `.`, and with each `..` taken with the component before it: right only if no
/// component is a symlink.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut real = PathBuf::with_capacity(path.as_os_str().len());
    for component in path.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            other => real.push(other),
        }
    }
    real
}

/// Opens a path unless a symlink is on it or at its end. `None` where the kernel cannot do that.
#[cfg(target_os = "linux")]
fn without_links(path: &Path, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{ResolveFlags, openat2};

    static LACKING: AtomicBool = AtomicBool::new(false);
    if LACKING.load(Ordering::Relaxed) {
        return None;
    }
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags, Mode::empty(), resolve) {
        // An older kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {
            LACKING.store(true, Ordering::Relaxed);
            None
        }
        opened => Some(opened),
    }
}

#[cfg(not(target_os = "linux"))]
fn without_links(_: &Path, _: OFlags) -> Option<Result<OwnedFd, Errno>> {
    None
}

/// Hands the entries of a folder to `visit` until it breaks.
pub(crate) fn list(real: &Path, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) -> io::Result<()> {
    let folder = Folder::open_as(real, OFlags::RDONLY)?;
    let mut entries = Dir::new(folder.0)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            // Some file systems do not say.
            let found = statat(entries.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            kind = found.map_or(kind, |found| FileType::from_raw_mode(found.st_mode));
        }
        let entry = Entry {
            name: OsString::from(OsStr::from_bytes(name)),
            kind: match kind {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Folder,
                FileType::Symlink => FileKind::Symlink,
                FileType::Fifo => FileKind::Pipe,
                FileType::Socket => FileKind::Socket,
                _ => FileKind::Device,
            },
        };
        if visit(entry).is_break() {
            break;
        }
    }
    Ok(())
}
