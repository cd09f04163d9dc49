//! What holds for any input.

use std::time::{Duration, Instant};

use harness_frontmatter::{Document, Limits};
use proptest::prelude::*;

fn holds(text: &str) {
    let started = Instant::now();
    let read = Document::parse(text);
    assert!(started.elapsed() < Duration::from_secs(5), "{text:?}");
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
        let _ = Document::from_bytes(&bytes, &Limits::default());
    }
}
