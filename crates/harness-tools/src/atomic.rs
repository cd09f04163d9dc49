//! Replacing a file in one step: readers see the old content or the new, never a part.
//!
//! The new content is written to a file without a name where the system has such (`O_TMPFILE`), so
//! that a process killed while writing leaves nothing behind; elsewhere to a hidden file beside the
//! target. It reaches the disk before it takes the target's name.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchown, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::folder::Folder;

/// How often a name for a temporary file is tried.
const NAME_TRIES: usize = 16;

/// Content on its way to a name. Dropped before [`publish`](Self::publish), it leaves nothing.
#[derive(Debug)]
pub(crate) struct NewFile<'a> {
    folder: &'a Folder,
    file: File,
    /// The name of the temporary file, while it has one.
    name: Option<OsString>,
}

impl<'a> NewFile<'a> {
    /// Writes `content` to disk, with the mode and, if possible, the owner of `old`.
    pub(crate) fn write(
        folder: &'a Folder,
        content: &[&[u8]],
        old: Option<&Metadata>,
    ) -> io::Result<Self> {
        let mut new = Self::create(folder)?;
        for piece in content {
            new.file.write_all(piece)?;
        }
        if let Some(old) = old {
            let now = new.file.metadata()?;
            if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
                // Only root may give files away; for others the new file is their own.
                let owner = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
                let _ = fchown(&new.file, Some(owner.0), Some(owner.1));
            }
            new.file
                .set_permissions(std::fs::Permissions::from_mode(old.mode() & 0o7777))?;
        }
        new.file.sync_all()?;
        Ok(new)
    }

    fn create(folder: &'a Folder) -> io::Result<Self> {
        if let Some(file) = create_unnamed(folder)? {
            return Ok(Self {
                folder,
                file,
                name: None,
            });
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let (name, file) = with_free_name(|name| {
            openat(folder.fd(), name, flags, Mode::from_raw_mode(0o666)).map(File::from)
        })?;
        Ok(Self {
            folder,
            file,
            name: Some(name),
        })
    }

    /// Gives the content its name. With `replace`, whatever has the name is replaced, a symlink
    /// included; without, a file that has the name by now is an error (`AlreadyExists`).
    pub(crate) fn publish(mut self, target: &OsStr, replace: bool) -> io::Result<Metadata> {
        let fd = self.folder.fd();
        if !replace {
            match self.link(target) {
                Ok(()) => return self.file.metadata(),
                // A file system without hard links: renaming is all there is.
                Err(Errno::PERM | Errno::NOTSUP) if self.name.is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.name.is_none() {
            let (name, ()) = with_free_name(|name| self.link(name))?;
            self.name = Some(name);
        }
        if let Some(name) = &self.name {
            renameat(fd, name, fd, target)?;
            self.name = None;
        }
        self.file.metadata()
    }

    fn link(&self, target: &OsStr) -> Result<(), Errno> {
        let fd = self.folder.fd();
        if let Some(name) = &self.name {
            return linkat(fd, name, fd, target, AtFlags::empty());
        }
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, path, fd, target, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(self.folder.fd(), name, AtFlags::empty());
        }
    }
}

/// A file without a name, where the system and the file system have such.
#[cfg(target_os = "linux")]
fn create_unnamed(folder: &Folder) -> io::Result<Option<File>> {
    static PROC: OnceLock<bool> = OnceLock::new();
    if !*PROC.get_or_init(|| std::path::Path::new("/proc/self/fd").exists()) {
        return Ok(None);
    }
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(folder.fd(), ".", flags, Mode::from_raw_mode(0o666)) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(Errno::NOTSUP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn create_unnamed(_folder: &Folder) -> io::Result<Option<File>> {
    Ok(None)
}

fn with_free_name<T>(
    mut create: impl FnMut(&OsStr) -> Result<T, Errno>,
) -> io::Result<(OsString, T)> {
    for _ in 0..NAME_TRIES {
        let random = std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish();
        let name = OsString::from(format!(".harness-{random:016x}.tmp"));
        match create(&name) {
            Ok(made) => return Ok((name, made)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "no free name for a temporary file",
    ))
}
