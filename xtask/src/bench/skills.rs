//! Skills: the figures of the benchmark `skills` of `harness-skills`, read off what criterion wrote, and
//! what many skills and hostile files cost the program.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use xshell::cmd;

use crate::bench::child;
use crate::bench::figure::{Figure, megabytes, time};
use crate::bench::middleware::{Estimate, estimates};
use crate::bench::rig::{Metered, Rig, failed};
use crate::bench::rounds::Rounds;
use crate::bench::statistics::median;
use crate::failure::Failure;
use crate::workspace::Workspace;

pub(crate) const PARSE: Figure = Figure::new(
    "10,000 `SKILL.md` split and parsed, one core; the floor is to read the files",
    "at most 120 ms",
);
pub(crate) const COLD: Figure = Figure::new(
    "finding 5,000 skills; the floor walks and reads 4 KiB of each",
    "at most 3 × the floor",
);
pub(crate) const REFRESH: Figure = Figure::new(
    "a refresh of 5,000 skills when nothing changed; the floor is a `stat` of each",
    "at most 2 × the floor",
);
pub(crate) const MEMORY: Figure =
    Figure::new("memory of 5,000 skills, beyond none", "at most 20 MB");
pub(crate) const HOSTILE: Figure = Figure::new(
    "the worst hostile `SKILL.md`, beyond a usual one",
    "at most 10 ms and 10 MB",
);

/// How many skills, in how many folders: each may have 2,000 folders.
const SKILLS: usize = 5_000;
const ROOTS: usize = 3;

/// Builds the benchmark.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Failure> {
    let sh = &workspace.shell;
    workspace.run(cmd!(
        sh,
        "cargo bench --package harness-skills --bench skills --no-run"
    ))
}

pub(crate) fn measure(
    rig: &Rig,
    rounds: Rounds,
    workspace: &Workspace,
) -> Result<Vec<Figure>, Failure> {
    let sh = &workspace.shell;
    // A folder of its own, so that no estimate of another day is read.
    let folder = sh.create_temp_dir()?;
    let arguments = "--noplot --quiet --warm-up-time 1 --measurement-time 3".split(' ');
    let bench = cmd!(
        sh,
        "cargo bench --quiet --package harness-skills --bench skills -- {arguments...}"
    );
    workspace.run(bench.env("CRITERION_HOME", folder.path()))?;
    let mut figures = figures(&estimates(folder.path()))
        .ok_or_else(|| Failure::new("the benchmark `skills` has other names than are read"))?;
    let ground = sh.create_temp_dir()?;
    figures.push(memory(rig, ground.path())?);
    figures.push(hostile(rig, rounds, ground.path())?);
    Ok(figures)
}

fn figures(estimates: &[Estimate]) -> Option<Vec<Figure>> {
    let seconds = |name: &str| {
        let found = estimates.iter().find(|it| it.name.ends_with(name))?;
        Some(found.nanoseconds * 1e-9)
    };
    let compared = |figure: Figure, measured: f64, floor: f64| {
        figure
            .measured(time(measured))
            .floor(time(floor))
            .ratio(measured / floor)
    };
    let (parse, read) = (seconds("parse_10000")?, seconds("read_10000")?);
    println!("  the same, examined: {}", time(seconds("examine_10000")?));
    let (cold, walk) = (seconds("cold_5000")?, seconds("walk_5000")?);
    let (refresh, stat) = (seconds("refresh_5000")?, seconds("stat_5000")?);
    Some(vec![
        compared(PARSE, parse, read).met(parse <= 0.120),
        compared(COLD, cold, walk).met(cold <= 3.0 * walk),
        compared(REFRESH, refresh, stat).met(refresh <= 2.0 * stat),
    ])
}

/// A usual skill.
fn skill(number: usize) -> String {
    let mut text = format!("---\nname: skill-{number}\ndescription: ");
    for word in 0..38 {
        let _ = write!(text, "word{:02} ", (number + word) % 100);
    }
    text.push_str("\nlicense: MIT\nmetadata:\n  author: someone\n---\n\n");
    text.push_str(&"A line of the body, which is of no interest here.\n".repeat(60));
    text
}

fn write(folder: &Path, text: &[u8]) -> Result<(), Failure> {
    let made = fs::create_dir_all(folder).and_then(|()| fs::write(folder.join("SKILL.md"), text));
    made.map_err(failed("a skill"))
}

