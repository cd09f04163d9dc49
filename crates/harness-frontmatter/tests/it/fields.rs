//! Fields: their text, their kinds, their places.

use harness_frontmatter::{Document, Error, Node, Position, Resolved};

use crate::check;

#[test]
fn scalars_are_the_text_that_they_are() {
    check(&[
        (
            "---\na: 1.10\nb: 007\nc: 2024-01-01\nd: yes\n---\n",
            r#"{a: "1.10", b: "007", c: "2024-01-01", d: "yes"} | "" from 7"#,
        ),
        (
            "---\na: 'it''s'\nb: \"\\t\\u00e9\"\n---\n",
            "{a: \"it's\", b: \"\\té\"} | \"\" from 5",
        ),
        (
            "---\na: >\n  x\n  y\n\nb:\n---\n",
            r#"{a: "x y\n", b: ""} | "" from 8"#,
        ),
        (
            "---\n  a: b\n  c: d\n---\n",
            r#"{a: "b", c: "d"} | "" from 5"#,
        ),
        (
            "---\n\n\n  a: b\n  c: d\n\n---\n",
            r#"{a: "b", c: "d"} | "" from 8"#,
        ),
        ("---\na: |+\n  x\n\n---\n", r#"{a: "x\n\n"} | "" from 6"#),
        (
            "---\n{b: [1, x y], a: {}}\n---\n",
            r#"{b: ["1", "x y"], a: {}} | "" from 4"#,
        ),
        (
            "---\nz: 1\ny: 2\nx:\n- 3\n- k: v\n---\n",
            r#"{z: "1", y: "2", x: ["3", {k: "v"}]} | "" from 8"#,
        ),
        (
            "---\n? a\n: b\n1: c\n---\n",
            r#"{a: "b", 1: "c"} | "" from 6"#,
        ),
    ]);
}

/// YAML lets tabs separate a key from its value; the parser beneath does not, before a letter.
#[test]
fn a_tab_behind_a_colon_is_white_space() {
    check(&[
        ("---\na:\tb\tc\n---\n", r#"{a: "b\tc"} | "" from 4"#),
        (
            "---\na:\tb\nd:\t \te\nf:\t'g:\t\th'\ni: \tj\n---\n",
            r#"{a: "b", d: "e", f: "g:\t\th", i: "j"} | "" from 7"#,
        ),
        (
            "---\na:\tb: c\n---\n",
            "error: line 2, column 5: the frontmatter is not YAML: \
             mapping values are not allowed in this context",
        ),
        (
            "---\na: \"b:\t\\q\"\n---\n",
            "error: line 2, column 4: the frontmatter is not YAML: \
             while parsing a quoted scalar, found unknown escape character",
        ),
    ]);
}

#[test]
fn what_is_no_mapping_is_refused() {
    check(&[
        (
            "---\n- a\n---\n",
            "error: line 2, column 1: the frontmatter has to be lines of `key: value`, but is a list",
        ),
        (
            "---\nname:demo\n---\n",
            "error: line 2, column 1: the frontmatter has to be lines of `key: value`, but is text",
        ),
        (
            "---\nd: {{ text }}\n---\n",
            "error: line 2, column 5: a key has to be text, but is a mapping",
        ),
        (
            "---\na: b\n...\nc: d\n---\n",
            "error: line 4, column 1: the frontmatter is not YAML: there is a second document in it",
        ),
        (
            "---\na: b: c\n---\n",
            "error: line 2, column 5: the frontmatter is not YAML: \
          mapping values are not allowed in this context",
        ),
    ]);
}

#[test]
fn a_key_twice_is_refused_with_both_places() {
    check(&[
        (
            "---\na: 1\nb: 2\na: 3\n---\n",
            "error: line 4, column 1: the key `a` is there already, at line 2, column 1",
        ),
        (
            "---\nm:\n  \"é\": 1\n  é: 2\n---\n",
            "error: line 4, column 3: the key `é` is there already, at line 3, column 3",
        ),
        (
            "---\nm: {é: 1, x: 2, é: 3}\n---\n",
            "error: line 2, column 17: the key `é` is there already, at line 2, column 5",
        ),
    ]);
}

#[test]
fn aliases_are_copies() {
    check(&[
        (
            "---\na: &x [1, 2]\nb: *x\n---\n",
            r#"{a: ["1", "2"], b: ["1", "2"]} | "" from 5 [Alias@3]"#,
        ),
        (
            "---\nbase: &x {k: v}\nb:\n  <<: *x\n---\n",
            r#"{base: {k: "v"}, b: {<<: {k: "v"}}} | "" from 6 [Alias@4]"#,
        ),
        (
            "---\na: &x [*x]\n---\n",
            "error: line 2, column 8: this alias stands within the value that it repeats",
        ),
        (
            "---\na: *nobody\n---\n",
            "error: line 2, column 4: the frontmatter is not YAML: \
          while parsing node, found unknown anchor",
        ),
    ]);
}

const FIELDS: &str = "\
---
name: demo
count: 3
yes: true
No: no
quoted: \"true\"
tagged: !!str true
none:
blank: ' '
list: [a, 1.10]
mixed:
  - a
  - [b]
map:
  k: v
---
";

#[test]
fn fields_are_read_as_what_they_should_be() {
    let document = Document::parse(FIELDS).unwrap();
    let fields = &document.fields;
    assert_eq!(fields.text("name"), Ok(Some("demo")));
    assert_eq!(fields.text("count"), Ok(Some("3")));
    assert_eq!(fields.text("none"), Ok(None));
    assert_eq!(fields.text("nope"), Ok(None));
    assert_eq!(fields.required_text("name"), Ok("demo"));
    assert_eq!(fields.flag("yes"), Ok(Some(true)));
    assert_eq!(fields.flag("none"), Ok(None));
    assert_eq!(fields.texts("list"), Ok(Some(vec!["a", "1.10"])));
    assert_eq!(fields.list("mixed").unwrap().unwrap().items.len(), 2);
    let map = fields.mapping("map").unwrap().unwrap();
    assert_eq!(map.text("k"), Ok(Some("v")));
    assert_eq!(
        map.position,
        Position {
            line: 15,
            column: 3
        }
    );
    let unknown = fields.unknown_keys(&["name", "count", "yes", "quoted", "tagged", "list"]);
    let unknown: Vec<_> = unknown
        .iter()
        .map(|key| format!("{} {}", key.position.line, key.text))
        .collect();
    assert_eq!(
        unknown.join(", "),
        "5 No, 8 none, 9 blank, 11 mixed, 14 map"
    );
}

#[test]
fn an_error_names_key_line_and_column() {
    let document = Document::parse(FIELDS).unwrap();
    let fields = &document.fields;
    let errors = [
        fields.text("list").unwrap_err(),
        fields.required_text("nope").unwrap_err(),
        fields.required_text("blank").unwrap_err(),
        fields.flag("No").unwrap_err(),
        fields.flag("quoted").unwrap_err(),
        fields.flag("tagged").unwrap_err(),
        fields.flag("map").unwrap_err(),
        fields.list("name").unwrap_err(),
        fields.texts("mixed").unwrap_err(),
        fields.mapping("list").unwrap_err(),
    ];
    let all: Vec<_> = errors.iter().map(Error::to_string).collect();
    insta::assert_snapshot!(all.join("\n"));
    assert_eq!(errors[0].line(), 10);
    assert_eq!(errors[0].message(), "`list` has to be text, but is a list");
}

#[test]
fn yaml_says_what_a_plain_scalar_is() {
    let resolved = |value: &str| {
        let text = format!("---\na: {value}\n---\n");
        let document = Document::parse(&text).unwrap();
        match document.fields.get("a") {
            Some(Node::Scalar(scalar)) => format!("{:?}", scalar.resolve()),
            other => format!("{other:?}"),
        }
    };
    for (values, expected) in [
        (&["", "~", "null", "NULL"][..], "Null"),
        (&["true", "True", "TRUE"], "Boolean(true)"),
        (&["FALSE"], "Boolean(false)"),
        (&["12", "+12", "012", "0xC", "0o14"], "Integer(12)"),
        (&["-9223372036854775808"], "Integer(-9223372036854775808)"),
        (&["1.50", "+1.5", "15e-1", "0.15E+1"], "Float(1.5)"),
        (&[".5"], "Float(0.5)"),
        (&["5."], "Float(5.0)"),
        (&["-.inf"], "Float(-inf)"),
        (&[".nan"], "Float(NaN)"),
        (&["9223372036854775808"], "Float(9.223372036854776e18)"),
    ] {
        for value in values {
            assert_eq!(resolved(value), expected, "{value}");
        }
    }
    for value in [
        "yes", "no", "on", "1.2.3", "inf", "nan", "infinity", ".", "e1", "1e", "0x",
    ] {
        assert_eq!(resolved(value), format!("Text({value:?})"));
    }
    for value in ["'1'", "\"true\"", "!!str 1", "|\n  1"] {
        assert!(resolved(value).starts_with("Text"), "{value}");
    }
    assert_ne!(Resolved::Null, Resolved::Text(""));
}
