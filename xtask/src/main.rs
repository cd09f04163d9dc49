//! `cargo xtask`: every check of this workspace, each under one name.
//!
//! `cargo xtask ci` runs them all; CI runs that command and nothing else. Each step runs alone too.
//! A step prints each command before it runs it, so that whoever wants to repeat one can copy it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal; printing is what it is for"
)]

#[cfg(unix)]
mod bench;
mod browser;
mod ci;
mod deny;
mod failure;
mod features;
mod flags;
mod fuzz;
mod step;
mod table;
mod tool;
mod workspace;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::flags::{Xtask, XtaskCmd};
use crate::step::Step;
use crate::workspace::Workspace;

fn main() -> ExitCode {
    match dispatch(&Xtask::from_env_or_exit().subcommand) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: &XtaskCmd) -> Result<ExitCode, Failure> {
    let one = |step| Ok(ci::run(&Workspace::open()?, &[step], ci::AtFailure::Stop));
    match command {
        XtaskCmd::Ci(ci) if ci.list => {
            for step in Step::ALL {
                println!("{:<9} {}", step.name(), step.about());
            }
            Ok(ExitCode::SUCCESS)
        }
        XtaskCmd::Ci(ci) => {
            let at_failure = if ci.keep_going {
                ci::AtFailure::GoOn
            } else {
                ci::AtFailure::Stop
            };
            Ok(ci::run(&Workspace::open()?, &Step::ALL, at_failure))
        }
        XtaskCmd::Fmt(_) => one(Step::Fmt),
        XtaskCmd::Tidy(_) => one(Step::Tidy),
        XtaskCmd::Lint(_) => one(Step::Lint),
        XtaskCmd::Test(_) => one(Step::Test),
        XtaskCmd::Doctest(_) => one(Step::Doctest),
        XtaskCmd::Doc(_) => one(Step::Doc),
        XtaskCmd::Features(_) => one(Step::Features),
        XtaskCmd::Deny(_) => one(Step::Deny),
        XtaskCmd::Fuzz(flags) => fuzz::run(&Workspace::open()?, flags),
        #[cfg(unix)]
        XtaskCmd::Bench(flags) => bench::run(&Workspace::open()?, flags),
        #[cfg(not(unix))]
        XtaskCmd::Bench(_) => Err(Failure::new("bench measures on Unix only")),
    }
}
