//! The tools, each called as `harness tools call` does it, beside the program that a person would
//! use for the same: whole processes, from start to exit, with what they read in the page cache.
//!
//! Before the rounds each side runs once for its output, and must have found the same. In the rounds
//! the output goes to the null device.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::child;
use crate::bench::contest::{Contender, hold};
use crate::bench::figure::{Figure, megabytes, time};
use crate::bench::ground::plan::{RARE_LINES, RUST_FILES};
use crate::bench::ground::text::{FREQUENT, NOWHERE, RARE};
use crate::bench::ground::{ENTRIES, Ground, LARGE, MARK};
use crate::bench::rig::{Metered, Rig, failed};
use crate::bench::rounds::Rounds;
use crate::failure::Failure;

/// What `grep` shows unless it is told another number.
const GREP_MATCHES: usize = 100;
/// What `find` shows, and the most that it can be told to show.
const FIND_PATHS: usize = 1_000;
const MOST_FIND_PATHS: usize = 10_000;
/// The most that `ls` can be told to show.
const MOST_LS_ENTRIES: usize = 5_000;

/// What `bash` shows of an output.
const BASH_LINES: usize = 2_000;

/// Seconds that the endless command may run.
const YES_SECONDS: f64 = 5.0;

pub(crate) const GREP_RARE: Figure = Figure::new(
    "`grep`, a rare literal in 50,000 files, 1 GB",
    "at most 1.15 × `rg --json`",
);
pub(crate) const GREP_NOWHERE: Figure = Figure::new(
    "`grep`, a literal that is nowhere",
    "at most 1.15 × `rg --json`",
);
pub(crate) const GREP_FREQUENT: Figure = Figure::new(
    "`grep`, the first 100 matches of a frequent regex",
    "at most 1.15 × `rg --json`",
);
pub(crate) const FIND_ALL: Figure = Figure::new(
    "`find`, all 8,159 `*.rs` of the tree",
    "at most 1.15 × `fd`",
);
pub(crate) const FIND_FIRST: Figure =
    Figure::new("`find`, the first 1,000 of them", "at most 1.15 × `fd`");
pub(crate) const LS: Figure = Figure::new(
    "`ls`, 500 of a folder of 20,000 entries",
    "at most 1.5 × `ls -AF`",
);
pub(crate) const LS_MOST: Figure = Figure::new("`ls`, 5,000 of them", "at most 1.5 × `ls -AF`");
pub(crate) const EDIT: Figure =
    Figure::new("`edit`, once in a file of 100 MB", "at most 3 × `sed -i`");
pub(crate) const EDIT_MEMORY: Figure = Figure::new("peak memory of it", "at most 3 × the file");
pub(crate) const YES: Figure = Figure::new(
    "peak memory of `bash` while it runs `yes` for 5 s",
    "at most 30 MB",
);

impl Rig {
    /// A call of a tool in a folder.
    fn call(&self, folder: &Path, tool: &str, arguments: &Value, metered: Metered) -> Command {
        let mut command = self.command(&self.programs.harness, metered);
        command
            .args(["tools", "call", tool, &arguments.to_string()])
            .current_dir(folder);
        command
    }

    fn caller<'a>(
        &'a self,
        name: &'static str,
        folder: &'a Path,
        tool: &'a str,
        arguments: Value,
    ) -> Contender<'a> {
        Contender::new(name, move || {
            self.call(folder, tool, &arguments, Metered::No)
        })
    }

    /// A program in a folder, with these arguments.
    fn peer<'a>(
        &'a self,
        name: &'static str,
        program: &'a Path,
        folder: &'a Path,
        arguments: &'a [&'a str],
    ) -> Contender<'a> {
        Contender::new(name, move || {
            let mut command = self.command(program, Metered::No);
            command.args(arguments).current_dir(folder);
            command
        })
    }
}

/// What makes `rg` look into the same files as `grep`: hidden ones, `.git` not, and ignore files
/// count although nobody may have run `git init`. Both leave binary files out from their first NUL
/// on; ours then drops the matches before it too. Of a long line ours shows a window, `rg` all.
const RG: &[&str] = &[
    "--json",
    "--hidden",
    "--glob=!.git",
    "--no-require-git",
    "--no-config",
];

