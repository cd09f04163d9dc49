//! Texts of a session within a Markdown document.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Puts a text into a document as the Markdown that it is, one step below the document's own headings; in a
/// fence, if it could reach beyond itself.
pub(super) fn prose(out: &mut String, text: &str) {
    let text = visible(text);
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return;
    }
    match contained(text) {
        Some(lines) => out.push_str(&lines),
        None => fenced(out, "text", text),
    }
    out.push('\n');
}

/// Puts a text into a fence that is longer than any in it.
pub(super) fn fenced(out: &mut String, language: &str, text: &str) {
    let text = visible(text);
    let fence = longest_fence(&text).max(2) + 1;
    let fence = "`".repeat(fence);
    let _ = writeln!(out, "{fence}{language}");
    out.push_str(&text);
    if !text.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&fence);
    out.push('\n');
}

/// A few words within a line, of which none is markup.
pub(super) fn words(text: &str) -> String {
    let mut line = String::new();
    for c in visible(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&' | '!' | '~'
        ) {
            line.push('\\');
        }
        line.push(if c == '\n' { ' ' } else { c });
    }
    line
}

/// The text with a name for each character that is not seen, or that turns others around.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            // The end of a line, as some systems write it.
            '\r' if characters.peek() == Some(&'\n') => {}
            '\0'..='\u{1f}' if is_hidden(c) => {
                // Unicode has a picture for each of these.
                seen.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('␀'));
            }
            '\u{7f}' => seen.push('␡'),
            c if is_hidden(c) => {
                let _ = write!(seen, "⟨U+{:04X}⟩", u32::from(c));
            }
            c => seen.push(c),
        }
    }
    Cow::Owned(seen)
}

/// Control characters, marks that turn the direction of text, blanks without width, and the invisible
/// letters of the tag block. The joiners stay: scripts and emoji need them.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// The text as Markdown that ends where it ends; `None` if that is not certain.
///
/// What Markdown takes for HTML, or for the address of a picture, is certain only in code.
fn contained(text: &str) -> Option<String> {
    let mut lines = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    let mut after_text = false;
    for line in text.split('\n') {
        let inner = line.trim_start_matches(' ');
        let indent = line.len() - inner.len();
        let mark = fence_of(inner);
        match (fence, mark) {
            (Some(open), Some((c, length, rest)))
                if indent < 4 && c == open.0 && length >= open.1 && rest.trim().is_empty() =>
            {
                fence = None;
                lines.push_str(line);
            }
            (Some(_), _) => lines.push_str(line),
            (None, Some((c, length, rest))) if indent < 4 && !rest.contains('`') => {
                fence = Some((c, length));
                lines.push_str(line);
            }
            // Within a list or a quotation, fences follow rules of their own.
            (None, _) if line.contains("```") || line.contains("~~~") => return None,
            (None, _) => {
                // A line of these below a text makes a heading of the text.
                if after_text
                    && !inner.is_empty()
                    && (inner.trim_end().chars().all(|c| c == '=')
                        || inner.trim_end().chars().all(|c| c == '-'))
                {
                    return None;
                }
                if !is_harmless(line) {
                    return None;
                }
                if inner.starts_with('#') {
                    lines.push_str("##");
                }
                lines.push_str(inner_or_line(inner, line));
            }
        }
        after_text = fence.is_none() && !inner.trim().is_empty() && mark.is_none();
        lines.push('\n');
    }
    fence.is_none().then_some(lines)
}

fn inner_or_line<'a>(inner: &'a str, line: &'a str) -> &'a str {
    if inner.starts_with('#') { inner } else { line }
}

fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let c = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(c);
    let length = line.len() - rest.len();
    (length >= 3).then_some((c, length, rest))
}

/// Whether a line has no markup that acts or loads, outside of code that begins and ends on it.
fn is_harmless(line: &str) -> bool {
    let mut rest = line;
    loop {
        let Some(at) = rest.find('`') else {
            return is_harmless_text(rest);
        };
        let (before, from) = rest.split_at(at);
        if !is_harmless_text(before) || before.ends_with('\\') {
            return false;
        }
        // Only the plainest form: one mark on each side. Of others it is not certain where they end.
        let inside = from.get(1..).unwrap_or_default();
        match inside.find('`') {
            Some(end) if end > 0 => rest = inside.get(end + 1..).unwrap_or_default(),
            _ => return false,
        }
    }
}

fn is_harmless_text(text: &str) -> bool {
    let mut last = ' ';
    for c in text.chars() {
        let markup = (last == '<' && (c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')))
            || (last == '!' && c == '[')
            || (last == ']' && c == ':');
        if markup {
            return false;
        }
        last = c;
    }
    true
}

fn longest_fence(text: &str) -> usize {
    let mut longest = 0;
    let mut length = 0;
    for c in text.chars() {
        length = if c == '`' { length + 1 } else { 0 };
        longest = longest.max(length);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut out = String::new();
        prose(&mut out, text);
        assert_eq!(out.trim_end(), expected);
    }

    #[test]
    fn plain_markdown_stays_itself() {
        check("Use `Vec<u8>` and *this*.", "Use `Vec<u8>` and *this*.");
        check("```rust\nVec<u8>\n```", "```rust\nVec<u8>\n```");
        check("# Title\ntext", "### Title\ntext");
    }

    #[test]
    fn what_could_reach_beyond_itself_is_fenced() {
        for text in [
            "<script>alert(1)</script>",
            "<!-- and the rest is gone",
            "```\nnever closed",
            "You\n===",
            "![x](http://example.com/spy.png)",
            "`\n<b>` x",
            "- ```\n<b>",
        ] {
            check(
                text,
                &format!("{0}text\n{text}\n{0}", {
                    let mut fence = "```".to_owned();
                    if text.contains("```") {
                        fence.push('`');
                    }
                    fence
                }),
            );
        }
    }

    #[test]
    fn hidden_characters_have_names() {
        assert_eq!(
            visible("a\u{202e}b\0c\u{1b}[0m\r\nd\u{7f}"),
            "a⟨U+202E⟩b␀c␛[0m\nd␡"
        );
        assert_eq!(visible("👩‍💻 plain"), "👩‍💻 plain");
    }
}
