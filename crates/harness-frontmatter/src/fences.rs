//! Where the frontmatter begins and ends.
//!
//! `gray_matter` is the one that splits; what stands here is settled before it sees the text, and
//! tells what it does not: the places of things, and that a fence is missing.

use std::borrow::Cow;

use gray_matter::engine::Engine;
use gray_matter::{Matter, Pod};

use crate::error::Error;

const FENCE: &str = "---";

/// A text in its parts.
pub(crate) struct Parts<'t> {
    /// What is between the fences, with `\n` at the end of each line.
    pub(crate) block: Cow<'t, str>,
    /// The text from the opening fence to the end of the line of the closing one.
    around: &'t str,
    /// The line of the opening fence, counted from 1.
    pub(crate) opened: usize,
    /// Whether a fence has blanks behind its dashes.
    pub(crate) loose: Option<usize>,
    /// Where the body begins, in bytes and in lines.
    pub(crate) body: usize,
    pub(crate) body_line: usize,
}

impl Parts<'_> {
    /// The block between its fences, with `\n` at the end of each line.
    pub(crate) fn fenced(&self) -> Cow<'_, str> {
        match &self.block {
            // Not a copy, as most files have no other ends of lines.
            Cow::Borrowed(_) if !self.around.contains('\r') => Cow::Borrowed(self.around),
            block => Cow::Owned(fenced(block)),
        }
    }
}

/// `block` between fences.
pub(crate) fn fenced(block: &str) -> String {
    [FENCE, "\n", block, FENCE, "\n"].concat()
}

/// The parts of `text`, or `None` if it has no frontmatter: its first line that is not blank is no
/// fence.
pub(crate) fn split(text: &str) -> Result<Option<Parts<'_>>, Error> {
    let mut lines = Lines { text, at: 0 };
    let mut opened = 0;
    let mut from;
    let opening = loop {
        opened += 1;
        from = lines.at;
        match lines.next() {
            Some(line) if line.trim().is_empty() => {}
            Some(line) if is_fence(line) => break line,
            _ => return Ok(None),
        }
    };
    let start = lines.at;
    let mut line_number = opened;
    loop {
        let end = lines.at;
        line_number += 1;
        let unclosed = |lookalike| Error::Unclosed { opened, lookalike };
        let line = lines.next().ok_or_else(|| unclosed(None))?;
        if is_lookalike(line) {
            // Going on to a rule further below would take the body for YAML.
            return Err(unclosed(Some(line_number)));
        }
        if is_fence(line) {
            let loose = [(opening, opened), (line, line_number)]
                .into_iter()
                .find(|(fence, _)| fence.len() > FENCE.len());
            return Ok(Some(Parts {
                block: with_newlines(&text[start..end]),
                around: &text[from..lines.at],
                opened,
                loose: loose.map(|(_, number)| number),
                body: lines.at,
                body_line: line_number + 1,
            }));
        }
    }
}

/// The block as `gray_matter` takes it out of `fenced`; without the blanks around it, which it trims.
pub(crate) fn matter(fenced: &str) -> Option<String> {
    let parsed = Matter::<Unread>::new().parse::<()>(fenced).ok()?;
    Some(parsed.matter)
}

/// Reads nothing: what is wanted is where the block is.
struct Unread;

impl Engine for Unread {
    fn parse(_: &str) -> gray_matter::Result<Pod> {
        Ok(Pod::Null)
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == FENCE
}

fn is_lookalike(line: &str) -> bool {
    let line = line.trim_end();
    line.len() > FENCE.len() && line.bytes().all(|byte| byte == b'-')
}

fn with_newlines(block: &str) -> Cow<'_, str> {
    if block.contains('\r') {
        Cow::Owned(block.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(block)
    }
}

/// The lines of a text, ended by `\n`, `\r\n` or `\r`, without their ends.
struct Lines<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let length = rest.as_bytes().iter().position(ends);
        let length = length.unwrap_or(rest.len());
        let end = &rest[length..];
        let ending = if end.starts_with("\r\n") {
            2
        } else {
            usize::from(!end.is_empty())
        };
        self.at += length + ending;
        Some(&rest[..length])
    }
}
