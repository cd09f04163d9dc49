//! A command's processes, and their end.
//!
//! A command is started as the leader of a session of its own: it has no terminal to wait at, and
//! what it starts stays in that session, even a process that makes itself the leader of a group
//! (`timeout`, jobs under `set -m`). A process that makes a session of its own (`setsid`, daemons) is
//! known by a variable in its environment that only this command has, or by its parent. So only one
//! that sheds its session, its environment and its parent is lost. Which ones were found is remembered,
//! since a parent may end before its children.
//!
//! All of that is Linux, where `/proc` tells it. Elsewhere the leader's process group is ended.

use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often everything is killed, for those that were started in between.
const KILL_ROUNDS: usize = 50;

/// How often is waited for a process to have its environment: one that was given none never has it.
#[cfg(target_os = "linux")]
const MOST_WAITS: usize = 10;

/// How long each time.
#[cfg(target_os = "linux")]
const EXEC_TIME: std::time::Duration = std::time::Duration::from_millis(1);

/// Has the command start in a session of its own.
#[expect(
    unsafe_code,
    reason = "only code between fork and exec can leave the parent's session"
)]
pub(crate) fn own_session(command: &mut tokio::process::Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. `setsid` is one; the
    // closure allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// What tells the processes of one command from all others.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTree {
    leader: Pid,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux shows the environment of processes")
    )]
    marker: Arc<str>,
    /// When the leader was started, in clock ticks since the machine's start. What is older cannot
    /// come from it, so its environment need not be read.
    #[cfg(target_os = "linux")]
    started: Option<u64>,
    /// Those that were found last, each with when it was started.
    #[cfg(target_os = "linux")]
    found: Arc<Mutex<Vec<(Pid, u64)>>>,
}

impl ProcessTree {
    /// The processes of the leader with this id, which has just been started with the variable
    /// `marker` in its environment.
    pub(crate) fn new(leader: u32, marker: String) -> Option<Self> {
        let leader = Pid::from_raw(i32::try_from(leader).ok()?)?;
        Some(Self {
            leader,
            marker: marker.into(),
            #[cfg(target_os = "linux")]
            started: proc::stat(leader).map(|stat| stat.started),
            #[cfg(target_os = "linux")]
            found: Arc::default(),
        })
    }

    /// The id of the leader.
    pub(crate) fn leader(&self) -> u32 {
        self.leader.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends a signal to each process. Looks at every process of the machine.
    pub(crate) fn signal(&self, signal: Signal) {
        // Looked for before any of them ends, and its children lose their parent.
        #[cfg(target_os = "linux")]
        let members = self.members();
        // In one step, so that nothing in the group can fork itself away from it.
        let _ = kill_process_group(self.leader, signal);
        #[cfg(target_os = "linux")]
        for stat in members {
            if stat.group != self.leader {
                let _ = rustix::process::kill_process(stat.pid, signal);
            }
        }
    }

    /// Kills each process, and those that they start meanwhile. True if none is left. Blocks for some
    /// milliseconds.
    pub(crate) fn kill(&self) -> bool {
        #[cfg(target_os = "linux")]
        let mut waits = 0;
        for _ in 0..KILL_ROUNDS {
            self.signal(Signal::KILL);
            if self.is_running() {
                continue;
            }
            #[cfg(target_os = "linux")]
            if waits < MOST_WAITS && self.may_have_more() {
                waits += 1;
                std::thread::sleep(EXEC_TIME);
                continue;
            }
            return true;
        }
        false
    }

    /// Whether there is a process that is about to run another program: for that moment it has no environment, and
    /// nobody can tell whose it is.
    #[cfg(target_os = "linux")]
    fn may_have_more(&self) -> bool {
        let Some(started) = self.started else {
            return false;
        };
        let mut all = proc::all().into_iter();
        all.any(|stat| stat.started >= started && proc::is_between_programs(&stat))
    }

    /// Whether one of them runs. One that ended and was not waited for does not. Looks at every
    /// process of the machine.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_running(&self) -> bool {
        !self.members().is_empty()
    }

