//! From runs to figures: one function a subject. Rounds of harness and of what it is compared with
//! take turns, so that both see the same machine.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::bench::figure::{Figure, megabytes, time};
use crate::bench::rig::{Rig, Run, failed};
use crate::bench::rounds::Rounds;
use crate::bench::script::Script;
use crate::bench::statistics::{around, median};
use crate::failure::Failure;

/// Rounds that are run first and not counted: they bring the programs into the page cache.
const WARM_UP: usize = 3;

const DELTAS: usize = 20_000;

/// Samples of harness and of what it is compared with.
#[derive(Debug, Default)]
struct Pair {
    harness: Vec<f64>,
    floor: Vec<f64>,
}

impl Pair {
    fn push(&mut self, harness: f64, floor: f64) {
        self.harness.push(harness);
        self.floor.push(floor);
    }

    /// Prints what stands in no row but tells where the time goes.
    fn print(&self, what: &str) {
        let (harness, floor) = self.medians();
        println!("  {what}: {}, floor {}", time(harness), time(floor));
    }

    fn medians(&self) -> (f64, f64) {
        let of = |values: &[f64]| median(values.iter().copied());
        (of(&self.harness), of(&self.floor))
    }
}

pub(crate) const START: Figure = Figure::new(
    "process start to first request",
    "at most 3 × the floor, under 15 ms",
);
pub(crate) const READS: Figure = Figure::new(
    "50 turns that each read a small file, whole run",
    "at most 3 × the floor",
);
pub(crate) const OWN_TIME: Figure = Figure::new(
    "client's own time a turn, end of reply to next request, tool included",
    "median under 0.5 ms",
);
pub(crate) const GROWTH: Figure = Figure::new("the same at turn 400 over turn 40", "at most 1.5 ×");
pub(crate) const ONE_TURN_MEMORY: Figure =
    Figure::new("peak memory of a one-turn run", "at most 13 MB");
pub(crate) const LONG_MEMORY: Figure = Figure::new("peak memory of a 50-turn run", "at most 15 MB");
pub(crate) const BURST: Figure = Figure::new(
    "20,000 text deltas in one reply, CPU beyond a one-word reply",
    "at most 1.5 µs a delta",
);
pub(crate) const PROMPT: Figure = Figure::new(
    "system prompt and tool schemas of the default agent",
    "at most 6,000 bytes",
);
pub(crate) const SIZE: Figure = Figure::new("release binary, stripped", "at most 20 MB");
pub(crate) const VERSION: Figure = Figure::new(
    "`harness --version`",
    "at most 2 × `/bin/true` in the same loop",
);
pub(crate) const MIDDLEWARE: Figure = Figure::new(
    "ten no-op middlewares around a model call, once filtered",
    "under 50 ns",
);

pub(crate) fn start(rig: &Rig, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let script = Arc::new(Script::hi());
    let recording = rig.record(&script)?;
    for _ in 0..WARM_UP {
        rig.harness(&script)?;
        rig.floor(&recording)?;
    }
    let mut times = Pair::default();
    let mut connections = Pair::default();
    rounds.run(|| {
        let harness = rig.harness(&script)?;
        let floor = rig.floor(&recording)?;
        times.push(harness.to_first_request(), floor.to_first_request());
        connections.push(harness.to_connection(), floor.to_connection());
        Ok(())
    })?;
    connections.print("start to connection");
    let (harness, floor) = times.medians();
    let met = harness <= 3.0 * floor && harness < 0.015;
    Ok(vec![compared(START, harness, floor).met(met)])
}

pub(crate) fn reads(rig: &Rig, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let script = Arc::new(Script::reads("reads", 50));
    let recording = rig.record(&script)?;
    let mut walls = Pair::default();
    let mut own = Pair::default();
    let mut whole = Pair::default();
    let mut connections = 1;
    rounds.one_in(2).run(|| {
        let harness = rig.harness(&script)?;
        let floor = rig.floor(&recording)?;
        walls.push(harness.wall.as_secs_f64(), floor.wall.as_secs_f64());
        own.push(median(harness.own_times()), median(floor.own_times()));
        whole.push(
            median(harness.times_to_whole_request()),
            median(floor.times_to_whole_request()),
        );
        connections = connections.max(harness.connections());
        Ok(())
    })?;
    if connections > 1 {
        println!("  a run took up to {connections} connections; one should do");
    }
    whole.print("end of reply to the last byte of the next request");
    let (wall, floor_wall) = walls.medians();
    let (turn, floor_turn) = own.medians();
    Ok(vec![
        compared(READS, wall, floor_wall).met(wall <= 3.0 * floor_wall),
        compared(OWN_TIME, turn, floor_turn).met(turn < 0.5e-3),
    ])
}

