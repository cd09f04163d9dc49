//! Frontmatter that means harm: what stock readers die of, or get wrong without a word.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use harness_frontmatter::{Document, Error, Limits};

use crate::check;

/// The error of `text`, which has to come soon.
#[track_caller]
fn refused(text: &str) -> Error {
    let started = Instant::now();
    let error = Document::parse(text).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5), "{error}");
    error
}

fn fenced(block: &str) -> String {
    format!("---\n{block}\n---\nbody")
}

#[track_caller]
fn limited(block: &str, what: &str) {
    let error = refused(&fenced(block)).to_string();
    assert!(error.contains(what), "{error}");
}

/// Nine lists, each of nine times the one before: twelve gigabytes where aliases are expanded.
#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]".to_owned();
    for (last, next) in ('a'..='h').zip('b'..='i') {
        let nine = vec![format!("*{last}"); 9].join(",");
        write!(bomb, "\n{next}: &{next} [{nine}]").unwrap();
    }
    limited(&bomb, "limited to");
    // Few nodes, much text.
    let text = "x".repeat(10_000);
    let aliases = "- *a\n".repeat(60);
    limited(
        &format!("a: &a {text}\nb:\n{aliases}"),
        "the bytes of the frontmatter, with",
    );
    limited(
        &format!("a: &a x\nb:\n{}", "- *a\n".repeat(65)),
        "the aliases are limited to 64",
    );
    // Deep by way of aliases.
    let mut deep = "a0: &a0 [[[[x]]]]".to_owned();
    for level in 1..10 {
        write!(deep, "\na{level}: &a{level} [[*a{}]]", level - 1).unwrap();
    }
    limited(&deep, "the depth of lists and mappings is limited to 16");
    // Anchors within anchors are copied again and again.
    let nested = format!(
        "a: {}{}{}",
        "&x [".repeat(14),
        "y,".repeat(300),
        "]".repeat(14)
    );
    limited(&nested, "the nodes are limited to 4096");
}

#[test]
fn deep_nesting_is_refused_before_it_overflows() {
    for block in [
        format!("a:\n  {}x", "- ".repeat(3_000)),
        format!("a: {}", "[".repeat(3_000)),
        format!("a: {}", "[".repeat(200)),
        format!("a: {}{}", "[".repeat(200), "]".repeat(200)),
        format!("a: {}", "{".repeat(3_000)),
        format!("a: {}1{}", "{a: ".repeat(100), "}".repeat(100)),
        format!("a: {}", "? ".repeat(3_000)),
        (0..200).fold(String::new(), |all, level| {
            all + &" ".repeat(level) + "a:\n"
        }),
        (0..200).fold("a:\n".to_owned(), |all, level| {
            all + &" ".repeat(level) + "-\n"
        }),
    ] {
        let error = refused(&fenced(&block));
        let expected = matches!(error, Error::Limit { .. } | Error::Yaml { .. });
        assert!(expected, "{error}");
    }
    let deepest = format!("a: {}{}", "[".repeat(15), "]".repeat(15));
    assert!(Document::parse(&fenced(&deepest)).is_ok());
}

#[test]
fn size_is_bounded() {
    limited(
        &"k: v\n".repeat(20_000),
        "the bytes of the frontmatter are limited to 65536",
    );
    let keys: Vec<_> = (0..3_000).map(|n| format!("k{n}: v\n")).collect();
    limited(&keys.concat(), "the nodes are limited to 4096");
    let huge = fenced("a: b") + &"x".repeat(1024 * 1024);
    assert!(matches!(refused(&huge), Error::Limit { .. }));
    let open = format!("---\n{}", "a: b\n".repeat(150_000));
    assert!(matches!(refused(&open), Error::Unclosed { .. }));
    let mut limits = Limits::default();
    limits.nodes = 3;
    assert!(Document::parse_with("---\na: b\n---\n", &limits).is_ok());
    assert!(Document::parse_with("---\na: [b]\n---\n", &limits).is_err());
}

/// What takes time quadratic in its length, in one parser or another.
#[test]
fn time_is_bounded() {
    let n = 16_000;
    for block in [
        format!("a: [{}", "x, ".repeat(n)),
        format!("a: {{{}", "x, ".repeat(n)),
        format!("a: \"{}", "\\x41".repeat(n)),
        format!("a: {}", "'' ".repeat(n)),
        format!("a: {}", "&a ".repeat(n)),
        format!("a: {}", "!a ".repeat(n)),
        format!("a: |\n{}", " \n".repeat(n)),
        format!("a: >\n{}", "  x\n\n".repeat(n / 2)),
        format!("a: x\n{}", "  y\n".repeat(n)),
        "#\n".repeat(n),
        "\t\n".repeat(n),
        "%TAG ! x\n".repeat(n / 3),
        "? ".repeat(n),
        ": ".repeat(n),
        "a: b\n---x\n".repeat(n / 4),
        format!("{}: x", "k".repeat(60_000)),
        format!("a: [{}", "[a]: b, ".repeat(n / 3)),
        format!("a: {}", "\n".repeat(60_000)),
        format!("a: {}x", " ".repeat(60_000)),
        format!("a: x{}", "\u{a0}".repeat(30_000)),
    ] {
        let started = Instant::now();
        let _ = Document::parse(&fenced(&block));
        let took = started.elapsed();
        let shown: String = block.chars().take(20).collect();
        assert!(took < Duration::from_secs(3), "{shown:?}: {took:?}");
    }
}

#[test]
fn control_characters_do_not_truncate() {
    check(&[
        (
            "---\na: b\nc: d\0e\n---\nbody",
            "error: line 3, column 5: the control character U+0000 has no place here",
        ),
        (
            "---\na: b\n---\nbo\0dy",
            "error: line 4, column 3: the control character U+0000 has no place here",
        ),
        (
            "---\na: \u{1b}[31m\n---\n",
            "error: line 2, column 4: the control character U+001B has no place here",
        ),
        (
            "---\na: \u{85}b\n---\n",
            "error: line 2, column 4: the control character U+0085 has no place here",
        ),
        // An escape of YAML is no character of the file.
        ("---\na: \"\\0\"\n---\n", r#"{a: "\0"} | "" from 4"#),
    ]);
}
