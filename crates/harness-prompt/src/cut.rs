//! Cutting a text to a size, without cutting through what belongs together.

use crate::fence::Fence;
use crate::section::Keep;
use crate::tokens::{WEIGHT_OF_A_TOKEN, prefix_within, suffix_within, weight};

/// How deep elements are followed.
const MAX_OPEN: usize = 16;

/// The most bytes of a tag.
const MAX_TAG: usize = 2_000;

/// How often a cut is tried again with less, because closing what it left open took too much.
const TRIES: usize = 4;

/// A text that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The text, with `marker` where something is missing.
    pub text: String,
    /// How many bytes of the original are left.
    pub kept: usize,
}

/// Cuts `text` to at most `tokens` tokens, as [`estimate_tokens`](crate::estimate_tokens) counts them;
/// `None` if it fits as it is. `marker` is told the bytes that are left and those that there were, and
/// makes the line that says so.
///
/// A cut falls between lines where it can, and never into a character, a tag, or a fenced block of
/// code: what is open where the text is cut is closed before the marker, or opened again behind it.
/// `Keep::Whole` leaves only the marker, and where there is no room even for that, nothing is left.
///
/// ```
/// use harness_prompt::{Keep, cut_to_tokens};
///
/// let text = "first line\n```sh\nmake a\nmake b\nmake c\nmake d\nmake e\n```\n";
/// let marker = |kept, all| format!("[cut: {kept} of {all} bytes]");
/// let cut = cut_to_tokens(text, 13, Keep::Start, marker).unwrap();
/// assert_eq!(cut.text, "first line\n```sh\nmake a\n```\n[cut: 23 of 56 bytes]");
/// ```
pub fn cut_to_tokens(
    text: &str,
    tokens: usize,
    keep: Keep,
    marker: impl Fn(usize, usize) -> String,
) -> Option<Cut> {
    let max = tokens.saturating_mul(WEIGHT_OF_A_TOKEN);
    (weight(text) > max).then(|| cut(text, max, keep, marker))
}

/// Cuts a text that is too heavy to the weight `max`.
pub(crate) fn cut(
    text: &str,
    max: usize,
    keep: Keep,
    marker: impl Fn(usize, usize) -> String,
) -> Cut {
    let all = text.len();
    // The longest that the marker can get, and the line break beside it.
    let room = max.checked_sub(weight(&marker(all, all)) + 1);
    let mut room = match (room, keep) {
        (Some(room), Keep::Start | Keep::End) => room,
        _ => 0,
    };
    for _ in 0..TRIES {
        let cut = match keep {
            Keep::Start => start(text, room, &marker),
            Keep::End => end(text, room, &marker),
            Keep::Whole => break,
        };
        let over = weight(&cut.text).saturating_sub(max);
        if cut.kept > 0 && over == 0 {
            return cut;
        }
        if over == 0 || over >= room {
            break;
        }
        room -= over;
    }
    let marker = marker(0, all);
    let text = if weight(&marker) <= max {
        marker
    } else {
        String::new()
    };
    Cut { text, kept: 0 }
}

/// Keeps the beginning.
fn start(text: &str, room: usize, marker: &impl Fn(usize, usize) -> String) -> Cut {
    let end = start_of_character(text, prefix_within(text, room));
    let kept = match text[..end].rfind('\n') {
        // A line that is most of what there is room for is cut rather than left out.
        Some(line) if line >= end / 2 => &text[..line],
        _ => &text[..end],
    };
    let kept = match line_of_fence(text, kept.len()) {
        Some((start, _)) => &text[..start],
        None => kept,
    };
    let kept = before_open_tag(kept, &text[kept.len()..]).trim_end();
    let mut cut = kept.to_owned();
    for open in open_at_end(kept, text).iter().rev() {
        cut.push('\n');
        match open {
            Open::Block { fence, .. } => cut.push_str(&fence.closing()),
            Open::Element { name, .. } => {
                cut.push_str("</");
                cut.push_str(name);
                cut.push('>');
            }
        }
    }
    if !cut.is_empty() {
        cut.push('\n');
    }
    cut.push_str(&marker(kept.len(), text.len()));
    Cut {
        text: cut,
        kept: kept.len(),
    }
}

/// Keeps the end.
fn end(text: &str, room: usize, marker: &impl Fn(usize, usize) -> String) -> Cut {
    let from = end_of_character(text, suffix_within(text, room));
    let tail = &text[from..];
    let kept = match tail.find('\n') {
        _ if from == 0 || text[..from].ends_with('\n') => tail,
        Some(line) if line <= tail.len() / 2 => &tail[line + 1..],
        _ => tail,
    };
    let kept = match line_of_fence(text, text.len() - kept.len()) {
        Some((_, end)) => &text[end..],
        None => kept,
    };
    let kept = behind_open_tag(&text[..text.len() - kept.len()], kept);
    let kept = kept.trim_start_matches(['\n', '\r']);
    let mut cut = marker(kept.len(), text.len());
    for open in &open_at_end(&text[..text.len() - kept.len()], text) {
        cut.push('\n');
        match open {
            Open::Block { line, .. } => cut.push_str(line),
            Open::Element { tag, .. } => cut.push_str(tag),
        }
    }
    if !kept.is_empty() {
        cut.push('\n');
    }
    cut.push_str(kept);
    Cut {
        text: cut,
        kept: kept.len(),
    }
}

/// Where the line begins and ends that a place is within, if that line is a fence.
fn line_of_fence(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let is_within = start < at && at < end;
    (is_within && Fence::opened_by(&text[start..end]).is_some()).then_some((start, end))
}

