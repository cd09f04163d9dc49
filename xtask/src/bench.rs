//! `cargo xtask bench`: how fast the release binary is, beside a floor measured in the same run.
//!
//! The benchmark plays a model server on the loopback interface ([`server`]), runs `harness` as a
//! user would, records what it sends ([`rig`]), and lets a bare client (`src/bin/floor.rs`) send
//! the same bytes. What a machine adds, it adds to both: compare the ratios.
//!
//! The tools are called by hand ([`tool_call`]) on a tree that is made once ([`ground`]), beside the
//! programs that a person would use ([`peers`]).
//!
//! A program's own memory and CPU are told by `src/bin/meter.rs`; the cost of middlewares is that of
//! a criterion benchmark in `harness-core`.

mod child;
mod collector;
mod contest;
mod figure;
mod ground;
mod machine;
mod measure;
mod middleware;
mod peers;
mod request;
mod rig;
mod rounds;
mod script;
mod seed;
mod server;
mod skills;
mod statistics;
mod subject;
mod telemetry;
mod tool_call;

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::Value;
use xshell::cmd;

use crate::bench::figure::{Figure, Table, time};
use crate::bench::ground::Ground;
use crate::bench::rig::{Programs, Rig};
use crate::bench::rounds::Rounds;
use crate::bench::subject::Subject;
use crate::failure::Failure;
use crate::flags::Bench;
use crate::workspace::Workspace;

/// More would take minutes a subject.
const MOST_ROUNDS: usize = 1000;

/// Measures what `flags` choose, and prints the table. It fails when a figure misses its target or
/// could not be measured.
pub(crate) fn run(workspace: &Workspace, flags: &Bench) -> Result<ExitCode, Failure> {
    let subjects = Subject::chosen(&flags.only).map_err(|unknown| {
        let names = Subject::ALL.map(Subject::name).join(", ");
        Failure::new(format!("{unknown} is none of the subjects: {names}"))
    })?;
    let rounds = match flags.rounds.unwrap_or(40) {
        rounds @ 1..=MOST_ROUNDS => Rounds(rounds),
        _ => {
            return Err(Failure::new(format!(
                "--rounds goes from 1 to {MOST_ROUNDS}"
            )));
        }
    };
    let machine = machine::facts();
    let sh = &workspace.shell;
    let metadata = workspace.read(cmd!(sh, "cargo metadata --no-deps --format-version 1"))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let programs = build(workspace, &metadata, &subjects, flags.program.as_deref())?;
    let rig = Rig::new(programs, sh)?;

    let mut figures = Vec::new();
    let mut remarks = Vec::new();
    for subject in subjects {
        let start = Instant::now();
        match measure(subject, &rig, rounds, workspace, &metadata) {
            Ok(measured) => figures.extend(measured),
            Err(failure) => {
                figures.extend(unmeasured(subject));
                remarks.push(format!("{}: {failure}", subject.name()));
            }
        }
        println!(
            "== {}: {}",
            subject.name(),
            time(start.elapsed().as_secs_f64())
        );
    }

    println!(
        "\n{}\n\n{machine}; medians of up to {} rounds",
        Table(&figures),
        rounds.0
    );
    for remark in remarks {
        println!("not measured: {remark}");
    }
    Ok(if figures.iter().all(Figure::is_met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Builds what takes part in the runs of `subjects`, as it would be released.
fn build(
    workspace: &Workspace,
    metadata: &Value,
    subjects: &[Subject],
    program: Option<&Path>,
) -> Result<Programs, Failure> {
    let sh = &workspace.shell;
    let target = metadata["target_directory"].as_str();
    let target = target.ok_or_else(|| Failure::new("cargo did not say where it builds"))?;
    let built = |name| PathBuf::from(format!("{target}/release/{name}{EXE_SUFFIX}"));
    if subjects.contains(&Subject::Middleware) {
        middleware::build(workspace, metadata)?;
    }
    if subjects.contains(&Subject::Skills) {
        skills::build(workspace)?;
    }
    if subjects.contains(&Subject::Telemetry) {
        telemetry::build(workspace)?;
    }
    let runs_programs = subjects.iter().any(|it| *it != Subject::Middleware);
    if runs_programs {
        workspace.run(cmd!(
            sh,
            "cargo build --release --package xtask --bin floor --bin meter"
        ))?;
    }
    let harness = if let Some(program) = program {
        std::path::absolute(program).map_err(rig::failed("the program"))?
    } else {
        if runs_programs {
            workspace.run(cmd!(sh, "cargo build --release --package harness-cli"))?;
        }
        built("harness")
    };
    Ok(Programs {
        harness,
        floor: built("floor"),
        meter: built("meter"),
    })
}

fn measure(
    subject: Subject,
    rig: &Rig,
    rounds: Rounds,
    workspace: &Workspace,
    metadata: &Value,
) -> Result<Vec<Figure>, Failure> {
    let ground = Ground::below(&workspace.root.join("target"));
    match subject {
        Subject::Start => measure::start(rig, rounds),
        Subject::Reads => measure::reads(rig, rounds),
        Subject::Growth => measure::growth(rig, rounds),
        Subject::Memory => measure::memory(rig, rounds),
        Subject::Burst => measure::burst(rig, rounds),
        Subject::Prompt => measure::prompt(rig),
        Subject::Size => measure::size(rig),
        Subject::Version => measure::version(rig, rounds),
        Subject::Middleware => middleware::measure(workspace, metadata),
        Subject::Grep => tool_call::grep(rig, &peers::RIPGREP.path(workspace)?, &ground, rounds),
        Subject::Find => tool_call::find(rig, &peers::FD.path(workspace)?, &ground, rounds),
        Subject::Ls => tool_call::ls(rig, &ground, rounds),
        Subject::Edit => tool_call::edit(rig, &ground, rounds),
        Subject::Yes => tool_call::yes(rig, &ground),
        Subject::Skills => skills::measure(rig, rounds, workspace),
        Subject::Telemetry => telemetry::measure(rig, rounds, workspace),
    }
}

/// The rows of a subject that could not be measured.
fn unmeasured(subject: Subject) -> Vec<Figure> {
    match subject {
        Subject::Start => vec![measure::START],
        Subject::Reads => vec![measure::READS, measure::OWN_TIME],
        Subject::Growth => vec![measure::GROWTH],
        Subject::Memory => vec![measure::ONE_TURN_MEMORY, measure::LONG_MEMORY],
        Subject::Burst => vec![measure::BURST],
        Subject::Prompt => vec![measure::PROMPT],
        Subject::Size => vec![measure::SIZE],
        Subject::Version => vec![measure::VERSION],
        Subject::Middleware => vec![measure::MIDDLEWARE],
        Subject::Grep => vec![
            tool_call::GREP_RARE,
            tool_call::GREP_NOWHERE,
            tool_call::GREP_FREQUENT,
        ],
        Subject::Find => vec![tool_call::FIND_ALL, tool_call::FIND_FIRST],
        Subject::Ls => vec![tool_call::LS, tool_call::LS_MOST],
        Subject::Edit => vec![tool_call::EDIT, tool_call::EDIT_MEMORY],
        Subject::Yes => vec![tool_call::YES],
        Subject::Skills => vec![
            skills::PARSE,
            skills::COLD,
            skills::REFRESH,
            skills::MEMORY,
            skills::HOSTILE,
        ],
        Subject::Telemetry => vec![
            telemetry::UNSEEN,
            telemetry::SEEN,
            telemetry::EXPORTED,
            telemetry::EXPORTED_SLOWLY,
        ],
    }
}
