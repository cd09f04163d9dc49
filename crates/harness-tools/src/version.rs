//! Which state of a file was seen.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

/// What tells one state of a file from another without reading it. As fine as the file system's
/// clock: two changes of the same size within one tick (4 ms on Linux) look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileVersion {
    /// The state that these facts describe.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// A state as another source of files numbers it: `file` tells files apart, `stamp` is another
    /// one after each change of the content.
    pub fn numbered(file: u64, size: u64, stamp: i64) -> Self {
        Self {
            device: 0,
            inode: file,
            size,
            modified: (stamp, 0),
            changed: (stamp, 0),
        }
    }

    /// Whether the content is the same, as far as can be told; a change of mode, owner or link count
    /// is none.
    pub fn same_content(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size, self.modified)
            == (other.device, other.inode, other.size, other.modified)
    }

    /// A number for this state, or for there being no file.
    pub(crate) fn digest(version: Option<Self>) -> u64 {
        let mut hasher = DefaultHasher::new();
        version.hash(&mut hasher);
        hasher.finish()
    }

    /// The device that the file is on.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }
}
