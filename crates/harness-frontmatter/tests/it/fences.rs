//! Where frontmatter begins and ends, and what stays of the text.

use harness_frontmatter::{Document, Error, Limits};

use crate::check;

#[test]
fn what_is_frontmatter() {
    check(&[
        ("---\na: b\n---\nbody\n", r#"{a: "b"} | "body\n" from 4"#),
        ("---\na: b\n---", r#"{a: "b"} | "" from 4"#),
        ("---\n---\nbody", r#"{} | "body" from 3"#),
        ("---\n# only a comment\n---\n", r#"{} | "" from 4"#),
        ("---\n~\n---\n", r#"{} | "" from 4"#),
        ("", r#"none {} | "" from 1"#),
        ("# Title\n", r##"none {} | "# Title\n" from 1"##),
        (
            "\n\n# T\n---\na: b\n---\n",
            r#"none {} | "\n\n# T\n---\na: b\n---\n" from 1"#,
        ),
        ("---a: b\n---\n", r#"none {} | "---a: b\n---\n" from 1"#),
        (
            " ---\na: b\n---\n",
            r#"none {} | " ---\na: b\n---\n" from 1"#,
        ),
        (
            "```\n---\na: b\n---\n```\n",
            r#"none {} | "```\n---\na: b\n---\n```\n" from 1"#,
        ),
        (
            "----\na: b\n----\n",
            r#"none {} | "----\na: b\n----\n" from 1"#,
        ),
    ]);
}

#[test]
fn a_mark_or_blanks_do_not_hide_it() {
    check(&[
        (
            "\u{feff}---\na: b\n---\nbody",
            r#"{a: "b"} | "body" from 4 [ByteOrderMark@1]"#,
        ),
        (
            "\u{feff}body",
            r#"none {} | "body" from 1 [ByteOrderMark@1]"#,
        ),
        (
            "\n \n---\na: b\n---\nbody",
            r#"{a: "b"} | "body" from 6 [BlankLinesBefore@1]"#,
        ),
        (
            "--- \t\na: b\n---  \nbody",
            r#"{a: "b"} | "body" from 4 [BlanksAfterFence@1]"#,
        ),
    ]);
}

#[test]
fn an_open_fence_is_an_error() {
    check(&[
        (
            "---",
            "error: line 1: the frontmatter that begins here is not closed by a line `---`",
        ),
        (
            "\n---\na: b\nbody",
            "error: line 2: the frontmatter that begins here is not closed by a line `---`",
        ),
        (
            "---\na: b\n----\ntext\n---\n",
            "error: line 1: the frontmatter that begins here is not closed by a line `---`; \
             line 3 looks like one, but has more dashes",
        ),
    ]);
}

#[test]
fn any_line_ending_will_do() {
    check(&[
        (
            "---\r\na: b\r\nc: d\r\n---\r\nx\r\ny",
            r#"{a: "b", c: "d"} | "x\r\ny" from 5"#,
        ),
        (
            "---\ra: b\rc: d\r---\rx\ry",
            r#"{a: "b", c: "d"} | "x\ry" from 5"#,
        ),
        (
            "---\r\na: |\r\n  x\r\n  y\r\n---\r\n",
            r#"{a: "x\ny\n"} | "" from 6"#,
        ),
        (
            "---\na: b\r\nb: {\r\n---\n",
            "error: line 4, column 1: the frontmatter is not YAML: \
          while parsing a node, did not find expected node content",
        ),
    ]);
}

#[test]
fn the_body_is_what_was_given() {
    for body in [
        "",
        "\n",
        "\n\n  indented\n---\nb: c\n---\n",
        "---\n",
        "a\r\nb\rc\n \n\t\n",
        "---\nx: y\n---",
        "text --- text\u{2028}\u{feff}",
    ] {
        let text = format!("---\na: b\n---\n{body}");
        let document = Document::parse(&text).unwrap();
        assert_eq!(document.body, body);
        assert_eq!(document.body_line, 4);
    }
}

#[test]
fn dashes_within_values_are_no_fence() {
    check(&[
        (
            "---\na: |\n  x\n  ---\n  y\n---\n",
            r#"{a: "x\n---\ny\n"} | "" from 7"#,
        ),
        (
            "---\na: one --- two\n---\n",
            r#"{a: "one --- two"} | "" from 4"#,
        ),
    ]);
}

#[test]
fn bytes_may_be_anything() {
    let limits = Limits::default();
    let read = |bytes| Document::from_bytes(bytes, &limits).map(|document| document.body.len());
    assert_eq!(read(b"---\na: b\n---\nbody"), Ok(4));
    assert_eq!(read(b"---\na: b\n\xff\n"), Err(Error::NotUtf8 { line: 3 }));
    assert_eq!(read(b"\xff\xfe-\0"), Err(Error::NotUtf8 { line: 1 }));
}
