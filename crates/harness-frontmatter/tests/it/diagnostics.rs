//! How findings are shown.

use harness_frontmatter::{Code, Diagnostic, Document, Position, Severity, codes};

#[test]
fn a_finding_is_shown_with_what_is_known() {
    let position = Position {
        line: 3,
        column: 14,
    };
    let bare = Diagnostic::new(codes::YAML, Severity::Error, "it is broken");
    assert_eq!(bare.to_string(), "E-YAML: it is broken");
    assert_eq!(bare.id(), "E-YAML");
    assert_eq!(
        bare.clone().at(position).to_string(),
        "3:14: E-YAML: it is broken"
    );
    assert_eq!(
        bare.clone().in_file("a/b.md").to_string(),
        "a/b.md: E-YAML: it is broken"
    );
    let all = bare
        .at(position)
        .in_file("a.md")
        .for_key("k")
        .with_hint("quote it");
    assert_eq!(
        all.to_string(),
        "a.md:3:14: E-YAML: it is broken\n  hint: quote it"
    );
    assert_eq!(all.key.as_deref(), Some("k"));
}

#[test]
fn nothing_acts_on_a_terminal() {
    let finding = Diagnostic::new(Code::new("X"), Severity::Info, "a\u{1b}[2Jb\n\u{202e}é")
        .in_file("\r\u{9b}x")
        .with_hint("\u{200b}");
    assert_eq!(
        finding.to_string(),
        "\\r\\u{9b}x: I-X: a\\u{1b}[2Jb\\n\\u{202e}é\n  hint: \\u{200b}"
    );
}

#[test]
fn severities_have_an_order_and_words() {
    assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Error);
    assert_eq!(Severity::Warning.letter(), 'W');
    assert_eq!(Severity::Warning.to_string(), "warning");
    assert_eq!(Severity::Error.word(), "error");
}

#[test]
fn errors_have_codes_and_hints() {
    for (text, id, hint) in [
        ("---\na: b: c\n---\n", "E-YAML", "quote the value"),
        ("---\na: `b`\n---\n", "E-YAML", "quote the value"),
        (
            "---\na: - b\n---\n",
            "E-YAML",
            "begin the list in the line below",
        ),
        (
            "---\na: \"\\d\"\n---\n",
            "E-YAML",
            "write `\\\\` for a backslash",
        ),
        ("---\na: \"b\n---\n", "E-YAML", "close the quote"),
        (
            "---\nname:demo\n---\n",
            "E-NOT-MAPPING",
            "a blank is missing",
        ),
        ("---\n- a\n---\n", "E-NOT-MAPPING", ""),
        (
            "---\nd: {{ x }}\n---\n",
            "E-KEY-TYPE",
            "a template that was not filled in",
        ),
        ("---\na: b\na: c\n---\n", "E-DUP-KEY", "keep one"),
        (
            "---\na: b\n-----\n",
            "E-UNCLOSED",
            "write exactly three dashes in line 3",
        ),
        ("---\na: b\n", "E-UNCLOSED", "put a line `---`"),
        ("---\na: \u{7}\n---\n", "E-CONTROL", ""),
        ("---\na: \0\n---\n", "E-NUL", ""),
        ("---\na: &x [*x]\n---\n", "E-ALIAS", ""),
    ] {
        let error = Document::parse(text).unwrap_err();
        let finding = error.diagnostic();
        assert_eq!(finding.id(), id, "{text:?}");
        assert_eq!(finding.hint, error.hint());
        assert_eq!(finding.position, Some(error.position()));
        let shown = finding.hint.unwrap_or_default();
        assert!(
            shown.starts_with(hint) && shown.is_empty() == hint.is_empty(),
            "{shown}"
        );
    }
    let document = Document::parse("---\na: [b]\n---\n").unwrap();
    let finding = document.fields.text("a").unwrap_err().diagnostic();
    assert_eq!(
        finding.to_string(),
        "2:4: E-FIELD-TYPE: `a` has to be text, but is a list"
    );
    assert_eq!(finding.key.as_deref(), Some("a"));
    let finding = document.fields.required_text("b").unwrap_err().diagnostic();
    assert_eq!(finding.id(), "E-MISSING");
    let error = Document::parse("---\nd: {{ x }}\n---\n").unwrap_err();
    assert_eq!(error.diagnostic().key.as_deref(), Some("d"));
}