pub(crate) fn growth(rig: &Rig, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let script = Arc::new(Script::reads("growth", 420));
    let at = |run: &Run, turn| {
        let times = run.own_times();
        median(times.get(around(turn, 10)).into_iter().flatten().copied())
    };
    let (mut early, mut late, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    rounds.one_in(8).run(|| {
        let run = rig.harness(&script)?;
        let (at_40, at_400) = (at(&run, 40), at(&run, 400));
        early.push(at_40);
        late.push(at_400);
        ratios.push(at_400 / at_40);
        Ok(())
    })?;
    let ratio = median(ratios);
    let change = format!("{} → {}", time(median(early)), time(median(late)));
    Ok(vec![GROWTH.measured(change).ratio(ratio).met(ratio <= 1.5)])
}

pub(crate) fn memory(rig: &Rig, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for (figure, script, limit) in [
        (ONE_TURN_MEMORY, Script::hi(), 13e6),
        (LONG_MEMORY, Script::reads("reads", 50), 15e6),
    ] {
        let script = Arc::new(script);
        let recording = rig.record(&script)?;
        let mut peaks = Pair::default();
        rounds.one_in(8).run(|| {
            let harness = rig.harness_cost(&script)?.memory;
            peaks.push(harness, rig.floor_cost(&recording)?.memory);
            Ok(())
        })?;
        let (harness, floor) = peaks.medians();
        let figure = figure.measured(megabytes(harness)).floor(megabytes(floor));
        figures.push(figure.ratio(harness / floor).met(harness <= limit));
    }
    Ok(figures)
}

pub(crate) fn burst(rig: &Rig, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let word = Arc::new(Script::hi());
    let burst = Arc::new(Script::burst(DELTAS));
    let of_word = rig.record(&word)?;
    let of_burst = rig.record(&burst)?;
    let mut short = Pair::default();
    let mut long = Pair::default();
    rounds.one_in(2).run(|| {
        short.push(rig.harness_cost(&word)?.cpu, rig.floor_cost(&of_word)?.cpu);
        long.push(
            rig.harness_cost(&burst)?.cpu,
            rig.floor_cost(&of_burst)?.cpu,
        );
        Ok(())
    })?;
    let (short, long) = (short.medians(), long.medians());
    let a_delta = |long: f64, short: f64| (long - short) / DELTAS as f64;
    let harness = a_delta(long.0, short.0);
    let floor = a_delta(long.1, short.1);
    Ok(vec![compared(BURST, harness, floor).met(harness <= 1.5e-6)])
}

pub(crate) fn prompt(rig: &Rig) -> Result<Vec<Figure>, Failure> {
    let recording = rig.record(&Arc::new(Script::hi()))?;
    let (prompt, tools) = prompt_bytes(&recording.first_body()?);
    let total = prompt + tools;
    let measured = format!("{total} bytes ({prompt} + {tools})");
    Ok(vec![PROMPT.measured(measured).met(total <= 6000)])
}

/// Bytes of the system prompt and of the tools as they are sent.
fn prompt_bytes(body: &Value) -> (usize, usize) {
    let messages = body["messages"].as_array().into_iter().flatten();
    let of_system = messages.filter(|it| it["role"] == "system" || it["role"] == "developer");
    let prompt = of_system.map(|message| match &message["content"] {
        Value::String(text) => text.len(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.map(str::len).sum()
        }
        _ => 0,
    });
    let tools = match &body["tools"] {
        Value::Null => 0,
        tools => tools.to_string().len(),
    };
    (prompt.sum(), tools)
}

pub(crate) fn size(rig: &Rig) -> Result<Vec<Figure>, Failure> {
    let file = fs::metadata(&rig.programs.harness).map_err(failed("the binary"))?;
    let bytes = file.len() as f64;
    Ok(vec![SIZE.measured(megabytes(bytes)).met(bytes <= 20e6)])
}

pub(crate) fn version(rig: &Rig, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let nothing = Path::new("/bin/true");
    let mut times = Pair::default();
    Rounds(rounds.0 * 2).run(|| {
        let harness = rig.seconds(&rig.programs.harness, &["--version"])?;
        times.push(harness, rig.seconds(nothing, &[])?);
        Ok(())
    })?;
    let (harness, floor) = times.medians();
    Ok(vec![
        compared(VERSION, harness, floor).met(harness <= 2.0 * floor),
    ])
}

/// A figure in seconds beside that of the floor.
fn compared(figure: Figure, harness: f64, floor: f64) -> Figure {
    figure
        .measured(time(harness))
        .floor(time(floor))
        .ratio(harness / floor)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::prompt_bytes;

    #[test]
    fn counts_the_system_prompt_and_the_tools() {
        let tools = json!([{"name": "read"}]);
        let body = json!({
            "messages": [
                {"role": "developer", "content": "1234é"},
                {"role": "system", "content": [{"type": "text", "text": "78"}]},
                {"role": "user", "content": "Say hi."},
            ],
            "tools": tools,
        });
        assert_eq!(prompt_bytes(&body), (8, r#"[{"name":"read"}]"#.len()));
        assert_eq!(prompt_bytes(&json!({"messages": []})), (0, 0));
    }
}
