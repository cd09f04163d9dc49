//! Whole lines, as many as fit.

/// Joins lines with line breaks, as many from the beginning as fit into `max_bytes`; and how many.
/// A first line that alone is too long is cut at a character.
pub(crate) fn join_lines<S: AsRef<str>>(lines: &[S], max_bytes: usize) -> (String, usize) {
    let mut text = String::new();
    for (count, line) in lines.iter().enumerate() {
        let line = line.as_ref();
        if text.len() + line.len() + usize::from(count > 0) > max_bytes {
            if count == 0 {
                text.push_str(head(line, max_bytes));
                return (text, 1);
            }
            return (text, count);
        }
        if count > 0 {
            text.push('\n');
        }
        text.push_str(line);
    }
    (text, lines.len())
}

/// The beginning of a text: at most `max_bytes`, cut at a character.
pub(crate) fn head(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes))
        .unwrap_or(text)
}

/// The last whole lines of a text: at most `max_lines` and `max_bytes`. A last line that alone is too
/// long is cut at a character.
pub(crate) fn tail(text: &str, max_lines: usize, max_bytes: usize) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(max_lines) {
        let line_start = start - line.len();
        if text.len() - line_start > max_bytes {
            if start == text.len() {
                start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
            }
            break;
        }
        start = line_start;
    }
    text.get(start..).unwrap_or(text)
}

/// A window of at most `max_chars` characters of a line around the bytes `at..end`, with marks where
/// it was cut.
pub(crate) fn around(line: &str, at: usize, max_chars: usize) -> String {
    if line.len() <= max_chars || line.chars().count() <= max_chars {
        return line.to_owned();
    }
    let at = line.floor_char_boundary(at);
    let (before, after) = line.split_at(at);
    let lead = max_chars / 4;
    let before_len = before.chars().count();
    let after_len = after.chars().count();
    let skip = before_len.saturating_sub(lead.max(max_chars.saturating_sub(after_len)));
    let shown: String = line.chars().skip(skip).take(max_chars).collect();
    let total = before_len + after_len;
    let head = if skip > 0 { "…" } else { "" };
    let tail = if skip + max_chars < total { "…" } else { "" };
    format!("{head}{shown}{tail} [line of {total} characters]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tail_keeps_whole_lines() {
        for (text, lines, bytes, expected) in [
            ("", 2, 10, ""),
            ("a\nb\nc\n", 2, 10, "b\nc\n"),
            ("a\nb\nc", 2, 10, "b\nc"),
            ("a\nb\nc\n", 9, 4, "b\nc\n"),
            ("a\nb\nc\n", 9, 3, "c\n"),
            ("a\nb\nc\n", 9, 6, "a\nb\nc\n"),
            ("aaaa\nbbbb\n", 9, 3, "bb\n"),
            ("\u{20ac}\u{20ac}\u{20ac}", 9, 4, "\u{20ac}"),
            ("a\n\n\n", 2, 10, "\n\n"),
        ] {
            assert_eq!(
                tail(text, lines, bytes),
                expected,
                "{text:?} {lines} {bytes}"
            );
        }
    }

    proptest! {
        #[test]
        fn tail_is_the_longest_run_of_last_lines_that_fits(
            text in "[a\u{20ac}\n]{0,40}", lines in 1_usize..6, bytes in 1_usize..20,
        ) {
            let kept = tail(&text, lines, bytes);
            prop_assert!(text.ends_with(kept));
            prop_assert!(kept.len() <= bytes || kept.len() <= 3);
            let all: Vec<&str> = text.split_inclusive('\n').collect();
            let fitting = (0..=all.len().min(lines))
                .rev()
                .map(|n| all[all.len() - n..].concat())
                .find(|last| last.len() <= bytes)
                .unwrap_or_default();
            if !fitting.is_empty() {
                prop_assert_eq!(kept, fitting);
            }
        }
    }

    #[test]
    fn a_long_line_is_a_window_around_the_match() {
        let line = format!("{}NEEDLE{}", "x".repeat(3000), "y".repeat(3000));
        let shown = around(&line, 3000, 500);
        assert!(
            shown.contains("NEEDLE") && shown.starts_with('…'),
            "{shown}"
        );
        assert!(shown.chars().count() < 540);
        assert_eq!(around("short", 0, 500), "short");
    }
}
