use super::{Haystack, Missed};
use proptest::prelude::*;

/// The text after one edit, and what was overlooked.
fn edited(text: &str, old: &str, new: &str) -> Result<(String, Option<&'static str>), Missed> {
    let located = Haystack::new(text).locate(old, new, false)?.remove(0);
    let mut out = text.to_owned();
    out.replace_range(located.span, &located.text);
    Ok((out, located.overlooked))
}

#[test]
fn the_rungs_of_the_ladder() {
    let endings = Some("line endings");
    let blanks = Some("blanks at line ends");
    let alike = Some("look-alike or invisible characters");
    let indent = Some("indentation");
    for (text, old, new, expected, overlooked) in [
        ("a\nb\nc\n", "b", "X", "a\nX\nc\n", None),
        (
            "a\r\nb\r\nc\r\n",
            "a\nb",
            "a\nX",
            "a\r\nX\r\nc\r\n",
            endings,
        ),
        ("a\r\nb\r\n", "b", "X\nY", "a\r\nX\r\nY\r\n", None),
        ("a\nb\n", "a\r\nb", "a\r\nX", "a\nX\n", endings),
        ("a\r\nb\r\n", "\nb", "\nX", "a\r\nX\r\n", endings),
        ("a\r\nb\r\n", "\nb", "", "a\r\n", endings),
        ("a\nb", "b\n", "b\nc\n", "a\nb\nc", endings),
        ("a\nb", "b\n", "B", "a\nB", endings),
        (
            "a\r\nb\nc\r\n",
            "a\nb",
            "A\nb\nx",
            "A\r\nb\r\nx\nc\r\n",
            endings,
        ),
        ("a\r\nb\nc\r\n", "b\n", "b\r\n", "a\r\nb\r\nc\r\n", None),
        ("a  \nb \nc\n", "a\nb\nc", "a\nB\nc", "a  \nB \nc\n", blanks),
        ("a\nb\n", "a \nb", "a \nX", "a\nX\n", blanks),
        (
            "say \u{201c}hi\u{201d} now\n",
            "say \"hi\" now",
            "say \"hi\" later",
            "say \u{201c}hi\u{201d} later\n",
            alike,
        ),
        (
            "\u{201c}a\u{201d} foo(\u{2018}x\u{2019}) \u{bd}\n",
            "foo('x')",
            "foo('y')",
            "\u{201c}a\u{201d} foo(\u{2018}y\u{2019}) \u{bd}\n",
            alike,
        ),
        (
            "    if x:\n        y()\n",
            "if x:\n    y()\n",
            "if x:\n    z()\n",
            "    if x:\n        z()\n",
            indent,
        ),
        (
            "if x:\n\ty()\n",
            "\tif x:\n\t\ty()",
            "\tif x:\n\t\ty()\n\t\tz()",
            "if x:\n\ty()\n\tz()\n",
            indent,
        ),
    ] {
        let found = edited(text, old, new);
        assert_eq!(
            found,
            Ok((expected.to_owned(), overlooked)),
            "{text:?} {old:?} -> {new:?}"
        );
    }
}

#[test]
fn what_is_not_a_match() {
    for (text, old) in [
        ("one\ntwo", "one "),
        ("one\ntwo", "one two"),
        ("one\n\ntwo\n", "one\ntwo\n"),
        ("bar\nfoo\n", "  \nfoo"),
        ("a", ""),
        ("", "a"),
        ("a\nb", "b\n\n"),
    ] {
        assert_eq!(
            edited(text, old, "X"),
            Err(Missed::Nowhere),
            "{text:?} {old:?}"
        );
    }
}

#[test]
fn several_places_are_told_on_the_rung_where_they_are() {
    for (text, old, places) in [
        ("x = 1\ny\nx = 1\n", "x = 1", vec![0, 8]),
        ("aaa", "aa", vec![0, 1]),
        ("\u{201c}a\u{201d} \"a\" ", "\"a\"", vec![]),
        (
            "\u{201c}a\u{201d}\n\u{201f}a\u{201d}\n",
            "\"a\"",
            vec![0, 8],
        ),
        (
            "  f()\n    g()\n  f()\n    g()\n",
            "f()\n  g()\n",
            vec![0, 14],
        ),
    ] {
        let found = Haystack::new(text).locate(old, "X", false);
        match found {
            Err(Missed::Several(found)) => assert_eq!(found, places, "{text:?}"),
            Ok(found) => assert!(places.is_empty() && found.len() == 1, "{text:?}: {found:?}"),
            Err(Missed::Nowhere) => unreachable!("{text:?}"),
        }
    }
}

proptest! {
    /// Outside the span no byte changes, and the old text, folded, is what stood in the span.
    #[test]
    fn edit_16_bytes_outside_the_span_never_change(
        before in "[ab \u{201c}\t\r\n]{0,12}",
        old in "[ab\" \n]{1,6}",
        after in "[ab \u{201d}\t\r\n]{0,12}",
        new in "[xyz\" \n]{0,6}",
    ) {
        let text = format!("{before}{}{after}", old.replace('"', "\u{201c}").replace('\n', "\r\n"));
        let hay = Haystack::new(&text);
        if let Ok(found) = hay.locate(&old, &new, true) {
            let mut end = 0;
            for located in found {
                prop_assert!(end <= located.span.start && located.span.start <= located.span.end);
                prop_assert!(text.is_char_boundary(located.span.start));
                prop_assert!(text.is_char_boundary(located.span.end));
                end = located.span.end;
            }
        }
    }

    /// An edit and its reverse give the file back.
    #[test]
    fn an_exact_edit_can_be_undone(
        before in "[ab\n]{0,12}", after in "[ab\n]{0,12}", new in "[cd\n]{1,6}",
    ) {
        let text = format!("{before}Z{after}");
        if let Ok((changed, None)) = edited(&text, "Z", &new)
            && let Ok((back, None)) = edited(&changed, &new, "Z")
        {
            prop_assert_eq!(back, text);
        }
    }
}
