//! The files of this machine.
//!
//! A small file is read sooner than a thread is woken for it. That is only done where a look at a file
//! cannot hang: on the file system of the workspace's root, if that is one of this machine's own. A
//! network file system whose server is gone holds a thread for minutes; it gets a thread for that.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::{WalkBuilder, WalkState};

use crate::atomic::NewFile;
use crate::files::{
    Entry, FileInfo, FileKind, Files, Next, OpenFile, ReplaceError, Replacement, Resolved, Walk,
    WalkEnd, WalkEntry,
};
use crate::folder::{self, Folder, MadeFolders};
use crate::place;

/// As many threads as pay for reading folders.
const MAX_THREADS: usize = 8;

/// The largest file that is read at once.
const QUICK_BYTES: u64 = 16 * 1024;

/// The types of `statfs(2)` that live on this machine: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs,
/// overlayfs, tmpfs.
#[cfg(target_os = "linux")]
const LOCAL_TYPES: &[u64] = &[
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0xca45_1a4e,
    0x794c_7630,
    0x0102_1994,
];

/// The files of this machine, reached without following a link that was not there when the path was
/// resolved.
#[derive(Debug, Default)]
pub struct LocalFiles {
    /// The root that was asked for first, and its device, if it is a local disk.
    root: OnceLock<(PathBuf, Option<u64>)>,
}

impl LocalFiles {
    /// The files of this machine.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Files for LocalFiles {
    fn resolve(&self, path: &Path) -> io::Result<Resolved> {
        // Most paths have no symlink in them, which the kernel can tell in one step.
        if let Some(handle) = folder::handle_without_links(path) {
            let info = FileInfo::of(&handle.metadata()?);
            return Ok(Resolved {
                real: folder::without_dots(path),
                info: Some(info),
            });
        }
        let look = |path: &Path| std::fs::symlink_metadata(path).map(|found| FileInfo::of(&found));
        place::follow(path, look, |path| std::fs::read_link(path))
    }

    fn open(&self, real: &Path) -> io::Result<OpenFile> {
        let file = folder::open_file(real)?;
        Ok(OpenFile {
            info: FileInfo::of(&file.metadata()?),
            content: Box::new(file),
        })
    }

    fn replace(&self, replacement: &Replacement<'_>) -> Result<FileInfo, ReplaceError> {
        let real = replacement.real;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        };
        let (folder, made) = match replacement.expected {
            Some(_) => (Folder::open(parent)?, MadeFolders::default()),
            None => Folder::open_or_create(parent)?,
        };
        let expected = |folder: &Folder| {
            let now = folder.metadata(name)?;
            if now.as_ref().map(|now| FileInfo::of(now).version) == replacement.expected {
                Ok(now)
            } else {
                Err(ReplaceError::Changed)
            }
        };
        let old = expected(&folder)?;
        if old.is_some() {
            // Renaming over a file asks only the folder for permission. A file made read-only was
            // meant to stay.
            folder.check_writable(name)?;
        }
        let new = NewFile::write(&folder, replacement.content, old.as_ref())?;
        if replacement.stop.is_stopped() {
            return Err(ReplaceError::Stopped);
        }
        // From the last look to the last step, so that no other process of ours comes in between: one
        // that waited finds another file under the name.
        let held = old.as_ref().and_then(|_| folder.hold(name));
        expected(&folder)?;
        let published = new.publish(name, old.is_some());
        drop(held);
        match published {
            Ok(metadata) => {
                made.keep();
                Ok(FileInfo::of(&metadata))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(ReplaceError::Changed)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn list(&self, real: &Path, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) -> io::Result<()> {
        folder::list(real, visit)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::read_link(path)
    }

    fn walk(&self, walk: &Walk<'_>, visitor: &(dyn Fn(&WalkEntry<'_>) -> Next + Sync)) -> WalkEnd {
        let visits = Visits {
            walk,
            visitor,
            visited: AtomicUsize::new(0),
            bounded: AtomicBool::new(false),
            unread: AtomicUsize::new(0),
        };
        let mut builder = builder(walk);
        if walk.sorted {
            builder.sort_by_file_name(OsStr::cmp);
            // This walk has no way to leave a folder out, so what is in it is passed over.
            let mut skipped: Option<PathBuf> = None;
            for entry in builder.build() {
                let path = entry.as_ref().map(ignore::DirEntry::path).ok();
                if let (Some(skipped), Some(path)) = (&skipped, path)
                    && path.starts_with(skipped)
                {
                    continue;
                }
                let path = path.map(Path::to_owned);
                match visits.visit(entry) {
                    Next::Continue => {}
                    Next::Skip => skipped = path,
                    Next::Stop => break,
                }
            }
        } else {
            let walker = builder.threads(threads()).build_parallel();
            walker.run(|| {
                Box::new(|entry| match visits.visit(entry) {
                    Next::Continue => WalkState::Continue,
                    Next::Skip => WalkState::Skip,
                    Next::Stop => WalkState::Quit,
                })
            });
        }
        WalkEnd {
            visited: visits.visited.into_inner().min(walk.max_entries),
            bounded: visits.bounded.into_inner(),
            unread: visits.unread.into_inner(),
        }
    }

