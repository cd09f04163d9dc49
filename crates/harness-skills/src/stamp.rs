//! In which state a file or a folder was.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What changed less than this before it was looked at may change again without a trace: clocks of file
/// systems tick slowly.
const SETTLED: Duration = Duration::from_millis(50);

/// The state of a file or a folder. Any change of it shows, but one right after it was [taken](Self::of).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) id: FileId,
    pub(crate) size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What makes a file the same under any path: its device, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            id: FileId {
                device: metadata.dev(),
                inode: metadata.ino(),
            },
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether it was old enough at `now` for every later change to show. The time of modification is
    /// whatever somebody sets it to; that of the change is the system's.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let Ok(seconds) = u64::try_from(seconds) else {
            return true;
        };
        let nanoseconds = u32::try_from(nanoseconds).unwrap_or_default();
        let changed = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
        // A time to come is as unsettled as one just gone.
        changed
            .and_then(|changed| now.duration_since(changed).ok())
            .is_some_and(|age| age >= SETTLED)
    }
}
