//! What is repaired, and what is not.

use harness_frontmatter::test_support::{KINDS, check_frontmatter};
use harness_frontmatter::{Document, Limits};

use crate::mapping;

/// The fields and the repairs of a block, or the error.
fn recovered(block: &str) -> String {
    let text = format!("---\n{block}\n---\nbody");
    check_frontmatter(text.as_bytes());
    match Document::recover(&text, &Limits::default(), &KINDS) {
        Ok(recovered) => {
            let repairs = recovered.repairs.iter();
            let repairs: Vec<_> = repairs
                .map(|repair| {
                    let at = repair.position;
                    format!("{:?} {}@{}:{}", repair.kind, repair.key, at.line, at.column)
                })
                .collect();
            let fields = mapping(&recovered.document.fields);
            format!("{fields} {}", repairs.join(", "))
        }
        Err(error) => format!("error: {error}"),
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter(|(block, expected)| recovered(block) != *expected)
        .map(|(block, expected)| format!("{block:?}\n  is  {}\n  not {expected}", recovered(block)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn quotes_are_put_where_they_are_missing() {
    check(&[
        (
            "description: it's: a # comment\nversion: 1.10",
            r#"{description: "it's: a", version: "1.10"} Quoted description@2:14"#,
        ),
        (
            "\"other\": a: b\n\nlicense:\t*x* y\n# c\n",
            r#"{other: "a: b", license: "*x* y"} Quoted other@2:10, Quoted license@4:10"#,
        ),
        // What is YAML by itself is left as it is.
        (
            "a: &x b\nb: *x\nc: [1, 2]\nd: {e: f}\ng: 'h: i'\nj: k: l",
            r#"{a: "b", b: "b", c: ["1", "2"], d: {e: "f"}, g: "h: i", j: "k: l"} Quoted j@7:4"#,
        ),
        // Lines within a value are never touched.
        (
            "a: |\n  b: c: d\ne: f: g",
            r#"{a: "b: c: d\n", e: "f: g"} Quoted e@4:4"#,
        ),
    ]);
}

#[test]
fn text_is_taken_as_it_stands() {
    check(&[
        (
            "description: Use when: x\n  and: y\n  more\n\nlicense: MIT",
            r#"{description: "Use when: x and: y more", license: "MIT"} Raw description@2:14"#,
        ),
        (
            "description:\n  Use when: x: y\nlicense: MIT",
            r#"{description: "Use when: x: y", license: "MIT"} Raw description@2:13"#,
        ),
        (
            "description: \"a \\d\n  b\"\nname: x",
            r#"{description: "a \\d b", name: "x"} Raw description@2:14"#,
        ),
        (
            "description: \"a\" and \"b: c\"",
            r#"{description: "\"a\" and \"b: c\""} Raw description@2:14"#,
        ),
        (
            "description: >\n  a\n b: c: d",
            r#"{description: "a b: c: d"} Raw description@2:14"#,
        ),
        (
            "description: > a\nlicense: null\nprose",
            r#"{description: "> a", license: "null prose"} Raw description@2:14, Raw license@3:10"#,
        ),
        // Words before a colon are prose, and no key.
        (
            "description: , a\nUse this: when",
            r#"{description: ", a Use this: when"} Raw description@2:14"#,
        ),
    ]);
}

#[test]
fn other_fields_are_left_out() {
    check(&[
        ("tags: a: b\nname: x", r#"{name: "x"} Dropped tags@2:1"#),
        (
            "other: , x\nname: a: b",
            r#"{name: "a: b"} Dropped other@2:1, Quoted name@3:7"#,
        ),
        (
            "other: {{ x }}\nname: x",
            r#"{name: "x"} Dropped other@2:1"#,
        ),
        ("some words\nname: x", r#"{name: "x"} Dropped @2:1"#),
        // What lacks a blank is not taken for prose of the field above.
        (
            "name: x\nlicense:MIT\nother: y",
            r#"{name: "x", other: "y"} Dropped license@3:1"#,
        ),
        // JSON that was cut off.
        (
            "metadata: {\"a\":{\"b\":[\"c\"\nname: x",
            r#"{name: "x"} Dropped metadata@2:1"#,
        ),
        // What looks like a field is within brackets.
        (
            "metadata: {\nname: y,\n}\nname: x",
            r#"{name: "x"} Dropped metadata@2:1"#,
        ),
    ]);
}

#[test]
fn of_two_the_last_one_counts() {
    check(&[
        ("a: 1\nb: 2\na: 3", r#"{a: "3", b: "2"} LastWins a@4:1"#),
        (
            "metadata:\n  name: 1\n  name: 2\n  x: {y: 1, y: 2}",
            r#"{metadata: {name: "2", x: {y: "2"}}} LastWins metadata@4:3, LastWins metadata@5:13"#,
        ),
        (
            "a: 1\ntags: - x\na: 2",
            r#"{a: "2"} Dropped tags@3:1, LastWins a@4:1"#,
        ),
        (
            "name: 1\nname: 2",
            "error: line 3, column 1: the key `name` is there already, at line 2, column 1",
        ),
        (
            "name: 1\ntags: - x\nname: 2",
            "error: line 3, column 7: the frontmatter is not YAML: \
             block sequence entries are not allowed in this context",
        ),
    ]);
}

#[test]
fn control_characters_are_taken_out() {
    check(&[
        (
            "a: b\u{85}c\u{1b}[0m\nname: \u{7f}x",
            r#"{a: "bc[0m", name: "x"} ControlRemoved a@2:5"#,
        ),
        // The places are those of the file.
        (
            "\u{1}a: {\u{2}b: c, b: d}\n",
            r#"{a: {b: "d"}} ControlRemoved a@2:1, LastWins a@2:13"#,
        ),
        (
            "a: b\n---\u{1}\nc: d",
            "error: line 3, column 4: the control character U+0001 has no place here",
        ),
        (
            "a: \u{1}b\nname: \0",
            "error: line 3, column 7: the control character U+0000 has no place here",
        ),
    ]);
}

#[test]
fn what_cannot_be_told_stays_an_error() {
    for (block, code) in [
        ("description: \"a \\d\nname: x", "YAML"),
        ("description: 'tis: x\nname: x", "YAML"),
        ("metadata:\n  a: \"b\nname: x", "YAML"),
        ("metadata: {\nname: x,\nother: y: z", "YAML"),
        ("metadata:\n  a: [b,\nname: c]", "YAML"),
        ("{\nname: x,\ndescription: y: z\n}", "YAML"),
        ("- a: b: c\nname: x", "YAML"),
        ("  a: b: c\n  name: x", "YAML"),
        ("name: x\n...\ndescription: y", "YAML"),
        ("tags: - x", "YAML"),
        ("description: {{ x }}\ntags: y", "KEY-TYPE"),
        ("tags: - x\ndescription: {{ x }}", "YAML"),
        ("{{ x }}: y", "KEY-TYPE"),
        ("a: &x [*x]\nb: c: d", "ALIAS"),
        ("name: a: b\ntags: &x [*x]", "ALIAS"),
        (
            "name: a: b\nother: [[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]",
            "BUDGET",
        ),
    ] {
        let text = format!("---\n{block}\n---\n");
        check_frontmatter(text.as_bytes());
        let error = Document::recover(&text, &Limits::default(), &KINDS).unwrap_err();
        assert_eq!(error.code().name(), code, "{block:?}: {error}");
    }
}

/// J09: a NUL is an error wherever it is.
#[test]
fn j09_a_nul_never_shortens() {
    let text = "---\nname: demo\ndescription: Does: a thing.\n---\nBody text.\n";
    for at in 0..=text.len() {
        let mut text = text.to_owned();
        text.insert(at, '\0');
        let error = Document::recover(&text, &Limits::default(), &KINDS).unwrap_err();
        assert_eq!(error.diagnostic().id(), "E-NUL");
    }
}

/// J10: the beginning of a file is an error, or has fewer fields.
#[test]
fn j10_a_prefix_makes_nothing_up() {
    let text =
        "---\nname: demo\ndescription: 'Does: a thing.'\nmetadata:\n  a: é\n---\nBody.\n---\n";
    let limits = Limits::default();
    let whole = Document::parse(text).unwrap();
    for end in 0..text.len() {
        let prefix = &text.as_bytes()[..end];
        let Ok(read) = Document::recover_bytes(prefix, &limits, &KINDS) else {
            continue;
        };
        for entry in &read.document.fields.entries {
            assert_eq!(whole.fields.get(&entry.key.text), Some(&entry.value));
        }
    }
}
