//! What holds for any command line.

use std::time::{Duration, Instant};

use harness_trust::shell::{CommandLine, OpaqueKind, Place};
use harness_trust::test_support::{built_in_rules, check_command_line};
use harness_trust::{Atom, Layer, Lexical, Rule, Rules, Surroundings, Verdict};
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
        "cd x; ".repeat(300),
        "eval ".repeat(900),
        "bash -c ".repeat(900),
        "trap 'eval x' EXIT; ".repeat(300),
        "echo `ls`; ".repeat(60),
        nested("eval 'cd x; ", "'", 12),
        nested("f() { cd x; ", "; }", 11),
        nested("for i in a; do cd x; ", "; done", 11),
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

/// Pieces of patterns, those among them that are long as regular expressions.
const OF_PATTERNS: &[&str] = &[
    "?",
    "*",
    "**",
    "**/",
    "/**",
    "/",
    "a",
    "é",
    "\u{10ffff}",
    "[!a]",
    "[a-z]",
    "[é-ü]",
    "[^\u{ff}-\u{100}]",
    "{a,b}",
    "{a,{b,c}}",
    "{?,*}",
    "{**/a,b}",
    "\\*",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "**/a",
    "*?",
    "[[:alpha:]]",
    "!",
    "-",
];

/// It is compiled by the first path that it is asked about, and a failure there would be a panic.
fn check_pattern(pattern: &str) {
    let around = Surroundings::new("/srv/shop")
        .with_home("/home/user")
        .with_paths(Lexical);
    for kind in ["read", "write"] {
        let Ok(rule) = Rule::parse(Verdict::Deny, &format!("{kind}({pattern})")) else {
            continue;
        };
        let rules = Rules::new().with(Layer::User, rule);
        for path in ["/srv/shop/a/b", "/home/user/x", "/etc"] {
            rules.decide(&Atom::Read(path.into()), &around);
            rules.decide(&Atom::Write(path.into()), &around);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pattern_that_is_read_can_be_asked(
        pieces in prop::collection::vec(prop::sample::select(OF_PATTERNS), 1..4),
        times in prop::sample::select(&[1_usize, 2, 40, 400, 4000]),
        end in prop::sample::select(&["", "/", "/**", "*"]),
    ) {
        let mut pattern = pieces.concat().repeat(times);
        pattern.truncate(pattern.floor_char_boundary(4096 - end.len()));
        check_pattern(&format!("{pattern}{end}"));
    }
}

#[test]
fn the_longest_patterns_can_be_asked_and_longer_ones_are_refused() {
    for piece in OF_PATTERNS {
        for before in ["", "/", "~/"] {
            let mut pattern = format!("{before}{}", piece.repeat(4096));
            pattern.truncate(pattern.floor_char_boundary(4096));
            check_pattern(&pattern);
        }
    }
    for pattern in ["?".repeat(200_000), "é".repeat(2049)] {
        let refused = Rule::parse(Verdict::Deny, &format!("read({pattern})")).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("at most 4096 bytes"),
            "{}",
            refused.get(..80).unwrap_or(&refused)
        );
    }
    for long in [
        "x".repeat(200_000),
        "*".repeat(200_000),
        "? ".repeat(100_000),
    ] {
        for kind in ["run", "net", "tool"] {
            if let Ok(rule) = Rule::parse(Verdict::Deny, &format!("{kind}({long})")) {
                let around = Surroundings::new("/srv/shop").with_paths(Lexical);
                let rules = Rules::new().with(Layer::User, rule);
                rules.decide(&Atom::Net(long.clone()), &around);
                rules.decide(&Atom::Tool(long.clone()), &around);
            }
        }
    }
}
