//! A folder held open, so that what was checked is what is used.
//!
//! A path is checked once, resolved. Between the check and the use somebody may put a symlink in
//! its place. So the folder is opened step by step without following any link, and everything
//! below happens relative to that handle.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

/// A handle that names a folder and needs no right to read it.
#[cfg(target_os = "linux")]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = OFlags::RDONLY;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by its real path. A symlink on the way is an error: it was not there when the
    /// path was resolved.
    pub(crate) fn open(real: &Path) -> io::Result<Self> {
        Self::walk(real, false)
    }

    /// The same, and makes what is missing.
    pub(crate) fn open_or_create(real: &Path) -> io::Result<Self> {
        Self::walk(real, true)
    }

    fn walk(real: &Path, create: bool) -> io::Result<Self> {
        let flags = HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = openat(CWD, "/", flags, Mode::empty())?;
        for component in real.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            at = match openat(&at, name, flags, Mode::empty()) {
                Err(Errno::NOENT) if create => {
                    match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&at, name, flags, Mode::empty())?
                }
                other => other?,
            };
        }
        Ok(Self(at))
    }

    /// The handle.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Opens a file in it for reading, without following a link and without waiting for the other
    /// end of a pipe.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::empty())?))
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
}
