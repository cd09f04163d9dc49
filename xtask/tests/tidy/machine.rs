//! Nothing depends on one machine or on its speed: no developer's path in a file, no sleep in a
//! test.

use crate::exceptions::{Exceptions, check};
use crate::search::paths;
use crate::source::Source;
use crate::workspace::{sources, text_files};
use crate::{assert_clean, assert_found};

/// Where developers' machines keep their files.
const HOMES: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
];

/// People who have a home in examples, and on no machine.
const EXAMPLE_PEOPLE: &[&str] = &["ada", "someone", "user", "you"];

/// Files under `tests/` that may sleep, each with its reason.
const SLEEPERS: Exceptions<'_> = &[
    (
        "crates/harness-agent/tests/it/kill.rs",
        "kills a process at a random moment: whatever it is doing then, the same has to hold",
    ),
    (
        "crates/harness-cli/tests/it/program.rs",
        "looks again and again, under a deadline, for what another process does",
    ),
    (
        "crates/harness-telemetry/tests/it/receiver_http.rs",
        "plays a collector that answers a byte a second: the pace is what is tested",
    ),
    (
        "crates/harness-cli/tests/it/collector.rs",
        "plays a collector that answers a byte a second: the pace is what is tested",
    ),
    (
        "crates/harness-tools/tests/it/bed.rs",
        "looks again and again, under a deadline, for processes to be gone",
    ),
];

fn names_a_machine(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (line, content) in text.lines().enumerate() {
        for home in HOMES {
            let is_real = |at| begins_path(content, at) && !is_example(&content[at + home.len()..]);
            if content.match_indices(home).any(|(at, _)| is_real(at)) {
                problems.push(format!(
                    "{path}:{}: a path of one machine: {home}…",
                    line + 1
                ));
            }
        }
    }
    problems
}

/// Whether the `/` at `at` is the root, and not a part of `crates/x` or `~/x`.
fn begins_path(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|before: char| before.is_alphanumeric() || "_.-~*}>)".contains(before))
}

/// Whether what follows a home begins with the name of an example person.
fn is_example(rest: &str) -> bool {
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_' && next != '-');
    EXAMPLE_PEOPLE.contains(&&rest[..end.unwrap_or(rest.len())])
}

fn sleeps(source: &Source) -> Vec<String> {
    let code = source.code();
    let found = [paths(code, "thread", "sleep"), paths(code, "time", "sleep")].concat();
    let what = "a test waits for what happens, it does not sleep";
    found
        .into_iter()
        .map(|at| source.problem(at, what))
        .collect()
}

#[test]
fn no_file_names_a_developers_machine() {
    let files = text_files().iter();
    assert_clean(
        &files
            .flat_map(|(path, text)| names_a_machine(path, text))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn tests_do_not_sleep() {
    let tests = sources()
        .iter()
        .filter(|source| source.path.contains("/tests/"));
    assert_clean(&check(tests, SLEEPERS, sleeps));
}

#[test]
fn finds_a_developers_path() {
    let home = HOMES[0];
    let found = |text: &str, expected: &[&str]| {
        assert_found(&names_a_machine("a.md", text), expected);
    };
    found(
        &format!("x\nsee {home}me/x"),
        &["a.md:2: a path of one machine"],
    );
    found(&format!("\"{home}me\""), &["a.md:1: "]);
    found(&format!("{home}me"), &["a.md:1: "]);
    found(&format!("{home}adam/x"), &["a.md:1: "]);
    found(&format!("crates/x{home}y and ~{home}y"), &[]);
    found(&format!("{home}ada/x, `{home}you`, {home}user"), &[]);
}

#[test]
fn finds_a_sleeping_test() {
    let found = |text: &str, expected: &[&str]| {
        assert_found(
            &sleeps(&Source::new("crates/x/tests/it/a.rs", text)),
            expected,
        );
    };
    found("\ntokio::time::sleep(d).await;", &["a.rs:2: a test waits"]);
    found("use std::thread::{self, sleep};", &["a.rs:1: "]);
    found(
        "// thread::sleep\ntokio::time::sleep_until(x); bash(\"sleep 1\")",
        &[],
    );
}
