//! Runs one program and writes down what it cost: `meter REPORT PROGRAM [ARGUMENT]…`.
//!
//! REPORT becomes one line of three numbers: microseconds of CPU in user mode, the same in the
//! kernel, and bytes of the largest resident set. The exit status is the program's.
//!
//! It is a process of its own because the kernel counts a child's memory from the moment of the
//! fork, when the child is still a picture of its parent. This parent is small.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [report, program, arguments @ ..] = arguments.as_slice() else {
        return ExitCode::from(2);
    };
    match run(report.as_ref(), program, arguments) {
        Ok(code) => code,
        Err(_) => ExitCode::from(2),
    }
}

#[cfg(unix)]
fn run(
    report: &std::path::Path,
    program: &std::ffi::OsStr,
    arguments: &[std::ffi::OsString],
) -> std::io::Result<ExitCode> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    let status = std::process::Command::new(program)
        .args(arguments)
        .status()?;
    // There was one child, so the sum over all of them is its own.
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    let line = format!(
        "{} {} {}\n",
        usage.user_time().num_microseconds(),
        usage.system_time().num_microseconds(),
        usage.max_rss() * unit,
    );
    std::fs::write(report, line)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(u8::MAX)))
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::from(2)
}
