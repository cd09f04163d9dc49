//! A command's processes, and their end.
//!
//! A command is started as the leader of a session of its own: it has no terminal to wait at, and
//! everything that it starts stays in the session, even a process that makes itself the leader of a
//! group (`timeout`, background jobs under `set -m`). Only a process that makes a session of its own
//! (`setsid`) leaves; that is the deliberate way to let something run on.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often everything is killed, for those that were started in between.
const KILL_ROUNDS: usize = 8;

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

/// The processes of one command. Dropped, it kills all of them.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: Pid,
    ended: bool,
}

impl ProcessGroup {
    /// The processes that this leader of a session started.
    pub(crate) fn led_by(pid: u32) -> Option<Self> {
        let leader = Pid::from_raw(i32::try_from(pid).ok()?)?;
        Some(Self {
            leader,
            ended: false,
        })
    }

    /// The leader.
    pub(crate) fn leader(&self) -> Pid {
        self.leader
    }

    /// All are known to be gone: nothing is left to do.
    pub(crate) fn set_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.ended {
            kill_all(self.leader);
        }
    }
}

/// Sends a signal to every process of the session. True if there was one.
pub(crate) fn signal(leader: Pid, signal: Signal) -> bool {
    let mut sent = kill_process_group(leader, signal).is_ok();
    for pid in outside_the_group(leader) {
        sent |= kill_process(pid, signal).is_ok();
    }
    sent
}

/// Kills every process of the session, and those that they start meanwhile.
pub(crate) fn kill_all(leader: Pid) {
    for _ in 0..KILL_ROUNDS {
        signal(leader, Signal::KILL);
        if !is_alive(leader) {
            return;
        }
    }
}

/// Whether a process of the session runs. One that ended and was not waited for does not.
#[cfg(target_os = "linux")]
pub(crate) fn is_alive(leader: Pid) -> bool {
    // A quick answer without a look at every process of the machine is not there: members may be in
    // other groups.
    !members(leader).is_empty()
}

/// Whether a process of the group runs.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_alive(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader).is_ok()
}

/// Processes of the session that are in another group than the leader's.
#[cfg(target_os = "linux")]
fn outside_the_group(leader: Pid) -> Vec<Pid> {
    members(leader)
        .into_iter()
        .filter(|(_, group)| *group != leader)
        .map(|(pid, _)| pid)
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn outside_the_group(_leader: Pid) -> Vec<Pid> {
    Vec::new()
}

/// The running processes of the session, each with its group.
#[cfg(target_os = "linux")]
fn members(leader: Pid) -> Vec<(Pid, Pid)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut members = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else {
            continue;
        };
        if let Some((group, session)) = parse_stat(&stat)
            && session == leader
            && let Some(pid) = Pid::from_raw(pid)
        {
            members.push((pid, group));
        }
    }
    members
}

/// Group and session of a process that runs. The name, in parentheses, may hold anything.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &[u8]) -> Option<(Pid, Pid)> {
    let after = memchr::memrchr(b')', stat)?;
    let rest = std::str::from_utf8(stat.get(after + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    let group = fields.nth(1)?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    Some((Pid::from_raw(group)?, Pid::from_raw(session)?))
}