fn rg_arguments<'a>(pattern: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    // The folder is named, or else `rg` would look whether its input is to be searched.
    [RG, more, &["-e", pattern, "./"]].concat()
}

pub(crate) fn grep(
    rig: &Rig,
    rg: &Path,
    ground: &Ground,
    rounds: Rounds,
) -> Result<Vec<Figure>, Failure> {
    let tree = ground.tree()?;
    let call = |name, arguments| rig.caller(name, &tree, "grep", arguments);
    let mut figures = Vec::new();

    for (figure, pattern, lines) in [(GREP_RARE, RARE, RARE_LINES), (GREP_NOWHERE, NOWHERE, 0)] {
        let arguments = rg_arguments(pattern, &["--fixed-strings"]);
        let contenders = [
            call("harness", json!({"pattern": pattern, "literal": true})),
            // 1 says that nothing was found.
            rig.peer("rg --json", rg, &tree, &arguments).codes(&[0, 1]),
        ];
        let [ours, theirs] = [contenders[0].output()?, contenders[1].output()?];
        expect("lines of grep", count(&ours, RARE), lines)?;
        expect("lines of rg", matches(&theirs), lines)?;
        let [harness, theirs] = hold(pattern, rounds, &contenders)?;
        figures.push(harness.beside(theirs, figure, 1.15));
    }

    // `rg` has no limit over all files, so the figure is beside all that it has to say. What comes
    // nearest to ours is printed: sorted, which it does on one thread, and ended after a hundred.
    let all = rg_arguments(FREQUENT, &[]);
    let sorted = rg_arguments(FREQUENT, &["--sort=path"]);
    let said = cut_off(rig, rg, &tree, &sorted, "1000").output()?;
    let lines = lines_to_match(&said, GREP_MATCHES).to_string();
    let contenders = [
        call("harness", json!({"pattern": FREQUENT})),
        call(
            "harness, limit 1000",
            json!({"pattern": FREQUENT, "limit": 10 * GREP_MATCHES}),
        ),
        rig.peer("rg --json", rg, &tree, &all),
        cut_off(rig, rg, &tree, &sorted, &lines),
    ];
    let shown = contenders[0].output()?;
    expect("lines of grep", count(&shown, "fn "), GREP_MATCHES)?;
    expect(
        "lines of rg",
        matches(&contenders[3].output()?),
        GREP_MATCHES,
    )?;
    let [harness, _, all, _] = hold(FREQUENT, rounds, &contenders)?;
    figures.push(harness.beside(all, GREP_FREQUENT, 1.15));
    Ok(figures)
}

/// `rg` that is ended by whoever reads it.
fn cut_off<'a>(
    rig: &'a Rig,
    rg: &'a Path,
    folder: &'a Path,
    arguments: &'a [&'a str],
    lines: &'a str,
) -> Contender<'a> {
    Contender::new("rg --json --sort path | head", move || {
        let mut command = rig.command(Path::new("sh"), Metered::No);
        let script = r#"lines=$1; shift; "$@" | head -n "$lines""#;
        command.args(["-c", script, "sh", lines]).arg(rg);
        command.args(arguments).current_dir(folder);
        command
    })
}

/// As [`RG`], for `fd`.
const FD: &[&str] = &["--hidden", "--no-require-git", "--exclude=.git"];

