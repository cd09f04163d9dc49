//! What people and models wrote, with the little Markdown that makes it readable: code, headings, emphasis.

use super::escape::attribute;

/// The most bytes between two marks of emphasis or code, so that a text full of marks takes no longer than
/// another.
const MARKED: usize = 1_000;

/// Puts a text into the page. Only tags of this function's own are in what it writes.
pub(super) fn rich_text(out: &mut String, text: &str) {
    let mut code: Option<(&str, String)> = None;
    let mut paragraph = String::new();
    for line in text.lines() {
        let inner = line.trim_start();
        if let Some((fence, block)) = &mut code {
            if inner.starts_with(*fence)
                && inner
                    .trim_start_matches(fence_mark(fence))
                    .trim()
                    .is_empty()
            {
                code_block(out, block);
                code = None;
            } else {
                block.push_str(line);
                block.push('\n');
            }
        } else if let Some(fence) = opening_fence(inner) {
            end_paragraph(out, &mut paragraph);
            code = Some((fence, String::new()));
        } else if line.trim().is_empty() {
            end_paragraph(out, &mut paragraph);
        } else if let Some(heading) = heading(line) {
            end_paragraph(out, &mut paragraph);
            out.push_str("<p class=\"heading\">");
            inline(out, heading);
            out.push_str("</p>\n");
        } else {
            if !paragraph.is_empty() {
                paragraph.push('\n');
            }
            paragraph.push_str(line);
        }
    }
    end_paragraph(out, &mut paragraph);
    if let Some((_, block)) = code {
        code_block(out, &block);
    }
}

/// Puts a text into the page exactly as it is.
pub(super) fn code_block(out: &mut String, text: &str) {
    // The parser drops a line feed behind the tag; this one is there to be dropped.
    out.push_str("<pre>\n");
    attribute(out, text.trim_end_matches('\n'));
    out.push_str("</pre>\n");
}

fn end_paragraph(out: &mut String, paragraph: &mut String) {
    if !paragraph.is_empty() {
        out.push_str("<p>");
        inline(out, paragraph);
        out.push_str("</p>\n");
        paragraph.clear();
    }
}

fn fence_mark(fence: &str) -> char {
    fence.chars().next().unwrap_or('`')
}

fn opening_fence(line: &str) -> Option<&str> {
    let c = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(c);
    let fence = line.get(..line.len() - rest.len())?;
    (fence.len() >= 3 && !rest.contains('`')).then_some(fence)
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level).then_some(rest)?.strip_prefix(' ')
}

/// Code between single backquotes, strong words between two stars.
fn inline(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*']) {
        let (before, from) = rest.split_at(at);
        attribute(out, before);
        let (mark, tag) = if from.starts_with("**") {
            ("**", "strong")
        } else if from.starts_with('`') {
            ("`", "code")
        } else {
            ("", "")
        };
        let inside = from.get(mark.len()..).unwrap_or_default();
        // What does not end soon, and on its line, is no markup.
        let near = inside.floor_char_boundary(MARKED);
        let line = inside.get(..near).unwrap_or_default();
        let line = line.lines().next().unwrap_or_default();
        match line.find(mark) {
            Some(end) if end > 0 => {
                out.push('<');
                out.push_str(tag);
                out.push('>');
                attribute(out, line.get(..end).unwrap_or_default());
                out.push_str("</");
                out.push_str(tag);
                out.push('>');
                rest = inside.get(end + mark.len()..).unwrap_or_default();
            }
            _ => {
                let step = mark.len().max(1);
                attribute(out, from.get(..step).unwrap_or_default());
                rest = from.get(step..).unwrap_or_default();
            }
        }
    }
    attribute(out, rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut out = String::new();
        rich_text(&mut out, text);
        assert_eq!(out.trim_end(), expected);
    }

    #[test]
    fn a_little_markdown() {
        check(
            "a `b<` **c** * d",
            "<p>a <code>b&lt;</code> <strong>c</strong> * d</p>",
        );
        check(
            "# T\na\nb\n\nc",
            "<p class=\"heading\">T</p>\n<p>a\nb</p>\n<p>c</p>",
        );
        check("```rust\n<x>\n```\nd", "<pre>\n&lt;x&gt;</pre>\n<p>d</p>");
        check("```\nopen <b>", "<pre>\nopen &lt;b&gt;</pre>");
        check("a ` ** b", "<p>a ` ** b</p>");
    }
}
