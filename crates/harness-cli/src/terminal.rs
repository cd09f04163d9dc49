//! Text that is safe to show on a terminal.

use std::borrow::Cow;

/// One line, without anything that moves the cursor, hides or reorders text: control characters,
/// escape sequences, and the invisible and bidirectional characters of Unicode are shown escaped.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if c.is_control() || is_invisible(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

/// Text of any number of lines, with the characters that a terminal acts on shown escaped.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(acts) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.replace("\r\n", "\n").chars() {
        if acts(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// At most `chars` characters of [`one_line`].
pub(crate) fn excerpt(text: &str, chars: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        let checks = [
            ("plain", "plain"),
            ("two\nlines\n", "two lines"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\u{200b}b", "a\\u{200b}b"),
            ("naïve 日本語", "naïve 日本語"),
        ];
        for (input, expected) in checks {
            assert_eq!(one_line(input), expected);
        }
        assert_eq!(
            harmless("a\tb\r\n\x1b[31mred\r\u{200d}"),
            "a\tb\n\\u{1b}[31mred\\u{d}\u{200d}"
        );
        assert_eq!(excerpt("日本語です", 3), "日本語…");
    }
}
