//! The rules on files, TCP and signals: Landlock.
//!
//! Landlock only grants. So what is hidden is not granted: everything beside it is, from the root down to
//! the folder that it is in. A right to a folder is a right to all that is in it, now and later.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use crate::abilities::ABI_SCOPES;
use crate::error::Error;
use crate::policy::Policy;
use crate::profile::Profile;

/// How many entries of folders are granted one by one.
const MAX_ENTRIES: usize = 16_384;

/// The newest interface of which every right is known here.
const KNOWN: u8 = 6;

/// Where devices are. Only those below are granted: disks and terminals of the same user are not.
const DEVICES: &str = "/dev";

/// Devices that can harm nobody. `/dev/tty` is the terminal of the process itself, if it has one.
const HARMLESS_DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Shared memory, as the C library makes it.
const SHARED_MEMORY: &str = "/dev/shm";

/// Makes the rules of a policy, for a kernel with this version of Landlock.
pub(crate) fn create(policy: &Policy, abi: u8) -> Result<RulesetCreated, Error> {
    let version = ABI::from(i32::from(abi.min(KNOWN)));
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(version))
        .map_err(refused)?;
    if !policy.network() {
        rules = rules
            .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)
            .map_err(refused)?;
    }
    if abi >= ABI_SCOPES {
        let mut scope = BitFlags::from_flag(Scope::Signal);
        if !policy.unix_sockets() {
            scope |= Scope::AbstractUnixSocket;
        }
        rules = rules.scope(scope).map_err(refused)?;
    }
    let rules = rules.create().map_err(refused)?;
    let mut grants = Grants {
        rules: Some(rules),
        hidden: Hidden::new(policy)?,
        entries: 0,
    };
    grants.fill(policy, version)?;
    grants
        .rules
        .ok_or_else(|| refused(io::Error::other("no rules")))
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Rules(Box::new(error))
}

/// The hidden paths, as a tree of names from the root.
#[derive(Debug, Default)]
struct Hidden {
    below: BTreeMap<OsString, Hidden>,
    /// All of it is hidden.
    whole: bool,
}

impl Hidden {
    fn new(policy: &Policy) -> Result<Self, Error> {
        let mut root = Self::default();
        root.hide(Path::new(DEVICES));
        for path in policy.hidden() {
            if let Some(real) = real(path)? {
                root.hide(&real);
            }
        }
        Ok(root)
    }

    fn hide(&mut self, real: &Path) {
        let mut node = self;
        for name in names(real) {
            node = node.below.entry(name.to_owned()).or_default();
        }
        node.whole = true;
    }

    /// What is hidden at or below a path. `None` if nothing is, or if the path lies in something hidden: it
    /// was named because it is wanted.
    fn at(&self, real: &Path) -> Option<&Self> {
        let mut node = self;
        for name in names(real) {
            if node.whole {
                return None;
            }
            node = node.below.get(name)?;
        }
        Some(node)
    }
}

