//! A sandbox that is ready to be entered.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::abilities::Abilities;
use crate::error::Error;
use crate::policy::Policy;

/// A sandbox that is ready to be entered by a child process.
#[derive(Debug)]
pub struct Prepared {
    /// `None` for a policy that confines nothing.
    #[cfg(target_os = "linux")]
    walls: Option<Walls>,
}

#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Walls {
    /// Taken by the process that enters.
    rules: Option<landlock::RulesetCreated>,
    filter: seccompiler::BpfProgram,
    /// What is left to a command of root, if that is less than it had.
    powers: Option<rustix::thread::CapabilitySets>,
}

impl Prepared {
    #[cfg(target_os = "linux")]
    pub(crate) fn new(policy: &Policy, abilities: &Abilities) -> Result<Self, Error> {
        let walls = match abilities.landlock_abi() {
            Some(abi) if policy.is_on() => Some(Walls {
                rules: Some(crate::rules::create(policy, abi)?),
                filter: crate::filter::create(policy, abi)?,
                powers: crate::powers::left(),
            }),
            _ => None,
        };
        Ok(Self { walls })
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "where there is a sandbox it can fail"
    )]
    pub(crate) fn new(_: &Policy, _: &Abilities) -> Result<Self, Error> {
        Ok(Self {})
    }

    /// Puts the calling thread, and every process that it starts from now on, into the sandbox. There is no
    /// way back.
    ///
    /// For a child between fork and exec: it makes system calls only, allocates nothing and takes no lock
    /// unless it fails. After an error the process may be half confined and must end.
    pub fn enter(&mut self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(walls) = &mut self.walls {
            if let Some(powers) = walls.powers {
                rustix::thread::set_capabilities(None, powers)?;
            }
            // Each process enters once; a child has a copy of its own.
            let rules = walls.rules.take();
            let rules = rules.ok_or_else(|| io::Error::from_raw_os_error(libc::EALREADY))?;
            let done = rules
                .restrict_self()
                .map_err(|_| io::Error::last_os_error())?;
            if done.ruleset == landlock::RulesetStatus::NotEnforced || !done.no_new_privs {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
            // Last: it refuses nothing that was needed before, but nothing needs to be thought about.
            seccompiler::apply_filter(&walls.filter).map_err(|_| io::Error::last_os_error())?;
        }
        Ok(())
    }

    /// Has a command enter when it is started, after what else was asked of it there. If it cannot enter, it
    /// is not started, and `spawn` gives the error.
    #[expect(
        unsafe_code,
        reason = "only code between fork and exec can confine the child and not the parent"
    )]
    pub fn confine(mut self, command: &mut Command) {
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. `enter` makes system
        // calls, allocates nothing and takes no lock.
        unsafe {
            command.pre_exec(move || self.enter());
        }
    }
}