pub(crate) fn find(
    rig: &Rig,
    fd: &Path,
    ground: &Ground,
    rounds: Rounds,
) -> Result<Vec<Figure>, Failure> {
    let tree = ground.tree()?;
    let call = |name, arguments| rig.caller(name, &tree, "find", arguments);
    let all = [FD, &["--glob", "*.rs"]].concat();
    let most = format!("--max-results={FIND_PATHS}");
    let some = [FD, &[&most, "--glob", "*.rs"]].concat();
    let fd = |name, arguments| rig.peer(name, fd, &tree, arguments);

    let arguments = json!({"pattern": "*.rs", "limit": MOST_FIND_PATHS});
    let contenders = [call("harness", arguments.clone()), fd("fd", &all)];
    let theirs = contenders[1].output()?.lines().count();
    expect("paths of fd", theirs, RUST_FILES)?;
    let in_json = Contender::new("harness", || {
        let mut command = rig.call(&tree, "find", &arguments, Metered::No);
        command.args(["--output", "json"]);
        command
    });
    let ours: Value = serde_json::from_str(&in_json.output()?)?;
    let paths = ours["details"]["paths"].as_u64().unwrap_or(0);
    expect("paths of find", paths as usize, RUST_FILES)?;
    let [harness, all_paths] = hold("*.rs, all", rounds, &contenders)?;

    let contenders = [
        call("harness", json!({"pattern": "*.rs"})),
        fd("fd", &all),
        // Any thousand, in no order; ours are the first.
        fd("fd --max-results 1000", &some),
    ];
    let [first, all, _] = hold("*.rs, the first 1,000", rounds, &contenders)?;
    Ok(vec![
        harness.beside(all_paths, FIND_ALL, 1.15),
        first.beside(all, FIND_FIRST, 1.15),
    ])
}

pub(crate) fn ls(rig: &Rig, ground: &Ground, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let (wide, empty) = (ground.wide()?, ground.empty()?);
    let ls = Path::new("ls");
    // The environment names no language, so `ls` compares bytes, which is its fastest.
    let contenders = [
        rig.caller("harness, 500 of them", &wide, "ls", json!({})),
        rig.caller(
            "harness, 5,000 of them",
            &wide,
            "ls",
            json!({"limit": MOST_LS_ENTRIES}),
        ),
        // It shows what is a folder and what a link, as ours does, for all of the entries.
        rig.peer("ls -AF", ls, &wide, &["-AF"]),
        rig.peer("ls -A", ls, &wide, &["-A"]),
        rig.caller("harness, an empty folder", &empty, "ls", json!({})),
    ];
    let shown = contenders[0].output()?;
    let total = format!("of {ENTRIES} entries");
    expect("notices of ls", count(&shown, &total), 1)?;
    expect(
        "lines of ls",
        contenders[2].output()?.lines().count(),
        ENTRIES,
    )?;
    let [some, most, ls, _, _] = hold("20,000 entries", rounds, &contenders)?;
    Ok(vec![
        some.beside(ls, LS, 1.5),
        most.beside(ls, LS_MOST, 1.5),
    ])
}

pub(crate) fn edit(rig: &Rig, ground: &Ground, rounds: Rounds) -> Result<Vec<Figure>, Failure> {
    let scratch = ground.scratch()?;
    let file = Copy {
        original: ground.large()?,
        path: scratch.join("large.txt"),
    };
    let new = MARK.to_uppercase();
    let script = format!("s/{MARK}/{new}/");
    let in_place = ["-i", script.as_str(), "large.txt"];
    let and_sync = [
        "-c",
        r#"sed -i "$1" large.txt && sync large.txt"#,
        "sh",
        script.as_str(),
    ];
    let arguments = json!({
        "path": "large.txt",
        "edits": [{"old_text": MARK, "new_text": new}],
    });
    let contenders = [
        rig.caller("harness", &scratch, "edit", arguments.clone()),
        rig.peer("sed -i", Path::new("sed"), &scratch, &in_place),
        // Ours is on the disk before it takes the name of the old one; this gives as much.
        rig.peer("sed -i, then sync", Path::new("sh"), &scratch, &and_sync),
    ]
    .map(|contender| contender.before(|| file.restore()));
    for contender in &contenders {
        contender.output()?;
        file.check(&new)?;
    }
    let [harness, sed, _] = hold("once in 100 MB", rounds.one_in(4), &contenders)?;

    file.restore()?;
    let mut metered = rig.call(&scratch, "edit", &arguments, Metered::Yes);
    child::run(&mut metered)?;
    file.check(&new)?;
    let memory = rig.read_report()?.memory;
    file.remove()?;
    let size = LARGE as f64;
    Ok(vec![
        harness.beside(sed, EDIT, 3.0),
        EDIT_MEMORY
            .measured(megabytes(memory))
            .ratio(memory / size)
            .met(memory <= 3.0 * size),
    ])
}