fn names(real: &Path) -> impl Iterator<Item = &OsStr> {
    real.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

/// A path without symlinks; `None` if nothing is there, or nothing that this user can reach.
fn real(path: &Path) -> Result<Option<PathBuf>, Error> {
    match std::fs::canonicalize(path) {
        Ok(real) => Ok(Some(real)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(Error::Path {
            path: path.to_owned(),
            source,
        }),
    }
}

/// The rules while they are made.
#[derive(Debug)]
struct Grants {
    /// Always there, but while one is added.
    rules: Option<RulesetCreated>,
    hidden: Hidden,
    entries: usize,
}

/// What is granted, for folders and for files.
#[derive(Clone, Copy, Debug)]
struct Rights {
    folder: BitFlags<AccessFs>,
    file: BitFlags<AccessFs>,
}

impl Grants {
    fn fill(&mut self, policy: &Policy, version: ABI) -> Result<(), Error> {
        let files = AccessFs::from_file(version);
        // Disks and terminals are nothing to make, or to give orders to.
        let change = AccessFs::from_all(version)
            & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        let read = Rights {
            folder: AccessFs::from_read(version),
            file: AccessFs::from_read(version) & files,
        };
        let write = Rights {
            folder: change,
            file: change & files,
        };
        let device = Rights {
            folder: BitFlags::EMPTY,
            file: (AccessFs::from_all(version) & files) & !BitFlags::from(AccessFs::Execute),
        };

        // Names may be seen everywhere: without it, `ls /` and `ls ~` would fail because of what is hidden
        // far below.
        let root = open(CWD, c"/").map_err(|source| path_error(Path::new("/"), source))?;
        self.add(root, AccessFs::ReadDir.into())?;
        self.grant(Path::new("/"), read)?;
        for path in HARMLESS_DEVICES {
            self.grant_named(Path::new(path), device)?;
        }
        for path in policy.readable() {
            self.grant_named(path, read)?;
        }
        for path in policy.writable() {
            self.grant_named(path, write)?;
        }
        if policy.profile() == Profile::WorkspaceWrite {
            self.grant_named(Path::new(SHARED_MEMORY), write)?;
        }
        Ok(())
    }

    fn grant_named(&mut self, path: &Path, rights: Rights) -> Result<(), Error> {
        match real(path)? {
            Some(real) => self.grant(&real, rights),
            None => Ok(()),
        }
    }

    /// Grants a real path, without what is hidden in it.
    fn grant(&mut self, real: &Path, rights: Rights) -> Result<(), Error> {
        let hidden = std::mem::take(&mut self.hidden);
        let granted = self.grant_beside(real, hidden.at(real), rights);
        self.hidden = hidden;
        granted
    }

    fn grant_beside(
        &mut self,
        real: &Path,
        hidden: Option<&Hidden>,
        rights: Rights,
    ) -> Result<(), Error> {
        let Some(hidden) = hidden else {
            return match open(CWD, real) {
                Ok(file) => self.add_file(file, None, rights),
                Err(error) if is_out_of_reach(error) => Ok(()),
                Err(error) => Err(path_error(real, error)),
            };
        };
        if hidden.whole {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, real, flags, Mode::empty()) {
            Ok(folder) => self.grant_entries(&folder, real, hidden, rights),
            Err(error) if is_out_of_reach(error) => Ok(()),
            Err(error) => Err(path_error(real, error)),
        }
    }

    /// Grants what is in a folder, entry by entry, without what is hidden. Symlinks need no grant: what they
    /// lead to is looked at where it is.
    fn grant_entries(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        hidden: &Hidden,
        rights: Rights,
    ) -> Result<(), Error> {
        let entries = Dir::read_from(folder).map_err(|error| path_error(path, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| path_error(path, error))?;
            let name = entry.file_name();
            if name == c"." || name == c".." || entry.file_type() == FileType::Symlink {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(Error::TooManyEntries {
                    limit: MAX_ENTRIES,
                    folder: path.to_owned(),
                });
            }
            let name_text = OsStr::from_bytes(name.to_bytes());
            if let Some(below) = hidden.below.get(name_text) {
                self.grant_beside(&path.join(name_text), Some(below), rights)?;
            } else {
                match open(folder, name) {
                    Ok(file) => self.add_file(file, Some(entry.file_type()), rights)?,
                    // It is gone by now.
                    Err(error) if is_out_of_reach(error) => {}
                    Err(error) => return Err(path_error(&path.join(name_text), error)),
                }
            }
        }
        Ok(())
    }

    /// Grants one file or folder, of this kind if it is known.
    fn add_file(
        &mut self,
        file: OwnedFd,
        kind: Option<FileType>,
        rights: Rights,
    ) -> Result<(), Error> {
        let kind = match kind {
            None | Some(FileType::Unknown) => {
                let found = rustix::fs::statat(&file, c"", AtFlags::EMPTY_PATH);
                let found = found.map_err(refused)?;
                FileType::from_raw_mode(found.st_mode)
            }
            Some(kind) => kind,
        };
        match kind {
            FileType::Symlink => Ok(()),
            FileType::Directory => self.add(file, rights.folder),
            _ => self.add(file, rights.file),
        }
    }

    fn add(&mut self, file: OwnedFd, rights: BitFlags<AccessFs>) -> Result<(), Error> {
        if rights.is_empty() {
            return Ok(());
        }
        if let Some(rules) = self.rules.take() {
            let added = rules.add_rule(PathBeneath::new(file, rights));
            self.rules = Some(added.map_err(refused)?);
        }
        Ok(())
    }
}

/// Opens something to name it, without following a symlink.
fn open<P: rustix::path::Arg>(
    folder: impl std::os::fd::AsFd,
    name: P,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// Whether something cannot be named because it is gone, or because this user may not. Then nothing is
/// granted, which is safe.
fn is_out_of_reach(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(
        error,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM
    )
}

fn path_error(path: &Path, error: rustix::io::Errno) -> Error {
    Error::Path {
        path: path.to_owned(),
        source: error.into(),
    }
}
