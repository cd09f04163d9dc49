//! Running one program from start to exit, timed, and ended when it takes too long.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::failure::Failure;

/// No run here should take ten seconds. One that takes so long has hung.
const LIMIT: Duration = Duration::from_secs(30);

/// A program that ran to its end.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Just before the process was made.
    pub(crate) started: Instant,
    pub(crate) took: Duration,
    /// Seconds in user mode and in the kernel, of the program and of what it waited for.
    pub(crate) cpu: f64,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `command` with nothing on its standard input, and waits for its end. It is killed, with
/// what it started, when it takes longer than [`LIMIT`].
pub(crate) fn run(command: &mut Command) -> Result<Finished, Failure> {
    run_within(LIMIT, command.stdout(Stdio::piped()))
}

/// As [`run`], for a program whose output nobody reads: it goes to the null device.
pub(crate) fn run_unread(command: &mut Command) -> Result<Finished, Failure> {
    run_within(LIMIT, command.stdout(Stdio::null()))
}

fn run_within(limit: Duration, command: &mut Command) -> Result<Finished, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| Failure::new(format!("{name}: {error}"));
    command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        // A group of its own, so that one signal reaches all of it and nobody else.
        .process_group(0);
    let started = Instant::now();
    let child = command.spawn().map_err(failed)?;
    let (finished, was_killed) = watch(limit, child, started).map_err(failed)?;
    if was_killed {
        let seconds = limit.as_secs_f64();
        return Err(Failure::new(format!(
            "{name} ran for more than {seconds} s and was ended"
        )));
    }
    Ok(finished)
}

/// Waits for the end of `child`; whether it had to be killed for that.
fn watch(limit: Duration, mut child: Child, started: Instant) -> io::Result<(Finished, bool)> {
    let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    // The number names this child until it is reaped, so the kill and the reaping exclude each
    // other.
    let unreaped = Arc::new(Mutex::new(true));
    let (ended, has_ended) = mpsc::channel::<()>();
    let watched = Arc::clone(&unreaped);
    let watchdog = thread::spawn(move || {
        let is_late = has_ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        let unreaped = watched.lock().unwrap_or_else(PoisonError::into_inner);
        let kill = is_late && *unreaped;
        if kill {
            // It fails only for a group that has just gone.
            let _ = killpg(pid, Signal::SIGKILL);
        }
        kill
    });

    let mut stdout = Vec::new();
    let mut stderr = Vec::new();
    // One after the other: what is written to standard error meanwhile fits into the pipe, or else
    // the watchdog ends it.
    let read = child
        .stdout
        .take()
        .map_or(Ok(0), |mut it| it.read_to_end(&mut stdout))
        .and_then(|_| {
            let stderr_pipe = child.stderr.take();
            stderr_pipe.map_or(Ok(0), |mut it| it.read_to_end(&mut stderr))
        });
    let waited = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
    let took = started.elapsed();
    *unreaped.lock().unwrap_or_else(PoisonError::into_inner) = false;
    drop(ended);
    let before = cpu_of_children()?;
    let status = child.wait()?;
    // It counts from here on; nobody else reaps a child meanwhile.
    let cpu = cpu_of_children()? - before;
    read?;
    waited?;
    let was_killed = watchdog.join().unwrap_or(false);
    let finished = Finished {
        started,
        took,
        cpu,
        status,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    };
    Ok((finished, was_killed))
}

/// Seconds that the children that were waited for have used.
fn cpu_of_children() -> io::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{run, run_unread, run_within};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn tells_what_the_program_said_and_how_it_ended() {
        let finished = run(&mut shell("cat; echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(
            (finished.stdout.as_str(), finished.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert!(finished.took > Duration::ZERO);
    }

    #[test]
    fn output_that_nobody_reads_holds_nothing_up() {
        let much = "i=0; while [ $i -lt 9000 ]; do echo 0123456789; i=$((i + 1)); done";
        let finished = run_unread(&mut shell(much)).unwrap();
        assert!(finished.status.success() && finished.stdout.is_empty());
        assert!(finished.cpu >= 0.0);
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let hangs = "sleep 60 & exec sleep 60";
        let mut command = shell(hangs);
        command.stdout(Stdio::piped());
        let failure = run_within(Duration::from_millis(100), &mut command).unwrap_err();
        assert!(failure.to_string().ends_with("and was ended"), "{failure}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure() {
        let failure = run(&mut Command::new("no-such-program")).unwrap_err();
        assert!(failure.to_string().starts_with("no-such-program: "));
    }
}
