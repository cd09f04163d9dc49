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
    /// The line of the opening fence, counted from 1.
    pub(crate) opened: usize,
    /// Whether a fence has blanks behind its dashes.
    pub(crate) loose: Option<usize>,
    /// Where the body begins, in bytes and in lines.
    pub(crate) body: usize,
    pub(crate) body_line: usize,
}

/// The parts of `text`, or `None` if it has no frontmatter: its first line that is not blank is no
/// fence.
pub(crate) fn split(text: &str) -> Result<Option<Parts<'_>>, Error> {
    let mut lines = Lines { text, at: 0 };
    let mut opened = 0;
    let opening = loop {
        opened += 1;
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
                opened,
                loose: loose.map(|(_, number)| number),
                body: lines.at,
                body_line: line_number + 1,
            }));
        }
    }
}

/// The block as `gray_matter` takes it out of the text; without the blanks around it, which it trims.
pub(crate) fn matter(block: &str) -> Option<String> {
    let text = format!("{FENCE}\n{block}{FENCE}\n");
    let parsed = Matter::<Verbatim>::new().parse::<String>(&text).ok()?;
    Some(parsed.data.unwrap_or_default())
}

/// Hands the block on as it is.
struct Verbatim;

impl Engine for Verbatim {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        Ok(Pod::String(content.to_owned()))
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
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
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
