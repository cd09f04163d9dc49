//! Telemetry: what starters cost, read off what criterion wrote, and what a collector costs a run.

use std::sync::Arc;
use std::time::Duration;

use xshell::cmd;

use crate::bench::collector::Collector;
use crate::bench::figure::{Figure, time};
use crate::bench::middleware::{Estimate, estimates};
use crate::bench::rig::{Rig, failed};
use crate::bench::rounds::Rounds;
use crate::bench::script::Script;
use crate::bench::statistics::median;
use crate::failure::Failure;
use crate::workspace::Workspace;

pub(crate) const UNSEEN: Figure = Figure::new(
    "a typed starter with no subscriber, start to end",
    "under 20 ns",
);
pub(crate) const SEEN: Figure = Figure::new(
    "a typed starter with a subscriber that records; the floor is the same span by hand",
    "at most 1.2 × the floor",
);
pub(crate) const EXPORTED: Figure = Figure::new(
    "50 turns that each read a small file, spans and metrics to a collector; the floor is without",
    "at most 1.05 × the floor",
);
pub(crate) const EXPORTED_SLOWLY: Figure = Figure::new(
    "the same with a service that takes 20 ms for each answer",
    "at most 1.05 × the floor",
);

/// What a fast model takes at the least.
const ANSWER: Duration = Duration::from_millis(20);

/// Builds the benchmark.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Failure> {
    let sh = &workspace.shell;
    workspace.run(cmd!(
        sh,
        "cargo bench --package harness-telemetry --bench starters --no-run"
    ))
}

pub(crate) fn measure(
    rig: &Rig,
    rounds: Rounds,
    workspace: &Workspace,
) -> Result<Vec<Figure>, Failure> {
    let mut figures = starters(workspace)?;
    figures.push(exported(rig, rounds, EXPORTED, Duration::ZERO)?);
    figures.push(exported(rig, rounds.one_in(4), EXPORTED_SLOWLY, ANSWER)?);
    Ok(figures)
}

fn starters(workspace: &Workspace) -> Result<Vec<Figure>, Failure> {
    let sh = &workspace.shell;
    // A folder of its own, so that no estimate of another day is read.
    let folder = sh.create_temp_dir()?;
    let arguments = "--noplot --quiet --warm-up-time 1 --measurement-time 3".split(' ');
    workspace.run(
        cmd!(
            sh,
            "cargo bench --package harness-telemetry --bench starters -- {arguments...}"
        )
        .env("CRITERION_HOME", folder.path()),
    )?;
    let found = estimates(folder.path());
    let seconds = |name: &str| {
        let of = |it: &&Estimate| it.name == name;
        let found = found.iter().find(of).map(|it| it.nanoseconds / 1e9);
        found.ok_or_else(|| Failure::new(format!("criterion has no estimate of {name}")))
    };
    let unseen = seconds("starters/unseen")?;
    let (typed, by_hand) = (seconds("starters/seen")?, seconds("starters/by hand")?);
    let ratio = typed / by_hand;
    Ok(vec![
        UNSEEN.measured(time(unseen)).met(unseen < 20e-9),
        SEEN.measured(time(typed))
            .floor(time(by_hand))
            .ratio(ratio)
            .met(ratio <= 1.2),
    ])
}

/// Runs with a collector and without take turns.
fn exported(rig: &Rig, rounds: Rounds, figure: Figure, pause: Duration) -> Result<Figure, Failure> {
    let collector = Collector::start().map_err(failed("the collector"))?;
    let address = collector.address();
    let script = Arc::new(Script::reads("reads", 50).slowly(pause));
    let on = [("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str())];
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    rounds.run(|| {
        with.push(rig.harness_with(&script, &on)?.wall.as_secs_f64());
        bytes = collector.take_bytes();
        without.push(rig.harness(&script)?.wall.as_secs_f64());
        Ok(())
    })?;
    if bytes == 0 {
        return Err(Failure::new("no span came to the collector"));
    }
    println!("  {bytes} bytes of spans a run");
    let (with, without) = (median(with), median(without));
    Ok(figure
        .measured(time(with))
        .floor(time(without))
        .ratio(with / without)
        .met(with <= 1.05 * without))
}
