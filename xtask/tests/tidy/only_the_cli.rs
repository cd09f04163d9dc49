//! Only `harness-cli` prints, and only its `environment.rs` reads environment variables. Libraries
//! take values, and return them.

use crate::search::{occurrences, paths};
use crate::source::Source;
use crate::workspace::{crates, sources_of};
use crate::{assert_clean, assert_found};

const PRINTER: &str = "harness-cli";
const ENVIRONMENT: &str = "crates/harness-cli/src/environment.rs";

const PRINTING: &[&str] = &[
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
    "io::stdout",
    "io::stderr",
];
const VARIABLES: &[&str] = &[
    "home_dir",
    "remove_var",
    "set_var",
    "var",
    "var_os",
    "vars",
    "vars_os",
];

fn prints(source: &Source) -> Vec<String> {
    let code = source.code();
    let mut found: Vec<_> = PRINTING
        .iter()
        .flat_map(|what| {
            occurrences(code, what)
                .into_iter()
                .map(move |at| (at, *what))
        })
        .collect();
    for stream in ["stdout", "stderr"] {
        found.extend(paths(code, "io", stream).into_iter().map(|at| (at, stream)));
    }
    found.sort_unstable();
    found.dedup_by_key(|(at, _)| *at);
    let problem = |(at, what)| source.problem(at, &format!("a library does not print: {what}"));
    found.into_iter().map(problem).collect()
}

fn reads_environment(source: &Source) -> Vec<String> {
    if source.path == ENVIRONMENT {
        return vec![];
    }
    let mut problems = Vec::new();
    for what in VARIABLES {
        for at in paths(source.code(), "env", what) {
            let what = format!("env::{what} outside {ENVIRONMENT}");
            problems.push(source.problem(at, &what));
        }
    }
    problems
}

#[test]
fn libraries_do_not_print() {
    let libraries = crates().filter(|package| package.name != PRINTER);
    let sources = libraries.flat_map(|package| sources_of(&package.name));
    assert_clean(
        &sources
            .flat_map(|source| prints(&source))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn one_file_reads_the_environment() {
    let sources = crates().flat_map(|package| sources_of(&package.name));
    assert_clean(
        &sources
            .flat_map(|source| reads_environment(&source))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn finds_printing() {
    let found = |text: &str, expected: &[&str]| {
        let source = Source::new("crates/x/src/y.rs", text).outside_tests();
        assert_found(&prints(&source), expected);
    };
    found(
        "fn f() {\n println!(\"x\"); }",
        &["y.rs:2: a library does not print: println!"],
    );
    found("eprint!(); dbg!(x);", &["eprint!", "dbg!"]);
    found("std::io::stdout().lock()", &["stdout"]);
    found("use std::io::{Write, stderr};", &["stderr"]);
    found(
        "/// println!(\"x\")\nfn f() { writeln!(out, \"println!\") }",
        &[],
    );
    found("#[cfg(test)] mod tests { fn f() { println!(); } }", &[]);
}

#[test]
fn finds_environment_variables() {
    let found = |path: &str, text: &str, expected: &[&str]| {
        assert_found(&reads_environment(&Source::new(path, text)), expected);
    };
    found(
        "crates/x/src/y.rs",
        "std::env::var_os(\"HOME\")",
        &["y.rs:1: env::var_os outside"],
    );
    found(
        "crates/x/src/y.rs",
        "use std::env::{self, var};",
        &["env::var outside"],
    );
    found(
        "crates/harness-cli/src/run.rs",
        "env::vars()",
        &["env::vars outside"],
    );
    found(
        "crates/x/src/y.rs",
        "env!(\"CARGO_PKG_VERSION\"); env::args();",
        &[],
    );
    found(ENVIRONMENT, "env::var(\"NO_COLOR\")", &[]);
}
