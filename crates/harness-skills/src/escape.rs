//! Texts of others between tags of ours.

use std::fmt::Write as _;

use crate::name::{is_invisible, visible};

/// What stands for a character between tags, if it cannot stand there itself.
fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#x27;"),
        _ => None,
    }
}

/// `text`, escaped once. A text that is escaped already is escaped again, so that what comes of it is what
/// was there.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        let (before, special) = rest.split_at(at);
        out.push_str(before);
        let mut chars = special.chars();
        out.push_str(chars.next().and_then(entity).unwrap_or_default());
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}

/// How many characters `text` has once it is escaped.
pub(crate) fn escaped_chars(text: &str) -> usize {
    text.chars()
        .map(|c| entity(c).map_or(1, str::len))
        .sum::<usize>()
}

/// A path, escaped once and in one line. It has to stay the path that it is, so what cannot be seen is not
/// left out but written as a number: `&#x202E;`.
pub(crate) fn escaped_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if let Some(entity) = entity(c) {
            out.push_str(entity);
        } else if is_invisible(c) || (c.is_whitespace() && c != ' ') {
            // Writing to a string does not fail.
            let _ = write!(out, "&#x{:X};", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A text of several lines: trimmed, all lines ending in `\n`, without what cannot be seen.
pub(crate) fn lines(text: &str) -> String {
    let mut seen = visible(text);
    if seen.contains('\r') {
        seen = seen.replace("\r\n", "\n").replace('\r', "\n");
    }
    let trimmed = seen.trim();
    if trimmed.len() == seen.len() {
        return seen;
    }
    trimmed.to_owned()
}

/// A text as it is, but for the `<` of whatever looks like the end of an element whose name begins with one
/// of `names` (in lower case): `</skill>`, `< / SKILL`, and also with characters in between that cannot be
/// seen.
pub(crate) fn enclosed(text: &str, names: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        let after = tag.get(1..).unwrap_or_default();
        out.push_str(before);
        out.push_str(if is_end(after, names) { "&lt;" } else { "<" });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether what follows a `<` makes it the end of one of these elements.
fn is_end(after: &str, names: &[&str]) -> bool {
    let blank = |c: &char| c.is_whitespace() || is_invisible(*c) || is_joiner(*c);
    let mut chars = after.chars().filter(|c| !blank(c));
    // The names are short, so that each character is looked at a few times at most, by the `<` before it.
    if chars.next() != Some('/') {
        return false;
    }
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let name: String = chars
        .take(longest)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    names.iter().any(|wanted| name.starts_with(wanted))
}

/// Characters without a width that have their place in some scripts, but not in a tag.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}
