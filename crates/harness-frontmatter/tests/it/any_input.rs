//! What holds for any input.

use std::time::{Duration, Instant};

use harness_frontmatter::Document;
use harness_frontmatter::test_support::check_frontmatter;
use proptest::prelude::*;

fn holds(text: &str) {
    let started = Instant::now();
    let read = Document::parse(text);
    assert!(started.elapsed() < Duration::from_secs(5), "{text:?}");
    check_frontmatter(text.as_bytes());
    match read {
        Ok(document) => {
            assert!(text.ends_with(document.body));
            let before = &text[..text.len() - document.body.len()];
            let breaks = before.replace("\r\n", "\n").matches(['\n', '\r']).count();
            // The last line of a text may lack its end.
            let ends = before.is_empty() || before.ends_with(['\n', '\r', '\u{feff}']);
            assert_eq!(document.body_line, 1 + breaks + usize::from(!ends));
            for entry in &document.fields.entries {
                let line = entry.value.position().line;
                assert!(line >= 1 && line < document.body_line, "{text:?}");
                let _ = document.fields.texts(&entry.key.text);
                let _ = document.fields.flag(&entry.key.text);
            }
        }
        Err(error) => {
            let lines = text.matches(['\n', '\r']).count() + 1;
            assert!(
                error.line() >= 1 && error.line() <= lines,
                "{text:?}: {error}"
            );
            assert!(!error.message().is_empty());
        }
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "---\n",
        "---",
        "----",
        "...\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "  ",
        "\t",
        "- ",
        "-",
        "? ",
        ": ",
        ":",
        "a",
        "b",
        "key: ",
        "a: b\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "*a ",
        "!",
        "!!str ",
        "!<",
        ">",
        "|",
        "|2-\n",
        ">+",
        "'",
        "\"",
        "\\",
        "\\x",
        "\\u00e9",
        "#",
        " # c",
        "%TAG ! x\n",
        "%YAML 1.2\n",
        "@",
        "`",
        "<<: ",
        "~",
        "null",
        "é",
        "\u{feff}",
        "\u{2028}",
        "\u{85}",
        "\u{a0}",
        "\u{1f600}",
        "\0",
        "0",
        "{{ x }}",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|all| all.concat())
}

/// Lines as people write them, some of them wrong.
fn fields() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "name:",
        "description:",
        "license:",
        "metadata:",
        "allowed-tools:",
        "tags:",
        "other:",
        "\"q\":",
        "<<:",
        "a b:",
        "",
        "  ",
        "  k:",
        "- ",
        "#",
        "name",
        "?",
        "...",
        "é:",
    ]);
    let value = prop::collection::vec(
        prop::sample::select(vec![
            " ",
            "a",
            "Use",
            ": ",
            ":",
            "[",
            "]",
            "{",
            "}",
            "{{ x }}",
            ",",
            "'",
            "\"",
            "\\d",
            "`x`",
            "@",
            "*a",
            "&a ",
            "!t",
            "%",
            "- ",
            "|",
            ">",
            " # c",
            "#",
            "\t",
            "\u{1b}",
            "\u{85}",
            "\u{a0}",
            "é",
            "1.10",
            "text of some words",
        ]),
        0..5,
    );
    let line = (key, prop::bool::weighted(0.9), value).prop_map(|(key, blank, value)| {
        let blank = if blank { " " } else { "" };
        format!("{key}{blank}{}\n", value.concat())
    });
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn fragments_of_yaml(block in fragments(), body in fragments()) {
        holds(&block);
        holds(&format!("---\n{block}\n---\n{body}"));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}", block in any::<String>()) {
        holds(&text);
        holds(&format!("---\n{block}\n---\n"));
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_frontmatter(&bytes);
    }

    #[test]
    fn fields_that_may_be_broken(lines in fields(), body in fragments()) {
        holds(&format!("---\n{lines}---\n{body}"));
    }
}
