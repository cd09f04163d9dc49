//! A `SKILL.md` on disk, opened without harm.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};

use crate::finding::Finding;
use crate::limits::Limits;
use crate::rule;
use crate::stamp::Stamp;

/// The most that is read of a file that is too large, to say more of it than that.
const HEAD: u64 = 64 * 1024;

/// The bytes of a file, and the state that it was in.
pub(crate) struct SkillFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
}

/// Why a file cannot be used.
pub(crate) enum Refusal {
    /// Nothing is there any more.
    Gone,
    /// What is there, in words; with its state, if it has one.
    Bad(Box<Finding>, Option<Stamp>),
}

impl SkillFile {
    /// Reads a regular file of bounded size; no other kind is opened for longer than it takes to see
    /// what it is, and none is waited for. With a `boundary`, it has to be in that folder, wherever links
    /// lead.
    pub(crate) fn read(
        path: &Path,
        boundary: Option<&Path>,
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        let file = match boundary {
            None => open(path),
            Some(boundary) => {
                let real = path.canonicalize().map_err(|error| refused(&error))?;
                if !real.starts_with(boundary) {
                    return Err(Refusal::Bad(outside(&real, boundary).into(), None));
                }
                open_within(&real, boundary)
            }
        };
        let file = file.map_err(|error| refused(&error))?;
        let metadata = file.metadata().map_err(|error| refused(&error))?;
        let stamp = Stamp::of(&metadata);
        if !metadata.is_file() {
            let finding = Finding::new(&rule::NOT_REGULAR, "it is not a regular file");
            return Err(Refusal::Bad(finding.into(), Some(stamp)));
        }
        if stamp.size > limits.file_bytes {
            let finding = too_large(file, stamp.size, limits);
            return Err(Refusal::Bad(finding.into(), Some(stamp)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default() + 1);
        // What the system calls empty may have text all the same, and any file may grow.
        let read = file.take(limits.file_bytes + 1).read_to_end(&mut bytes);
        if let Err(error) = read {
            let finding = Finding::new(&rule::UNREADABLE, error.to_string());
            return Err(Refusal::Bad(finding.into(), Some(stamp)));
        }
        if bytes.len() as u64 > limits.file_bytes {
            let finding = size(bytes.len() as u64, limits);
            return Err(Refusal::Bad(finding.into(), Some(stamp)));
        }
        Ok(Self { bytes, stamp })
    }
}

/// What is opened does not wait: a pipe without a writer would hold everything up.
const NO_WAIT: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(NO_WAIT.bits().cast_signed())
        .open(path)
}

/// Opens a file below a folder for reading, by paths without links: what has become one since then is an error,
/// so that what is opened is what was looked at.
pub(crate) fn open_within(real: &Path, folder: &Path) -> io::Result<File> {
    const SAFE: OFlags = NO_WAIT.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
    let below = real.strip_prefix(folder).map_err(io::Error::other)?;
    let Some(name) = below.file_name() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let mut at: OwnedFd = File::open(folder)?.into();
    for part in below.parent().unwrap_or(Path::new("")) {
        at = openat(&at, part, SAFE.union(OFlags::DIRECTORY), Mode::empty())?;
    }
    Ok(openat(&at, name, SAFE, Mode::empty())?.into())
}

fn outside(real: &Path, boundary: &Path) -> Finding {
    let (real, boundary) = (real.display(), boundary.display());
    let message = format!("it leads to {real}, out of {boundary}: it is not read");
    Finding::new(&rule::LINK_REFUSED, message).fatal()
}

fn refused(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refusal::Gone,
        // A socket, and a device that is not there.
        _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            let finding = Finding::new(&rule::NOT_REGULAR, "it is not a regular file");
            Refusal::Bad(finding.into(), None)
        }
        _ => {
            let finding = Finding::new(&rule::UNREADABLE, error.to_string());
            Refusal::Bad(finding.into(), None)
        }
    }
}

/// What is wrong with a file that is too large: often it is that its frontmatter does not end.
fn too_large(file: File, bytes: u64, limits: &Limits) -> Finding {
    let mut head = Vec::new();
    if file.take(HEAD).read_to_end(&mut head).is_ok() {
        let mut lines = head
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii_end);
        let opens = lines.next() == Some(b"---");
        if opens && !lines.any(|line| line == b"---") && !head.contains(&0) {
            let message = format!(
                "the frontmatter is not closed by a line `---`, not in the first {HEAD} of {bytes} bytes"
            );
            return Finding::new(&rule::UNCLOSED, message);
        }
    }
    size(bytes, limits)
}

fn size(bytes: u64, limits: &Limits) -> Finding {
    let message = format!(
        "the file has {bytes} bytes; the most is {}",
        limits.file_bytes
    );
    Finding::new(&rule::FILE_SIZE, message)
        .with_hint("move parts into files of their own, to be read when they are needed")
}