    /// Whether a process of the group runs.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_running(&self) -> bool {
        rustix::process::test_kill_process_group(self.leader).is_ok()
    }

    #[cfg(target_os = "linux")]
    fn members(&self) -> Vec<proc::Stat> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut members, mut others): (Vec<_>, Vec<_>) =
            proc::all().into_iter().partition(|stat| {
                stat.session == self.leader || found.contains(&(stat.pid, stat.started))
            });
        others.retain(|stat| self.started.is_some_and(|started| stat.started >= started));
        let marked = others.extract_if(.., |stat| proc::has_variable(stat.pid, &self.marker));
        members.extend(marked);
        // And their children, who may have been given another environment.
        let mut seen = 0;
        while let Some(parent) = members.get(seen).map(|stat| stat.pid) {
            members.extend(others.extract_if(.., |stat| stat.parent == Some(parent)));
            seen += 1;
        }
        found.clear();
        found.extend(members.iter().map(|stat| (stat.pid, stat.started)));
        members
    }
}

/// What `/proc` tells of processes.
#[cfg(target_os = "linux")]
mod proc {
    use rustix::process::Pid;

    /// A process that runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Stat {
        pub(super) pid: Pid,
        pub(super) parent: Option<Pid>,
        pub(super) group: Pid,
        pub(super) session: Pid,
        /// Clock ticks since the machine's start.
        pub(super) started: u64,
        /// Whether it is one of the kernel's own, which have no environment.
        is_kernels: bool,
    }

    /// The flag of the kernel's own processes: `PF_KTHREAD`.
    const KERNELS: u64 = 0x0020_0000;

    /// Every process that can be seen and runs.
    pub(super) fn all() -> Vec<Stat> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| stat(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?))
            .collect()
    }

    pub(super) fn stat(pid: Pid) -> Option<Stat> {
        let text = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        parse(pid, &text)
    }

    /// `None` for one that ended. The name, in parentheses, may hold anything.
    pub(super) fn parse(pid: Pid, text: &[u8]) -> Option<Stat> {
        let after = memchr::memrchr(b')', text)?;
        let rest = std::str::from_utf8(text.get(after + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
        if matches!(*fields.first()?, "Z" | "X" | "x") {
            return None;
        }
        let id = |at: usize| Pid::from_raw(fields.get(at)?.parse().ok()?);
        Some(Stat {
            pid,
            parent: id(1),
            group: id(2)?,
            session: id(3)?,
            started: fields.get(19)?.parse().ok()?,
            is_kernels: fields.get(6)?.parse::<u64>().ok()? & KERNELS != 0,
        })
    }

    /// Whether a process was started with this variable, as far as one may look.
    pub(super) fn has_variable(pid: Pid, name: &str) -> bool {
        std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).is_ok_and(|environment| {
            environment.split(|byte| *byte == 0).any(|variable| {
                variable
                    .strip_prefix(name.as_bytes())
                    .is_some_and(|rest| rest.starts_with(b"="))
            })
        })
    }

    /// Whether a process has left one program and not begun the next. It shows an empty environment then; one that
    /// was given an empty one looks the same, and cannot be told from it.
    pub(super) fn is_between_programs(stat: &Stat) -> bool {
        let environment = format!("/proc/{}/environ", stat.pid.as_raw_nonzero());
        !stat.is_kernels && std::fs::read(environment).is_ok_and(|it| it.is_empty())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn any_name_of_a_process_is_got_over() {
            let pid = Pid::INIT;
            for name in ["sh", "a) R 1 2 3", "(", "a b\n", ""] {
                let text =
                    format!("1 ({name}) S 0 41 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 9");
                let stat = parse(pid, text.as_bytes()).expect("it runs");
                assert_eq!(
                    (stat.parent, stat.group.as_raw_nonzero().get(), stat.started),
                    (None, 41, 777),
                    "{name}"
                );
                assert_eq!(stat.session.as_raw_nonzero().get(), 42, "{name}");
                let ended = text.replace(") S 0", ") Z 0");
                assert_eq!(parse(pid, ended.as_bytes()), None, "{name}");
            }
            assert_eq!(parse(pid, b"1 (sh) S"), None);
        }
    }
}
