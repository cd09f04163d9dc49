//! What a command may do.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::abilities::{Abilities, Missing};
use crate::error::Error;
use crate::prepared::Prepared;
use crate::profile::Profile;

/// What a command may do. Without more than a profile it may write nothing, read everything but devices,
/// and reach nothing.
///
/// Paths are resolved when the policy is prepared; one where nothing is then counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    profile: Profile,
    writable: Vec<PathBuf>,
    scratch: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    network: bool,
    unix_sockets: bool,
}

impl Policy {
    /// A policy with this profile, and nothing granted beyond it.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            writable: Vec::new(),
            scratch: Vec::new(),
            readable: Vec::new(),
            hidden: Vec::new(),
            network: false,
            unix_sockets: false,
        }
    }

    /// A folder with all that is in it, or a file, that may be read and written under
    /// [`Profile::WorkspaceWrite`].
    pub fn with_writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// The same, also under [`Profile::ReadOnly`]: a folder for temporary files that nobody misses.
    pub fn with_scratch(mut self, path: impl Into<PathBuf>) -> Self {
        self.scratch.push(path.into());
        self
    }

    /// A folder or file within a hidden one that may be read nevertheless.
    pub fn with_readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// A folder with all that is in it, or a file, whose content can be neither read nor written.
    ///
    /// Names and sizes of files are still seen. What else is in the folders above it is granted entry by
    /// entry, as it is when the policy is prepared; something that is made there later, by whomever,
    /// cannot be read by this command. If a writable folder holds something hidden, nothing new can be made
    /// in the folders on the way to it. A writable or readable path inside a hidden one is granted.
    pub fn with_hidden(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.push(path.into());
        self
    }

    /// Whether TCP, UDP and the rest of the internet's protocols can be used, loopback too. Off at first.
    pub fn with_network(mut self, network: bool) -> Self {
        self.network = network;
        self
    }

    /// Whether sockets of the local machine can be opened. Off at first, and to be turned on with care: behind
    /// them are services that are not confined, and do what they are asked (Docker, D-Bus and systemd,
    /// the agents of SSH and GPG). Pairs of connected sockets (`socketpair`) can always be made.
    pub fn with_unix_sockets(mut self, unix_sockets: bool) -> Self {
        self.unix_sockets = unix_sockets;
        self
    }

    /// Its profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Whether it confines at all.
    pub fn is_on(&self) -> bool {
        self.profile != Profile::Off
    }

    /// Whether the network can be used.
    pub fn network(&self) -> bool {
        self.network || !self.is_on()
    }

    /// Whether sockets of the local machine can be opened.
    pub fn unix_sockets(&self) -> bool {
        self.unix_sockets || !self.is_on()
    }

    /// What may be written under this profile, as it was given.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        let writable = match self.profile {
            Profile::WorkspaceWrite => self.writable.as_slice(),
            Profile::ReadOnly | Profile::Off => &[],
        };
        writable.iter().chain(&self.scratch).map(PathBuf::as_path)
    }

    /// What is hidden, as it was given.
    pub fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// What may be read although it is hidden, as it was given.
    pub fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Makes what a child process needs to enter the sandbox. Looks at the files that are there now, so it
    /// is made for each command, shortly before it is started.
    ///
    /// [`Error::Unavailable`] if the machine cannot enforce it; other errors if a path or a rule of it
    /// makes no sense. It never gives something that enforces less than was asked for, except what
    /// [`Abilities::missing`] tells and [`Missing::is_required`] calls not required.
    pub fn prepare(&self, abilities: &Abilities) -> Result<Prepared, Error> {
        let missing: Vec<String> = abilities
            .missing(self)
            .iter()
            .filter(|missing| missing.is_required())
            .map(Missing::to_string)
            .collect();
        if !missing.is_empty() {
            return Err(Error::Unavailable(missing.join("; ")));
        }
        Prepared::new(self, abilities)
    }
}

/// What it allows, in words: `files can be written only in /srv/project, and there is no network`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_on() {
            return f.write_str("nothing is confined");
        }
        let mut writable: Vec<String> = Vec::new();
        for path in self.writable().map(|it| it.display().to_string()) {
            if !writable.contains(&path) {
                writable.push(path);
            }
        }
        match writable.as_slice() {
            [] => f.write_str("no files can be written")?,
            [one] => write!(f, "files can be written only in {one}")?,
            [most @ .., last] => {
                write!(
                    f,
                    "files can be written only in {} and {last}",
                    most.join(", ")
                )?;
            }
        }
        if !self.hidden.is_empty() {
            f.write_str(", some with credentials cannot be read")?;
            let is_on_the_way = |folder: &Path| self.hidden.iter().any(|it| it.starts_with(folder));
            if self.writable().any(is_on_the_way) {
                f.write_str(", nothing new can be made in the folders above those")?;
            }
        }
        f.write_str(match (self.network, self.unix_sockets) {
            (false, false) => ", and there is no network and no socket",
            (false, true) => ", and there is no network",
            (true, false) => ", and there are no local sockets",
            (true, true) => ", and the network is open",
        })
    }
}
