//! Which files can be looked at without a long wait.
//!
//! A small file is read sooner than a thread is woken for it. That is only done where a look at a file
//! cannot hang: on the file system of the workspace's root, if that is one of this machine's own. A
//! network file system whose server is gone holds a thread for minutes; it gets a thread for that.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::workspace::Workspace;

/// The largest file that is read at once.
const MAX_BYTES: u64 = 16 * 1024;

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

/// The device of the root that was asked for first, found once.
#[derive(Debug, Default)]
pub(crate) struct LocalDisk(OnceLock<(PathBuf, Option<u64>)>);

impl LocalDisk {
    /// The device of `root`, if it is a local disk.
    fn device(&self, root: &Path) -> Option<u64> {
        let (known, device) = self.0.get_or_init(|| (root.to_owned(), local_device(root)));
        if known == root {
            *device
        } else {
            local_device(root)
        }
    }
}

impl Workspace {
    /// Whether the file is small, and on the local disk that the root is on.
    pub(crate) fn is_quick_to_read(&self, path: &str) -> bool {
        use std::os::unix::fs::MetadataExt;
        let Some(device) = self.local_disk().device(self.root()) else {
            return false;
        };
        self.to_read(path).is_ok_and(|place| {
            place.metadata.is_some_and(|found| {
                found.is_file() && found.len() <= MAX_BYTES && found.dev() == device
            })
        })
    }
}

#[cfg(target_os = "linux")]
fn local_device(root: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let found = rustix::fs::statfs(root).ok()?;
    let kind = u64::try_from(found.f_type).ok()?;
    if !LOCAL_TYPES.contains(&kind) {
        return None;
    }
    std::fs::metadata(root).ok().map(|root| root.dev())
}

#[cfg(not(target_os = "linux"))]
fn local_device(_: &Path) -> Option<u64> {
    None
}
