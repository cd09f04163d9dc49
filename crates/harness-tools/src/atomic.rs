//! Replacing a file in one step: readers see the old content or the new, never a part.
//!
//! The new content is written to a file without a name where the system has such (`O_TMPFILE`), so
//! that a process killed while writing leaves nothing behind; elsewhere to a hidden file beside the
//! target. It reaches the disk before it takes the target's name.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchown, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::folder::Folder;

/// How often a name for a temporary file is tried.
const NAME_TRIES: usize = 16;

/// How much is written at once.
const BUFFER_BYTES: usize = 256 * 1024;

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
        // Nobody may look into it before it has the mode of the file that it replaces.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let new = Self::create(folder, mode)?;
        // Many edits are many small pieces.
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, &new.file);
        for piece in content {
            writer.write_all(piece)?;
        }
        writer.flush()?;
        drop(writer);
        if let Some(old) = old {
            let mode = keep_owner(&new.file, old)?;
            new.file.set_permissions(Permissions::from_mode(mode))?;
        }
        new.file.sync_all()?;
        Ok(new)
    }

    fn create(folder: &'a Folder, mode: Mode) -> io::Result<Self> {
        if let Some(file) = create_unnamed(folder, mode)? {
            return Ok(Self {
                folder,
                file,
                name: None,
            });
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let (name, file) =
            with_free_name(|name| openat(folder.fd(), name, flags, mode).map(File::from))?;
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

/// Gives a file the owner and the group of the one that it replaces, as far as the system allows, and
/// tells the mode that it then may have. Only root may give files away, but everybody may give them to
/// a group of their own. What the old group might do, another one may not; and no program runs as
/// somebody whom nobody meant.
fn keep_owner(new: &File, old: &Metadata) -> io::Result<u32> {
    let now = new.metadata()?;
    let (owner, group) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
    if (now.uid(), now.gid()) != (old.uid(), old.gid())
        && fchown(new, Some(owner), Some(group)).is_err()
    {
        let _ = fchown(new, None, Some(group));
    }
    let now = new.metadata()?;
    Ok(fitting_mode(
        old.mode(),
        now.uid() == old.uid(),
        now.gid() == old.gid(),
    ))
}

/// The mode of a file that replaces one with `mode`, and may have lost its owner or its group.
fn fitting_mode(mode: u32, same_owner: bool, same_group: bool) -> u32 {
    let mut mode = mode & 0o7777;
    if !same_owner {
        mode &= !0o4000;
    }
    if !same_group {
        let others = mode & 0o007;
        mode &= !0o2070 | (others << 3);
    }
    mode
}

/// A file without a name, where the system and the file system have such.
#[cfg(target_os = "linux")]
fn create_unnamed(folder: &Folder, mode: Mode) -> io::Result<Option<File>> {
    static PROC: OnceLock<bool> = OnceLock::new();
    if !*PROC.get_or_init(|| std::path::Path::new("/proc/self/fd").exists()) {
        return Ok(None);
    }
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(folder.fd(), ".", flags, mode) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(Errno::NOTSUP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn create_unnamed(_folder: &Folder, _mode: Mode) -> io::Result<Option<File>> {
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

#[cfg(test)]
mod tests {
    use super::fitting_mode;

    #[test]
    fn a_lost_owner_or_group_passes_no_right_on() {
        for (mode, same_owner, same_group, expected) in [
            (0o100_644, true, true, 0o644),
            (0o106_755, true, true, 0o6755),
            (0o106_755, false, true, 0o2755),
            (0o106_755, false, false, 0o755),
            (0o102_770, true, false, 0o700),
            (0o660, true, false, 0o600),
            (0o664, true, false, 0o644),
            (0o606, true, false, 0o606),
        ] {
            let fitting = fitting_mode(mode, same_owner, same_group);
            assert_eq!(fitting, expected, "{mode:o}");
        }
    }
}
