//! What the kernel can do, and what it lacks for a policy.

use std::fmt;
use std::sync::OnceLock;

use crate::policy::Policy;
use crate::profile::Profile;

/// The first Landlock ABI that can keep signals and abstract sockets inside (Linux 6.12).
pub(crate) const ABI_SCOPES: u8 = 6;

/// The first Landlock ABI that knows about truncating files (Linux 6.2). Before, the filter of system
/// calls refuses what would truncate a file without opening it for writing.
#[cfg(target_os = "linux")]
pub(crate) const ABI_TRUNCATE: u8 = 3;

/// What the machine can confine a process with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    pub(crate) landlock: Result<u8, String>,
    pub(crate) seccomp: Result<(), String>,
}

impl Abilities {
    /// Asks the kernel. A few system calls, without any effect.
    pub fn probe() -> Self {
        Self {
            landlock: landlock_abi(),
            seccomp: seccomp(),
        }
    }

    /// The same, asked once in a process.
    pub fn of_this_machine() -> &'static Self {
        static ONCE: OnceLock<Abilities> = OnceLock::new();
        ONCE.get_or_init(Self::probe)
    }

    /// The version of Landlock's interface, from 1; `None` if there is no Landlock. The versions are
    /// those of <https://docs.kernel.org/userspace-api/landlock.html#previous-limitations>.
    pub fn landlock_abi(&self) -> Option<u8> {
        self.landlock.as_ref().ok().copied()
    }

    /// Whether system calls can be filtered.
    pub fn has_seccomp(&self) -> bool {
        self.seccomp.is_ok()
    }

    /// What the machine lacks for a policy. Empty if the policy can be enforced as it is written, and for
    /// [`Profile::Off`].
    pub fn missing(&self, policy: &Policy) -> Vec<Missing> {
        let mut missing = Vec::new();
        if policy.profile() == Profile::Off {
            return missing;
        }
        match &self.landlock {
            Err(why) => missing.push(Missing::Landlock(why.clone())),
            Ok(abi) if *abi < ABI_SCOPES => missing.push(Missing::Scopes(*abi)),
            Ok(_) => {}
        }
        if let Err(why) = &self.seccomp {
            missing.push(Missing::Seccomp(why.clone()));
        }
        missing
    }
}

/// Something that a machine lacks. Shown, it is a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// Rules on files: there is no Landlock, for this reason.
    Landlock(String),
    /// The filter of system calls: there is no seccomp, for this reason.
    Seccomp(String),
    /// Landlock is there in this version, and cannot keep signals inside.
    Scopes(u8),
}

impl Missing {
    /// Whether [`Policy::prepare`] refuses to go on without it.
    pub fn is_required(&self) -> bool {
        !matches!(self, Self::Scopes(_))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock(why) => write!(f, "files cannot be protected: {why}"),
            Self::Seccomp(why) => write!(f, "system calls cannot be filtered: {why}"),
            Self::Scopes(abi) => write!(
                f,
                "commands can send signals to other processes of the user: Landlock has version {abi} here, \
                 and keeps signals inside from version {ABI_SCOPES} (Linux 6.12)"
            ),
        }
    }
}

#[cfg(target_os = "linux")]
fn landlock_abi() -> Result<u8, String> {
    use landlock::{ABI, LandlockStatus, RestrictSelf};
    // Asked for nothing, it restricts nothing: it only tells what is there.
    let status = RestrictSelf::default().no_new_privs(false).apply();
    match status.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) if effective_abi >= ABI::V1 => {
            Ok(effective_abi as u8)
        }
        Ok(LandlockStatus::NotEnabled) => Err(
            "Landlock is part of the kernel and was turned off when it started (`lsm=`)".to_owned(),
        ),
        Ok(_) => Err("the kernel has no Landlock (Linux 5.13 and newer can have it)".to_owned()),
        Err(error) => Err(format!("the kernel does not tell about Landlock: {error}")),
    }
}

#[cfg(target_os = "linux")]
fn seccomp() -> Result<(), String> {
    if crate::filter::ARCH.is_none() {
        return Err(format!(
            "there is no filter for {} yet",
            std::env::consts::ARCH
        ));
    }
    if rustix::thread::secure_computing_mode().is_err() {
        return Err("the kernel has no seccomp".to_owned());
    }
    // Without `/proc` it is found out when the filter is installed; then nothing is started.
    match std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail") {
        Ok(actions) if !actions.split_whitespace().any(|action| action == "errno") => {
            Err("the kernel's seccomp cannot refuse single system calls".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn landlock_abi() -> Result<u8, String> {
    Err(format!(
        "the sandbox needs Linux, and this is {}",
        std::env::consts::OS
    ))
}

#[cfg(not(target_os = "linux"))]
fn seccomp() -> Result<(), String> {
    landlock_abi().map(|_| ())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    fn lacking(landlock: Result<u8, &str>, seccomp: Result<(), &str>) -> Abilities {
        Abilities {
            landlock: landlock.map_err(str::to_owned),
            seccomp: seccomp.map_err(str::to_owned),
        }
    }

    #[test]
    fn what_is_missing_is_an_error_and_told() {
        let policy = Policy::new(Profile::WorkspaceWrite);
        for (abilities, told, refused) in [
            (lacking(Ok(6), Ok(())), vec![], false),
            (lacking(Ok(5), Ok(())), vec!["signals"], false),
            (lacking(Err("x"), Ok(())), vec!["files cannot"], true),
            (lacking(Ok(7), Err("y")), vec!["system calls"], true),
            (lacking(Err("x"), Err("y")), vec!["files", "calls"], true),
            (lacking(Ok(1), Err("y")), vec!["signals", "calls"], true),
        ] {
            let missing = abilities.missing(&policy);
            assert_eq!(missing.len(), told.len(), "{missing:?}");
            for (missing, told) in missing.iter().zip(told) {
                assert!(missing.to_string().contains(told), "{missing}");
            }
            assert_eq!(
                missing.iter().any(Missing::is_required),
                refused,
                "{missing:?}"
            );
            if refused {
                let error = policy.prepare(&abilities).map(drop).expect_err("refused");
                assert!(
                    error.to_string().contains("cannot be used here: "),
                    "{error}"
                );
            }
            assert!(abilities.missing(&Policy::new(Profile::Off)).is_empty());
        }
    }

    /// Landlock knows of no truncating in its first two versions; the filter then does.
    #[test]
    fn an_old_kernel_truncates_nothing_outside() {
        let here = Abilities::probe();
        let has_python = || {
            let python = Command::new("python3").arg("-V").output();
            python.is_ok_and(|output| output.status.success())
        };
        if here.landlock.is_err() || here.seccomp.is_err() || !has_python() {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "text").expect("written");
        for version in [1, 2, 3] {
            let abilities = lacking(Ok(version), Ok(()));
            for line in [
                "os.truncate(\"file\", 0)",
                "os.open(\"file\", os.O_RDONLY | os.O_TRUNC)",
                "os.open(\"file\", 3 | os.O_TRUNC)",
                "os.open(\"file\", os.O_WRONLY | os.O_TRUNC)",
            ] {
                let mut command = Command::new("python3");
                command.args(["-c", &format!("import os; {line}")]);
                command.current_dir(folder.path());
                let policy = Policy::new(Profile::ReadOnly);
                let prepared = policy.prepare(&abilities).expect("prepared");
                prepared.confine(&mut command);
                let output = command.output().expect("started");
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(said.contains("PermissionError"), "{version} {line}: {said}");
                assert_eq!(std::fs::read(&file).expect("read"), b"text", "{line}");
            }
        }
    }
}