fn memory(rig: &Rig, ground: &Path) -> Result<Figure, Failure> {
    let roots: Vec<PathBuf> = (0..ROOTS)
        .map(|root| ground.join(format!("root-{root}")))
        .collect();
    for number in 0..SKILLS {
        let folder = roots[number % ROOTS].join(format!("skill-{number}"));
        write(&folder, skill(number).as_bytes())?;
    }
    let few = ground.join("few");
    write(&few.join("skill-0"), skill(0).as_bytes())?;
    let cost = |roots: &[PathBuf]| {
        let mut command = rig.command(&rig.programs.harness, Metered::Yes);
        command.args(["skills", "show", "skill-0"]);
        for root in roots {
            command.arg("--skill").arg(root);
        }
        let finished = child::run(&mut command)?;
        if finished.status.success() {
            Ok(rig.read_report()?.memory)
        } else {
            Err(Failure::new(format!(
                "harness skills show: {}",
                finished.stderr
            )))
        }
    };
    let beyond = (cost(&roots)? - cost(&[few])?).max(0.0);
    Ok(MEMORY.measured(megabytes(beyond)).met(beyond <= 20e6))
}

/// The worst of some files that were made to do harm.
fn hostile(rig: &Rig, rounds: Rounds, ground: &Path) -> Result<Figure, Failure> {
    let usual = ground.join("usual");
    write(&usual, skill(0).as_bytes())?;
    let names = ["aliases", "dashes", "sparse", "pipe"];
    for name in names {
        let folder = ground.join(name);
        let made = make_hostile(name, &folder);
        made.map_err(failed("a hostile skill"))?;
    }
    let mut worst = (0.0_f64, 0.0_f64);
    let validate = |folder: &Path, metered| {
        let mut command = rig.command(&rig.programs.harness, metered);
        command.args(["skills", "validate"]).arg(folder);
        child::run(&mut command)
    };
    let memory_of = |folder: &Path| {
        validate(folder, Metered::Yes)?;
        Ok::<f64, Failure>(rig.read_report()?.memory)
    };
    for name in names {
        let folder = ground.join(name);
        let (mut bad, mut good) = (Vec::new(), Vec::new());
        rounds.run(|| {
            bad.push(validate(&folder, Metered::No)?.took.as_secs_f64());
            good.push(validate(&usual, Metered::No)?.took.as_secs_f64());
            Ok(())
        })?;
        let seconds = (median(bad) - median(good)).max(0.0);
        let bytes = (memory_of(&folder)? - memory_of(&usual)?).max(0.0);
        println!("  {name}: {} and {}", time(seconds), megabytes(bytes));
        worst = (worst.0.max(seconds), worst.1.max(bytes));
    }
    let (seconds, bytes) = worst;
    let measured = format!("{} and {}", time(seconds), megabytes(bytes));
    Ok(HOSTILE
        .measured(measured)
        .met(seconds <= 0.010 && bytes <= 10e6))
}

fn make_hostile(name: &str, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = folder.join("SKILL.md");
    match name {
        // Each level repeats the one before ten times.
        "aliases" => {
            let mut text = String::from("---\nname: x\na0: &a0 [x, x, x]\n");
            for level in 1..40 {
                let below = format!("*a{}, ", level - 1).repeat(10);
                let _ = writeln!(text, "a{level}: &a{level} [{below}]");
            }
            fs::write(file, text + "---\n")
        }
        "dashes" => fs::write(file, format!("---\n{}x\n---\n", "- ".repeat(100_000))),
        "sparse" => File::create(file)?.set_len(1 << 30),
        _ => nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRUSR).map_err(io::Error::from),
    }
}

#[cfg(test)]
mod tests {
    use super::{Estimate, figures};

    #[test]
    fn figures_are_read_off_their_names() {
        let estimate = |(name, milliseconds): (&str, f64)| Estimate {
            name: name.to_owned(),
            nanoseconds: milliseconds * 1e6,
        };
        let all = [
            ("parse/parse_10000", 100.0),
            ("parse/examine_10000", 110.0),
            ("parse/read_10000", 50.0),
            ("discovery/cold_5000", 90.0),
            ("discovery/walk_5000", 40.0),
            ("discovery/refresh_5000", 15.0),
            ("discovery/stat_5000", 7.0),
        ];
        let read = figures(&all.map(estimate)).unwrap();
        let met: Vec<bool> = read.iter().map(super::Figure::is_met).collect();
        assert_eq!(met, [true, true, false]);
        assert!(figures(&all[1..].iter().copied().map(estimate).collect::<Vec<_>>()).is_none());
    }
}