/// What was opened before a place and is closed only behind it.
#[derive(Debug, PartialEq, Eq)]
enum Open<'t> {
    /// A fenced block of code, by the line that opens it.
    Block { fence: Fence, line: &'t str },
    /// An element, as in XML, by its opening tag.
    Element { name: &'t str, tag: &'t str },
}

/// What is open at the end of `kept`, the beginning of `text`, from the outside in.
///
/// A tag counts if its element is closed somewhere in the text: `<T>` in
/// prose and `<br>` are none.
fn open_at_end<'t>(kept: &'t str, text: &'t str) -> Vec<Open<'t>> {
    let rest = &text[kept.len()..];
    let mut open: Vec<Open<'t>> = Vec::new();
    let mut end = 0;
    for line in kept.split('\n') {
        let start = end;
        end += line.len() + 1;
        if let Some(Open::Block { fence, .. }) = open.last() {
            if fence.is_closed_by(line) {
                open.pop();
            }
            continue;
        }
        if let Some(fence) = Fence::opened_by(line) {
            open.push(Open::Block { fence, line });
            continue;
        }
        for tag in tags(kept, start, line.len()) {
            if let Some(name) = tag.strip_prefix("</") {
                let name = name_of(name);
                let place = open.iter().rposition(
                    |open| matches!(open, Open::Element { name: other, .. } if *other == name),
                );
                if let Some(place) = place {
                    open.truncate(place);
                }
            } else if !tag.ends_with("/>") && open.len() < MAX_OPEN {
                let name = name_of(&tag[1..]);
                open.push(Open::Element { name, tag });
            }
        }
    }
    open.retain(|open| match open {
        Open::Block { .. } => true,
        Open::Element { name, .. } => closes_element(rest, name),
    });
    open
}

/// The tags that begin in a line of `text`: `<name …>`, `</name>`, `<name …/>`. They may end below it.
fn tags(text: &str, start: usize, length: usize) -> impl Iterator<Item = &str> {
    let mut at = start;
    std::iter::from_fn(move || {
        loop {
            let line = &text[at..start + length];
            let tag = &text[at + line.find('<')?..];
            at = text.len() - tag.len() + 1;
            if !begins_tag(tag) {
                continue;
            }
            if let Some(end) = ends_tag(&tag[1..]) {
                at = (at + end + 1).min(start + length);
                return Some(&tag[..end + 2]);
            }
        }
    })
}

fn begins_tag(text: &str) -> bool {
    let inner = text.strip_prefix("</").unwrap_or(&text[1..]);
    inner.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn name_of(inner: &str) -> &str {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let end = inner.find(|c| !of_name(c)).unwrap_or(inner.len());
    &inner[..end]
}

fn closes_element(text: &str, name: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find("</") {
        rest = &rest[start + 2..];
        if name_of(rest) == name {
            return true;
        }
    }
    false
}

/// Takes away the beginning of a tag that has no end. `rest` is what follows.
fn before_open_tag<'t>(kept: &'t str, rest: &str) -> &'t str {
    let from = kept.floor_char_boundary(kept.len().saturating_sub(MAX_TAG));
    let Some(at) = kept[from..].rfind('<').map(|at| from + at) else {
        return kept;
    };
    let tag = &kept[at..];
    if tag.contains('>') || !may_begin_tag(tag) {
        return kept;
    }
    // Over a line break it is one only if it ends as one.
    let is_tag = !tag.contains('\n') && !kept.ends_with('\n') && !rest.starts_with('\n')
        || ends_tag(rest).is_some();
    if is_tag { &kept[..at] } else { kept }
}

/// The same from behind: takes away the end of a tag that begins in `before`.
fn behind_open_tag<'t>(before: &str, tail: &'t str) -> &'t str {
    if before_open_tag(before, tail).len() == before.len() {
        return tail;
    }
    match ends_tag(tail) {
        Some(at) => &tail[at + 1..],
        None => tail,
    }
}

/// Where a tag that is open at the beginning of a text ends.
fn ends_tag(text: &str) -> Option<usize> {
    let at = text.find(['<', '>'])?;
    (at < MAX_TAG && text[at..].starts_with('>')).then_some(at)
}

fn may_begin_tag(text: &str) -> bool {
    matches!(text, "<" | "</") || begins_tag(text)
}

/// The nearest place at or before `at` where a character begins, as a reader sees characters: not
/// between a letter and its accents, or within an emoji of several parts.
fn start_of_character(text: &str, at: usize) -> usize {
    let mut at = text.floor_char_boundary(at);
    while at > 0 && at < text.len() && joins(text, at) {
        at = text.floor_char_boundary(at - 1);
    }
    at
}

/// The nearest such place at or behind `at`.
fn end_of_character(text: &str, at: usize) -> usize {
    let mut at = text.ceil_char_boundary(at);
    while at < text.len() && at > 0 && joins(text, at) {
        at = text.ceil_char_boundary(at + 1);
    }
    at
}

/// Whether what is before and behind a place makes one character.
fn joins(text: &str, at: usize) -> bool {
    const JOINER: char = '\u{200D}';
    let before = text[..at].chars().next_back();
    let behind = text[at..].chars().next();
    let extends = |c: char| {
        matches!(c, JOINER | '\u{0300}'..='\u{036F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
            | '\u{20D0}'..='\u{20FF}' | '\u{FE00}'..='\u{FE0F}' | '\u{FE20}'..='\u{FE2F}'
            | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0100}'..='\u{E01EF}')
    };
    before == Some(JOINER)
        || behind.is_some_and(extends)
        || (before, behind) == (Some('\r'), Some('\n'))
}