/// A file that is changed and put back.
struct Copy {
    original: PathBuf,
    path: PathBuf,
}

impl Copy {
    /// Puts a fresh copy there, and on the disk: else whoever runs next would write it there.
    fn restore(&self) -> Result<(), Failure> {
        self.remove()?;
        let copied = fs::copy(&self.original, &self.path).and_then(|_| {
            let file = File::open(&self.path)?;
            file.sync_all()
        });
        copied.map_err(failed("a copy of the large file"))
    }

    fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if self.path.exists() => Err(failed("the old copy")(error)),
            _ => Ok(()),
        }
    }

    /// Whether the middle of the file has the new text, and the file its size.
    fn check(&self, new: &str) -> Result<(), Failure> {
        let read = || {
            let mut file = File::open(&self.path)?;
            let size = file.metadata()?.len();
            file.seek(SeekFrom::Start(LARGE as u64 / 2))?;
            let mut middle = Vec::new();
            file.take(200).read_to_end(&mut middle)?;
            Ok((size, String::from_utf8_lossy(&middle).into_owned()))
        };
        let (size, middle) = read().map_err(failed("the edited file"))?;
        if size == LARGE as u64 && middle.contains(new) {
            return Ok(());
        }
        Err(Failure::new("the file was not edited"))
    }
}

pub(crate) fn yes(rig: &Rig, ground: &Ground) -> Result<Vec<Figure>, Failure> {
    let arguments = json!({"command": "yes", "timeout": YES_SECONDS});
    // The meter tells the largest of harness and of what it started, and `yes` is small.
    let empty = ground.empty()?;
    let finished = child::run(&mut rig.call(&empty, "bash", &arguments, Metered::Yes))?;
    let shown = finished.stdout.lines().filter(|it| *it == "y").count();
    expect("lines of yes", shown, BASH_LINES)?;
    let cost = rig.read_report()?;
    let notice = finished.stdout.lines().find(|it| it.starts_with("[Lines"));
    println!(
        "  {}; {} in all, CPU {}",
        notice.unwrap_or("nothing was left out"),
        time(finished.took.as_secs_f64()),
        time(cost.cpu)
    );
    Ok(vec![
        YES.measured(megabytes(cost.memory))
            .met(cost.memory <= 30e6),
    ])
}

/// How many lines hold this text.
fn count(text: &str, part: &str) -> usize {
    text.lines().filter(|it| it.contains(part)).count()
}

/// How many lines of the JSON of `rg` are matches.
fn matches(said: &str) -> usize {
    said.lines().filter(|it| is_match(it)).count()
}

fn is_match(line: &str) -> bool {
    line.starts_with(r#"{"type":"match""#)
}

/// How many lines of the JSON of `rg` it takes until so many are matches.
fn lines_to_match(said: &str, wanted: usize) -> usize {
    let places = said.lines().enumerate().filter(|(_, it)| is_match(it));
    let mut places = places.map(|(place, _)| place + 1);
    places.nth(wanted - 1).unwrap_or(usize::MAX)
}

/// A figure counts only when the work was done.
fn expect(what: &str, found: usize, expected: usize) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(format!("{found} {what}, not {expected}")))
}

#[cfg(test)]
mod tests {
    use super::{expect, lines_to_match, matches};

    #[test]
    fn counts_the_matches_of_rg() {
        let said = r#"{"type":"begin","data":{}}
{"type":"match","data":{}}
{"type":"end","data":{}}
{"type":"match","data":{}}
"#;
        assert_eq!(matches(said), 2);
        assert_eq!(lines_to_match(said, 1), 2);
        assert_eq!(lines_to_match(said, 2), 4);
        assert_eq!(lines_to_match(said, 3), usize::MAX);
    }

    #[test]
    fn another_number_is_a_failure() {
        assert!(expect("lines", 2, 2).is_ok());
        let failure = expect("lines", 1, 2).unwrap_err();
        assert_eq!(failure.to_string(), "1 lines, not 2");
    }
}
