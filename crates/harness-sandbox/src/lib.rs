//! Confines one child process on Linux, with all that it starts: which files it can write and read, and
//! what it can reach.
//!
//! # What it is for
//!
//! An agent runs commands that a model wrote. Rules on command lines can be got round; the kernel cannot.
//! So the host says what a command needs, and the kernel refuses the rest, to it and to every
//! process that comes of it, however it detaches itself.
//!
//! # The main type
//!
//! A [`Policy`] is a [`Profile`] and what is granted beyond it. It is prepared in the parent, where files are
//! looked at and memory is allocated, and entered in the child, by a few system calls between fork and
//! exec:
//!
//! ```
//! use std::process::Command;
//!
//! use harness_sandbox::{Abilities, HOME_SECRETS, Policy, Profile};
//!
//! let home = std::path::Path::new("/home/someone");
//! let mut policy = Policy::new(Profile::WorkspaceWrite).with_writable("/srv/project");
//! for secret in HOME_SECRETS {
//!     policy = policy.with_hidden(home.join(secret));
//! }
//!
//! let abilities = Abilities::of_this_machine();
//! for missing in abilities.missing(&policy) {
//!     // A host says this to its user, once.
//!     assert!(!missing.to_string().is_empty());
//! }
//! if let Ok(prepared) = policy.prepare(abilities) {
//!     let mut command = Command::new("/bin/sh");
//!     command.args(["-c", "exit 3"]);
//!     prepared.confine(&mut command);
//!     assert_eq!(command.status()?.code(), Some(3));
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What it promises
//!
//! - **Files** (Landlock, Linux 5.13): nothing outside the writable paths is written, made, removed, renamed
//!   or truncated, through whatever symlink; nothing hidden is read. Devices are not to be
//!   opened, but for `/dev/null` and its kind.
//! - **The network** (seccomp, and Landlock from Linux 6.7): unless it is allowed, no socket can be opened,
//!   of whatever protocol.
//! - **Other processes**: they cannot be traced, and their memory, environment and open files cannot be read.
//!   From Linux 6.12 on they get no signals.
//! - **Its walls**: no mounts, namespaces, `io_uring`, kernel modules, keys, or rights by `setuid`.
//! - **Never half on in silence.** What cannot be enforced is an error of [`Policy::prepare`], or of
//!   `spawn`; then nothing runs. The one thing that older kernels lack and that is no error, signals, is
//!   told by [`Abilities::missing`].
//!
//! # The decision behind it, and its price
//!
//! Landlock and seccomp need no privileges, no helper program, no namespaces (which many distributions
//! forbid) and no copy of the file system; a command starts a few milliseconds later. The price:
//!
//! - Landlock only grants, and a right to a folder is a right to all that is in it. So a file **inside** a
//!   writable folder cannot be kept from being written while its neighbours can be made: `.git/hooks`, or the
//!   configuration of a tool in the workspace, is not protected here. That is for rules on the tools' calls,
//!   and for the host not to run what it finds there.
//! - For the same reason what is hidden is left out by granting all that lies beside it; see
//!   [`Policy::with_hidden`] for what that means. Names, sizes and times of files are always seen.
//! - No loopback without the network: seccomp sees no addresses. Tests that open a local port need
//!   [`Policy::with_network`].
//! - No local sockets, even with the network: see [`Policy::with_unix_sockets`].
//! - No debuggers (`ptrace`), no pseudo-terminals (`/dev/pts` holds the user's own terminals as well), no
//!   browsers with a sandbox of their own, no programs for other processors' system calls (32-bit programs
//!   are killed).
//! - A command of root keeps what root may do with files, users and processes, and loses what it may do with
//!   the machine. Still, root has more ways than these walls were made for.
//! - Landlock does not know of modes, owners, times and extended attributes: those of files outside can be
//!   changed (`chmod`), as far as the user may.
//!
//! On other systems than Linux, and other processors than x86-64 and 64-bit ARM, it compiles, and every policy
//! but [`Profile::Off`] is an error.

mod abilities;
mod error;
#[cfg(target_os = "linux")]
mod filter;
mod home_secrets;
mod policy;
#[cfg(target_os = "linux")]
mod powers;
mod prepared;
mod profile;
#[cfg(target_os = "linux")]
mod rules;

pub use abilities::{Abilities, Missing};
pub use error::Error;
pub use home_secrets::HOME_SECRETS;
pub use policy::Policy;
pub use prepared::Prepared;
pub use profile::Profile;
