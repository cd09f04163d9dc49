//! The house rules, as tests. They read `cargo metadata` and the sources, and hold what a compiler
//! cannot: what each crate may *not* know, and how the house is kept.
//!
//! | module | rules about |
//! |---|---|
//! | `arrows` | which crate may depend on which, and which heavy dependency belongs to whom |
//! | `core_is_pure` | `harness-core`: no I/O, no clock, no chance, no name of a provider or tool |
//! | `tools_know_little` | `harness-tools`: nothing of prompts, skills, sessions or models |
//! | `only_the_cli` | printing and environment variables |
//! | `charter` | what each crate must have: README, essay, lints, one integration binary |
//! | `names` | names of files and modules |
//! | `care` | lengths, unfinished work, exceptions to lints, unsafe code |
//! | `telemetry_table` | `docs/telemetry.md`: its table is what the schemas say |
//! | `machine` | paths of one machine, sleeping tests |
//!
//! Each rule is a function from data to a list of problems. One test feeds it the workspace and
//! wants no problem; the others feed it something bad and want the problem, so that a rule that
//! finds nothing has been seen to find.
//!
//! Some rules have a list of exceptions: `(path, reason)`. An entry that excuses nothing is a
//! problem too.

#![cfg(test)]

mod arrows;
mod care;
mod charter;
mod core_is_pure;
mod exceptions;
mod machine;
mod names;
mod only_the_cli;
mod search;
mod source;
mod telemetry_table;
mod tools_know_little;
mod workspace;

/// Fails with every problem at once, one a line.
#[track_caller]
fn assert_clean(problems: &[String]) {
    assert!(
        problems.is_empty(),
        "{} problem(s):\n{}\n",
        problems.len(),
        problems.join("\n")
    );
}

/// Fails unless each problem names, in order, what `expected` says.
#[track_caller]
fn assert_found(problems: &[String], expected: &[&str]) {
    let right = problems.len() == expected.len()
        && problems
            .iter()
            .zip(expected)
            .all(|(problem, expected)| problem.contains(expected));
    assert!(right, "expected {expected:#?}\nfound {problems:#?}");
}
