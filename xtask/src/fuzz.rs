//! `cargo xtask fuzz`: runs the fuzzers themselves. What they check is in `test_support` of the crate
//! that promises it; the ordinary tests replay the corpora, so this is no step of `ci`.
//!
//! New inputs go to a working corpus below the target folder, not to the repository. An input that
//! breaks a promise belongs there: in `fuzz/corpus/`, under a name that tells what it showed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;
use xshell::{Cmd, cmd};

use crate::failure::Failure;
use crate::flags::Fuzz;
use crate::workspace::Workspace;

/// How long a target runs unless told, in seconds.
const SECONDS: u64 = 60;

/// Seconds for one input, and megabytes of memory: what takes more has lost a bound.
const BOUNDS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=2048"];

/// Optimised, and checked as in a debug build. Without a sanitizer: no target runs unsafe code of ours,
/// so what is looked for is a panic, and more inputs are tried in the same time.
const BUILD: [&str; 4] = ["--release", "--debug-assertions", "--sanitizer", "none"];

/// Runs the targets that `flags` name, or all of them, one after the other. It fails when one of them
/// finds something.
pub(crate) fn run(workspace: &Workspace, flags: &Fuzz) -> Result<ExitCode, Failure> {
    let home = workspace.root.join("fuzz");
    let targets = chosen(
        &flags.target,
        &names(workspace, &home.join("fuzz_targets"))?,
    )?;
    check_tools(workspace)?;

    let sh = &workspace.shell;
    let metadata = workspace.read(cmd!(sh, "cargo metadata --no-deps --format-version 1"))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let built = metadata["target_directory"].as_str();
    let built = built.ok_or_else(|| Failure::new("cargo did not say where it builds"))?;
    let built = Path::new(built);

    let mut broken = Vec::new();
    for target in targets {
        println!("\n== {target}");
        let artifacts = home.join("artifacts").join(&target);
        let before = files(workspace, &artifacts);
        let working = built.join("fuzz/corpus").join(&target);
        sh.create_dir(&working)?;
        let seeds = home.join("corpus").join(&target);
        let seconds = flags.seconds.unwrap_or(SECONDS).to_string();
        let jobs = flags.jobs.unwrap_or(1).to_string();
        let run = cargo_fuzz(workspace, "run")
            .args(BUILD)
            .args(["--jobs", &jobs, "--target-dir"])
            .args([built, Path::new(&target), &working, &seeds])
            .args(["--", &format!("-max_total_time={seconds}")])
            .args(["-print_final_stats=1", BOUNDS[0], BOUNDS[1]]);
        if let Err(failure) = workspace.run(run) {
            let found = files(workspace, &artifacts);
            let found: Vec<_> = found.difference(&before).cloned().collect();
            broken.push((target, failure, found));
        }
    }
    for (target, failure, found) in &broken {
        println!("\n{target}: {failure}");
        for input in found {
            println!("{}", advice(workspace, target, input));
        }
    }
    Ok(if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What to do with an input that broke a promise.
fn advice(workspace: &Workspace, target: &str, input: &Path) -> String {
    let input = input.strip_prefix(&workspace.root).unwrap_or(input);
    let input = input.display();
    let build = BUILD.join(" ");
    format!(
        "  {input}\n  replay: cargo +nightly fuzz run {build} {target} {input}\n  \
         keep: cp {input} fuzz/corpus/{target}/WHAT-IT-SHOWED; \
         cargo test --workspace --test it corpus::{target}"
    )
}

fn chosen(named: &[String], all: &[String]) -> Result<Vec<String>, Failure> {
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        return Err(Failure::new(format!(
            "{unknown} is none of the targets: {}",
            all.join(", ")
        )));
    }
    Ok(if named.is_empty() { all } else { named }.to_vec())
}

/// The names of the targets: of the files that hold them.
fn names(workspace: &Workspace, folder: &Path) -> Result<Vec<String>, Failure> {
    let files = workspace.shell.read_dir(folder)?;
    let stems = files.iter().filter_map(|path| path.file_stem()?.to_str());
    Ok(stems.map(str::to_owned).collect())
}

fn files(workspace: &Workspace, folder: &Path) -> BTreeSet<PathBuf> {
    let files = workspace.shell.read_dir(folder).unwrap_or_default();
    files.into_iter().collect()
}

fn check_tools(workspace: &Workspace) -> Result<(), Failure> {
    let sh = &workspace.shell;
    let answers = |command: Cmd<'_>| workspace.read(command.ignore_stderr()).is_ok();
    if !answers(cmd!(sh, "rustup run nightly rustc --version")) {
        return Err(Failure::new(
            "the fuzzers need a nightly toolchain: `rustup toolchain install nightly`",
        ));
    }
    if !answers(cargo_fuzz(workspace, "--version")) {
        return Err(Failure::new(
            "the fuzzers need cargo-fuzz: `cargo install cargo-fuzz --locked`",
        ));
    }
    Ok(())
}

/// Through rustup, as the toolchain that runs this would answer to `cargo` alone.
fn cargo_fuzz<'a>(workspace: &'a Workspace, verb: &str) -> Cmd<'a> {
    cmd!(workspace.shell, "rustup run nightly cargo fuzz {verb}")
}

#[cfg(test)]
mod tests {
    use super::{advice, chosen, names};
    use crate::workspace::Workspace;

    #[test]
    fn all_targets_or_those_that_are_named() {
        let all = ["a".to_owned(), "b".to_owned()];
        assert_eq!(chosen(&[], &all).unwrap(), all);
        assert_eq!(chosen(&all[1..], &all).unwrap(), ["b"]);
        let unknown = chosen(&["c".to_owned()], &all).unwrap_err();
        assert_eq!(unknown.to_string(), "c is none of the targets: a, b");
    }

    #[test]
    fn targets_have_the_names_of_their_files() {
        let workspace = Workspace::open().unwrap();
        let folder = workspace.root.join("fuzz/fuzz_targets");
        let names = names(&workspace, &folder).unwrap();
        assert!(names.contains(&"edit".to_owned()), "{names:?}");
    }

    #[test]
    fn says_how_to_replay_and_where_to_keep() {
        let workspace = Workspace::open().unwrap();
        let input = workspace.root.join("fuzz/artifacts/edit/crash-1");
        let advice = advice(&workspace, "edit", &input);
        assert!(advice.contains("none edit fuzz/artifacts/edit/crash-1\n"));
        assert!(advice.contains("cp fuzz/artifacts/edit/crash-1 fuzz/corpus/edit/"));
    }
}
