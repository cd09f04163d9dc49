//! Frontmatter that means harm: what stock readers die of, or get wrong without a word.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use harness_frontmatter::test_support::KINDS;
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

/// Reads `text` both ways on a small stack, and gives what `recover` says.
#[track_caller]
fn on_a_small_stack(text: String, limits: &Limits) -> Result<usize, Error> {
    let limits = limits.clone();
    let small = std::thread::Builder::new().stack_size(256 * 1024);
    let reader = small.spawn(move || {
        let _ = Document::from_bytes(text.as_bytes(), &limits);
        let recovered = Document::recover_bytes(text.as_bytes(), &limits, &KINDS);
        recovered.map(|recovered| recovered.repairs.len())
    });
    reader.unwrap().join().unwrap()
}

/// Lines of keys that differ, each with the same value.
fn keys(count: usize, value: &str) -> String {
    let keys: Vec<_> = (0..count).map(|key| format!("k{key}{value}\n")).collect();
    keys.concat()
}

/// So that size is not what stops it.
fn wide() -> Limits {
    let mut limits = Limits::default();
    limits.document_bytes = 16 * 1024 * 1024;
    limits.frontmatter_bytes = limits.document_bytes;
    limits.nodes = 1024 * 1024;
    limits
}

#[track_caller]
fn over_budget(text: &str) {
    for limits in [Limits::default(), wide()] {
        let error = on_a_small_stack(text.to_owned(), &limits).unwrap_err();
        assert_eq!(error.diagnostic().id(), "E-BUDGET", "{error}");
    }
}

#[test]
fn j02_lists_in_lists() {
    for depth in [3_000, 100_000] {
        over_budget(&fenced(&"- ".repeat(depth)));
        over_budget(&fenced(&format!(
            "description: x: y\na:\n  {}",
            "- ".repeat(depth)
        )));
    }
}

#[test]
fn j03_open_brackets() {
    over_budget(&fenced(&"[".repeat(200_000)));
    over_budget(&fenced(&format!("a: {}", "[".repeat(200_000))));
    over_budget(&fenced(&format!("a: {}", "{a: ".repeat(200_000))));
}

#[test]
fn j05_many_keys() {
    let many = keys(32_000, ": v");
    let error = on_a_small_stack(fenced(&many), &Limits::default()).unwrap_err();
    assert_eq!(error.diagnostic().id(), "E-BUDGET");
    assert_eq!(
        on_a_small_stack(fenced(&(many + "k: v: w")), &wide()),
        Ok(1)
    );
}

#[test]
fn j08_frontmatter_without_an_end() {
    let text = |lines| format!("---\n{}", "a: b\n".repeat(lines));
    let error = on_a_small_stack(text(2_000_000), &Limits::default()).unwrap_err();
    assert_eq!(error.diagnostic().id(), "E-BUDGET");
    let error = on_a_small_stack(text(200_000), &wide()).unwrap_err();
    assert_eq!(error.diagnostic().id(), "E-UNCLOSED");
}

/// Aliases that repeat aliases, beside what sends the reader through all its steps.
#[test]
fn recovery_has_one_budget() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (last, next) in ('a'..='h').zip('b'..='i') {
        let nine = vec![format!("*{last}"); 9].join(",");
        writeln!(bomb, "{next}: &{next} [{nine}]").unwrap();
    }
    for block in [
        format!("z: y: x\n{bomb}"),
        format!("a: \u{1}\n{bomb}"),
        format!("{bomb}z: y: x"),
        format!("{bomb}z: - x"),
    ] {
        let error = on_a_small_stack(fenced(&block), &wide()).unwrap_err();
        assert_eq!(error.diagnostic().id(), "E-BUDGET", "{error}");
    }
    // Read alone, a field knows no anchors of others: what has aliases is left out.
    let block = format!("z: - x\n{bomb}");
    assert_eq!(on_a_small_stack(fenced(&block), &wide()), Ok(9));
    // Each field alone is within the limits.
    let field = format!("[&a [{}], {}]", "x,".repeat(60), "*a,".repeat(60));
    let fields = keys(20, &format!(": {field}"));
    let error = on_a_small_stack(fenced(&format!("{fields}z: - x")), &Limits::default());
    assert_eq!(error.unwrap_err().diagnostic().id(), "E-BUDGET");
}

/// What would take time quadratic in its length if each line were looked at for all the others.
#[test]
fn many_broken_lines() {
    let n = 3_000;
    let lines = |line: &str| line.repeat(n);
    for block in [
        keys(n, ": a: b"),
        keys(n, ": , a"),
        keys(n, ": [a"),
        keys(n, ": {a,"),
        keys(n, ": *a"),
        lines("license: , a\n"),
        lines("license: 'a\n"),
        lines("license: \"a\\\n"),
        lines("license:MIT\n"),
        lines("metadata: {\"\n"),
        lines("prose\n"),
        format!("description: , a\n{}", lines("prose\n")),
        format!("description: , a\n{}", lines("[\n")),
        format!("x: - a\n{}", lines("y: &a *a\n")),
        format!("x: - a\n{}", lines("\u{1}")),
        format!("x: - a\n{}", lines("\u{1}a: b\n")),
        format!("x: \u{1}{}", lines("a: \u{1}")),
        format!("x: - {}", lines(" #")),
        format!("x: a: {}", lines("''")),
    ] {
        for limits in [Limits::default(), wide()] {
            let _ = on_a_small_stack(fenced(&block), &limits);
        }
    }
}
