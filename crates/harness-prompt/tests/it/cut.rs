//! Cutting a text: to a size, and never through what belongs together.

use harness_prompt::{Keep, cut_to_tokens, estimate_tokens};
use proptest::prelude::*;

fn marker(kept: usize, all: usize) -> String {
    format!("[{kept}/{all}]")
}

fn check(text: &str, tokens: usize, keep: Keep, expected: &str) {
    let cut = cut_to_tokens(text, tokens, keep, marker).unwrap();
    assert_eq!(cut.text, expected, "{text:?} in {tokens} from {keep:?}");
    assert!(estimate_tokens(&cut.text) <= tokens, "{}", cut.text);
}

#[test]
fn what_fits_is_not_cut() {
    assert_eq!(cut_to_tokens("", 0, Keep::Start, marker), None);
    assert_eq!(cut_to_tokens("abcd", 1, Keep::End, marker), None);
    assert_eq!(cut_to_tokens("日本", 2, Keep::Whole, marker), None);
}

#[test]
fn a_cut_falls_between_lines() {
    let text = "one one one\ntwo two two\nthree three\nfour four four\n";
    check(text, 9, Keep::Start, "one one one\ntwo two two\n[23/51]");
    check(text, 9, Keep::End, "[27/51]\nthree three\nfour four four\n");
    check(text, 3, Keep::Start, "one\n[3/51]");
    check(text, 2, Keep::Start, "[0/51]");
    check(text, 9, Keep::Whole, "[0/51]");
    check(text, 1, Keep::Whole, "");
}

#[test]
fn a_character_is_never_split() {
    // 4 in a token, 1 each; with an accent or a joiner that makes one character of several.
    check("日本語日本語日本語", 7, Keep::Start, "日本語日本\n[15/27]");
    check("日本語日本語日本語", 7, Keep::End, "[15/27]\n本語日本語");
    let family = "abcdefgh👨\u{200D}👩\u{200D}👧tail tail tail tail";
    let cut = cut_to_tokens(family, 7, Keep::Start, marker).unwrap();
    assert_eq!(cut.text, "abcdefgh\n[8/45]");
    let accents = "aaaaaaaaaaaae\u{301}e\u{301}e\u{301}bbbbbbbbbbb";
    let cut = cut_to_tokens(accents, 6, Keep::Start, marker).unwrap();
    assert!(
        !cut.text.contains("e\n") && cut.text.starts_with("aaaa"),
        "{}",
        cut.text
    );
}

#[test]
fn a_tag_is_never_split_and_an_open_element_is_closed() {
    check(
        "<note path=\"a.md\">one two three four five six</note>",
        12,
        Keep::Start,
        "<note path=\"a.md\">one two three\n</note>\n[31/52]",
    );
    check(
        "say hello <a href=\"https://example.com/a/very/long/path\">here</a> and go on",
        9,
        Keep::Start,
        "say hello\n[9/75]",
    );
    check(
        "some words <br> and a <T> of no element, and then some more words behind it",
        12,
        Keep::Start,
        "some words <br> and a <T> of no element,\n[40/75]",
    );
    check(
        "<files>\n<file>\none\n</file>\n<file>\ntwo two two two two\n</file>\n</files>",
        16,
        Keep::End,
        "[36/70]\n<files>\n<file>\ntwo two two two two\n</file>\n</files>",
    );
}

#[test]
fn a_line_of_a_fence_is_not_cut() {
    let text = "```aaa\nlet a = 1;\nlet b = 2;\n```";
    for keep in [Keep::Start, Keep::End] {
        for tokens in 1..8 {
            let cut = cut_to_tokens(text, tokens, keep, |_, _| "[cut]".to_owned()).unwrap();
            let fences = cut.text.lines().filter(|line| line.starts_with('`'));
            assert!(
                fences.clone().all(|line| line.starts_with("```")),
                "{}",
                cut.text
            );
            assert_eq!(fences.count() % 2, 0, "{}", cut.text);
        }
    }
}

#[test]
fn a_tag_over_several_lines_is_one_tag() {
    let text = "one two three four\n<note\n  path=\"a.md\"\n  lines=\"1\">\nwithin\n</note>\nend of it all";
    check(text, 9, Keep::Start, "one two three four\n[18/80]");
    let text = "x\n".repeat(40) + text;
    let cut = cut_to_tokens(&text, 21, Keep::End, marker).unwrap();
    let tail = "\n<note\n  path=\"a.md\"\n  lines=\"1\">\nwithin\n</note>\nend of it all";
    assert!(cut.text.ends_with(tail), "{}", cut.text);
    let no_tag = "if a <b\nthen c is what it was before\nand so on and on";
    check(
        no_tag,
        12,
        Keep::Start,
        "if a <b\nthen c is what it was before\n[36/53]",
    );
}

#[test]
fn a_fence_is_never_split() {
    let text = "intro\n```rust\nfn a() {}\nfn b() {}\nfn c() {}\n```\noutro outro outro\n";
    check(
        text,
        9,
        Keep::Start,
        "intro\n```rust\nfn a() {}\n```\n[23/66]",
    );
    check(
        text,
        13,
        Keep::End,
        "[32/66]\n```rust\nfn c() {}\n```\noutro outro outro\n",
    );
    let tilde = "~~~~\n```\n</not-a-tag>\n~~~\nmore more more more more more\n~~~~\nend";
    check(
        tilde,
        9,
        Keep::Start,
        "~~~~\n```\n</not-a-tag>\n~~~~\n[21/64]",
    );
}

/// A piece of Markdown that is whole.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,40}",
        "[日本語é😀]{0,20}",
        "[a-z]{1,5}".prop_map(|lang| format!("```{lang}\nlet a = 1;\nlet b = 2;\n```")),
        "[a-z]{1,5}".prop_map(|name| format!("<{name} at=\"x\">\nwithin\n</{name}>")),
        "[a-z]{1,5}".prop_map(|name| format!("a <{name}>b</{name}> c")),
        "[a-z]{1,5}".prop_map(|name| format!("<{name}\n  at=\"x\"\n>\nwithin\n</{name}>")),
    ]
}

proptest! {
    #[test]
    fn a_cut_keeps_its_promises(
        pieces in prop::collection::vec(piece(), 0..12),
        tokens in 0_usize..120,
        end in any::<bool>(),
    ) {
        let text = pieces.join("\n");
        let keep = if end { Keep::End } else { Keep::Start };
        if let Some(cut) = cut_to_tokens(&text, tokens, keep, marker) {
            prop_assert!(estimate_tokens(&cut.text) <= tokens, "{:?}", cut);
            prop_assert!(cut.kept < text.len());
            prop_assert!(!cut.text.contains('\u{FFFD}'), "{}", cut.text);
            let fences = cut.text.lines().filter(|line| line.starts_with("```")).count();
            prop_assert_eq!(fences % 2, 0, "{}", cut.text);
            let open = cut.text.matches('<').count();
            prop_assert_eq!(open, cut.text.matches('>').count(), "{}", cut.text);
            prop_assert_eq!(cut.text.matches("</").count() * 2, open, "{}", cut.text);
        } else {
            prop_assert!(estimate_tokens(&text) <= tokens);
        }
    }

    #[test]
    fn any_text_can_be_cut(text in any::<String>(), tokens in 0_usize..50, end in any::<bool>()) {
        let keep = if end { Keep::End } else { Keep::Start };
        if let Some(cut) = cut_to_tokens(&text, tokens, keep, marker) {
            prop_assert!(estimate_tokens(&cut.text) <= tokens, "{:?}", cut);
        }
    }
}
