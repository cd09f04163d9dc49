//! What holds for any command line.

use std::time::{Duration, Instant};

use harness_trust::shell::{CommandLine, OpaqueKind, Place};
use harness_trust::test_support::{built_in_rules, check_command_line};
use proptest::prelude::*;

use crate::command_lines::rows;

#[test]
fn every_line_of_the_table_keeps_what_is_promised() {
    for row in rows() {
        check_command_line(row.line.as_bytes());
    }
}

#[test]
fn every_built_in_rule_is_read() {
    let (written, read) = built_in_rules();
    assert_eq!(written, read);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..64)) {
        check_command_line(&data);
    }

    #[test]
    fn any_sentence(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..16)) {
        check_command_line(pieces.concat().as_bytes());
    }
}

const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    "ls",
    "cat",
    "x",
    "/etc/passwd",
    "'",
    "\"",
    "\\",
    "$",
    "(",
    ")",
    "{",
    "}",
    "`",
    ";",
    "&",
    "|",
    "<",
    ">",
    "<<EOF",
    "\nEOF\n",
    "\n",
    "#",
    "*",
    "?",
    "[",
    "]",
    "~",
    "=",
    "!",
    "if",
    "then",
    "fi",
    "while",
    "do",
    "done",
    "case",
    "in",
    "esac",
    "for",
    "time",
    "-",
    "--",
    "1",
    "2>",
    "&>",
    "<<<",
    "<(",
    "$((",
    "${",
    "[[",
    "]]",
    "((",
    "))",
    ",",
    "..",
    "function",
    "coproc",
    "evil",
    "cd",
    "sudo",
    "\u{200b}",
    "é",
    "\t",
];

/// Lines that are made to take long or to nest deep.
#[test]
fn hostile_lines_are_bounded() {
    let nested = |open: &str, close: &str, times: usize| {
        format!("{}ls{}", open.repeat(times), close.repeat(times))
    };
    let lines = [
        "a".repeat(1 << 20),
        "a ".repeat(1 << 19),
        "'".repeat(1 << 20),
        "ls; ".repeat(4000),
        nested("( ", " )", 5000),
        nested("( ", "", 12),
        nested("( ", " )", 12),
        nested("(", "", 5000),
        nested("$(", ")", 5000),
        nested("$(", ")", 60),
        nested("${x:-", "}", 5000),
        nested("${x:-", "}", 60),
        nested("{ ", "; }", 12),
        nested("if ls; then ", "; fi", 12),
        nested("if ls; then ", "", 12),
        nested("case x in x) ", " ;; esac", 12),
        nested("case x in x) ", "", 12),
        nested("while ls; do ", "; done", 12),
        nested("f() { ", "; }", 12),
        nested("f() ( ", " )", 6),
        nested("[[ ( ", " ) ]]", 6),
        format!("[[ {} ]]", nested("( ", " )", 11)),
        "<".repeat(5000),
        "<<a ".repeat(1000),
        "`".repeat(5001),
        "! ".repeat(5000),
        "a=( ".repeat(12),
        "ls && ".repeat(1000),
        "ls | ".repeat(1000),
    ];
    for line in lines {
        let start = Instant::now();
        check_command_line(line.as_bytes());
        let taken = start.elapsed();
        let shown: String = line.chars().take(40).collect();
        assert!(taken < Duration::from_mins(1), "{shown} took {taken:?}");
    }
}

#[test]
fn what_is_too_much_is_said_so() {
    let kinds = |line: &str| {
        let parsed = CommandLine::parse(line, &Place::default());
        parsed.opaque.iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&"a".repeat(20_000)), [OpaqueKind::TooLong]);
    assert_eq!(kinds(&"a ".repeat(2000)), [OpaqueKind::TooLong]);
    assert_eq!(kinds(&"( ".repeat(20)), [OpaqueKind::TooDeep]);
    assert_eq!(kinds("echo ok"), []);
}