    fn is_quick(&self, root: &Path, info: &FileInfo) -> bool {
        if info.kind != FileKind::File || info.size > QUICK_BYTES {
            return false;
        }
        let (known, device) = self
            .root
            .get_or_init(|| (root.to_owned(), local_device(root)));
        let device = if known == root {
            *device
        } else {
            local_device(root)
        };
        device == Some(info.version.device())
    }
}

/// A walk on its way.
struct Visits<'a> {
    walk: &'a Walk<'a>,
    visitor: &'a (dyn Fn(&WalkEntry<'_>) -> Next + Sync),
    visited: AtomicUsize,
    bounded: AtomicBool,
    unread: AtomicUsize,
}

impl Visits<'_> {
    fn visit(&self, entry: Result<ignore::DirEntry, ignore::Error>) -> Next {
        if self.walk.stop.is_stopped() {
            return Next::Stop;
        }
        let Ok(entry) = entry else {
            self.unread.fetch_add(1, Ordering::Relaxed);
            return Next::Continue;
        };
        let Some(kind) = entry.file_type().filter(|_| entry.depth() > 0) else {
            return Next::Continue;
        };
        if self.visited.fetch_add(1, Ordering::Relaxed) >= self.walk.max_entries {
            self.bounded.store(true, Ordering::Relaxed);
            return Next::Stop;
        }
        let kind = FileKind::of(kind);
        let next = (self.visitor)(&WalkEntry {
            path: entry.path(),
            kind,
        });
        match next {
            // There is nothing to skip in a file, and a walk in order would skip its neighbours.
            Next::Skip if kind != FileKind::Folder => Next::Continue,
            next => next,
        }
    }
}

fn builder(walk: &Walk<'_>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(walk.folder);
    builder
        .hidden(false)
        .parents(walk.ignore_files)
        .ignore(walk.ignore_files)
        .git_ignore(walk.ignore_files)
        .git_exclude(walk.ignore_files)
        // The user's own settings are in the environment, and files of a project are not.
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .current_dir(walk.folder)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    builder
}

fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        cores.min(MAX_THREADS)
    })
}

/// The device of a folder, if it is a local disk.
#[cfg(target_os = "linux")]
fn local_device(root: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let root = File::from(
        rustix::fs::open(
            root,
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )
        .ok()?,
    );
    let found = rustix::fs::fstatfs(&root).ok()?;
    let kind = u64::try_from(found.f_type).ok()?;
    if !LOCAL_TYPES.contains(&kind) {
        return None;
    }
    root.metadata().ok().map(|root| root.dev())
}

#[cfg(not(target_os = "linux"))]
fn local_device(_: &Path) -> Option<u64> {
    None
}
