//! Lengths, unfinished work, exceptions to lints, unsafe code.

use crate::exceptions::{Exceptions, check};
use crate::search::occurrences;
use crate::source::{Source, matching};
use crate::workspace::sources;
use crate::{assert_clean, assert_found};

/// A longer file has more than one noun.
const LINES: usize = 600;

const LONG_FILES: Exceptions<'_> = &[];
const UNSAFE_FILES: Exceptions<'_> = &[
    (
        "crates/harness-sandbox/src/prepared.rs",
        "only code between fork and exec can confine the child and not the parent",
    ),
    (
        "crates/harness-tools/src/process.rs",
        "only code between fork and exec can put a command into a session of its own",
    ),
];

/// Files that may have `#[allow]`.
const EXCUSED_FILES: &[(&str, &str)] = &[(
    "crates/harness-telemetry/src/macros.rs",
    "what a macro makes is unused in some places and used in others: `#[expect]` would fail in the others",
)];

fn is_long(source: &Source) -> Vec<String> {
    match source.text.lines().count() {
        lines if lines > LINES => vec![format!("{}: {lines} lines, over {LINES}", source.path)],
        _ => vec![],
    }
}

fn is_unsafe(source: &Source) -> Vec<String> {
    let found = occurrences(source.code(), "unsafe").into_iter();
    found
        .map(|at| source.problem(at, "unsafe code in a file that is not listed for it"))
        .collect()
}

fn is_unfinished(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    for what in ["todo!", "unimplemented!", "#[ignore"] {
        for at in occurrences(source.code(), what) {
            problems.push(source.problem(at, &format!("unfinished: {what}")));
        }
    }
    for mark in [concat!("FIX", "ME"), concat!("XX", "X")] {
        for at in occurrences(source.comments(), mark) {
            problems.push(source.problem(at, &format!("unfinished: {mark}")));
        }
    }
    problems
}

/// `#[allow]` outlives its cause in silence. `#[expect]` is told when the cause has gone, and needs
/// a reason.
fn excuses_itself(source: &Source) -> Vec<String> {
    let code = source.code();
    let mut problems = Vec::new();
    for opening in ["#[allow(", "#![allow("] {
        for at in occurrences(code, opening) {
            problems.push(source.problem(at, "#[expect(…, reason = \"…\")] instead of #[allow]"));
        }
    }
    for opening in ["#[cfg_attr(", "#![cfg_attr("] {
        for at in occurrences(code, opening) {
            if !occurrences(attribute(code, at), "allow(").is_empty() {
                problems
                    .push(source.problem(at, "#[expect] instead of #[allow], also in cfg_attr"));
            }
        }
    }
    for opening in ["#[expect(", "#![expect("] {
        for at in occurrences(code, opening) {
            if occurrences(attribute(code, at), "reason=").is_empty() {
                problems.push(source.problem(at, "#[expect] without a reason"));
            }
        }
    }
    problems
}

/// The attribute that begins at the `#` at `at`.
fn attribute(code: &str, at: usize) -> &str {
    let open = code[at..].find('[').map_or(at, |length| at + length);
    &code[at..matching(code, open)]
}

#[test]
fn files_are_short() {
    assert_clean(&check(sources(), LONG_FILES, is_long));
}

#[test]
fn unsafe_code_is_listed() {
    assert_clean(&check(sources(), UNSAFE_FILES, is_unsafe));
}

#[test]
fn nothing_is_left_unfinished() {
    assert_clean(&check(sources(), &[], is_unfinished));
}

#[test]
fn exceptions_to_lints_have_reasons() {
    assert_clean(&check(sources(), EXCUSED_FILES, excuses_itself));
}

#[track_caller]
fn found(rule: fn(&Source) -> Vec<String>, text: &str, expected: &[&str]) {
    assert_found(&rule(&Source::new("a.rs", text)), expected);
}

#[test]
fn finds_a_long_file() {
    found(
        is_long,
        &"x\n".repeat(LINES + 1),
        &["a.rs: 601 lines, over 600"],
    );
    found(is_long, &"x\n".repeat(LINES), &[]);
}

#[test]
fn finds_unsafe_code() {
    found(
        is_unsafe,
        "fn f() { unsafe { g() } }",
        &["a.rs:1: unsafe code"],
    );
    found(
        is_unsafe,
        "// unsafe\n#![forbid(unsafe_code)] \"unsafe\"",
        &[],
    );
}

#[test]
fn finds_unfinished_work() {
    found(
        is_unfinished,
        "fn f() { todo!() }\nunimplemented!();",
        &["a.rs:1: ", "a.rs:2: "],
    );
    found(
        is_unfinished,
        "#[ignore = \"slow\"] #[ignore]",
        &["#[ignore", "#[ignore"],
    );
    found(
        is_unfinished,
        concat!("// FIX", "ME: later"),
        &[concat!("FIX", "ME")],
    );
    found(is_unfinished, "// XXXXXX in a name\n\"todo!\"", &[]);
}

#[test]
fn finds_exceptions_without_reasons() {
    found(
        excuses_itself,
        "#[allow(dead_code)] #![allow(x)]",
        &["#[allow]", "#[allow]"],
    );
    found(
        excuses_itself,
        "#[cfg_attr(unix, allow(dead_code))]",
        &["also in cfg_attr"],
    );
    found(
        excuses_itself,
        "#[expect(dead_code)]",
        &["a.rs:1: #[expect] without a reason"],
    );
    found(
        excuses_itself,
        "#[expect(\n dead_code,\n reason = \"later\"\n)]",
        &[],
    );
    found(
        excuses_itself,
        "x.expect(\"y\"); #[cfg_attr(unix, derive(Debug))]",
        &[],
    );
}
