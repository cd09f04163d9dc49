//! Quotes: where they end, where they are missing, and text without them.

use std::collections::BTreeSet;

use crate::blocks::Block;
use crate::error::Error;
use crate::limits::Limits;
use crate::position::Position;
use crate::tree::{self, Source, Spent, Twice};

/// The bytes from the quote that `text` begins with to the one that ends it, both included. `None` if
/// it does not end.
pub(crate) fn quoted_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first()?;
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' && quote == b'"' {
            at += 1;
        } else if byte == quote {
            // In single quotes, two are one that is meant.
            if quote == b'\'' && bytes.get(at + 1) == Some(&quote) {
                at += 1;
            } else {
                return Some(at + 1);
            }
        }
        at += 1;
    }
    None
}

/// `value` and the comment behind it, with the blanks before that.
fn split_comment(value: &str) -> (&str, &str) {
    let from = if value.starts_with(['"', '\'']) {
        quoted_length(value).unwrap_or(0)
    } else {
        0
    };
    let bytes = value.as_bytes();
    let starts = |at: &usize| bytes[*at] == b'#' && matches!(bytes[*at - 1], b' ' | b'\t');
    match (from.max(1)..bytes.len()).find(starts) {
        Some(at) => {
            let kept = value.get(..at).unwrap_or_default().trim_end();
            value.split_at(kept.len())
        }
        None => (value, ""),
    }
}

/// The names behind the `sign` of anchors or aliases in `text`.
fn names(text: &str, sign: char) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || ",[]{}".contains(c);
    let is_sign = move |&(at, _): &(usize, &str)| {
        text.get(..at)
            .is_none_or(|before| before.is_empty() || before.ends_with(ends))
    };
    text.match_indices(sign)
        .filter(is_sign)
        .filter_map(move |(at, _)| text.get(at + 1..)?.split(ends).next())
        .filter(|name| !name.is_empty())
}

/// Puts quotes around values that need them.
pub(crate) struct Quoter<'a> {
    limits: &'a Limits,
    /// The names that `&` gives to values; `*` before one of them is no text.
    anchors: BTreeSet<&'a str>,
    /// What the tries cost, all together.
    spent: Spent,
}

impl<'a> Quoter<'a> {
    pub(crate) fn new(frontmatter: &'a str, limits: &'a Limits) -> Self {
        Self {
            limits,
            anchors: names(frontmatter, '&').collect(),
            spent: Spent {
                bytes: frontmatter.len(),
                ..Spent::default()
            },
        }
    }

    /// The lines of `block` with quotes around its value. `None` if it does not look like text that
    /// lacks them, or has lines below: whether those are part of the text is not told here. It is an
    /// error if a limit is reached; `place` is where the value begins.
    pub(crate) fn quote(
        &mut self,
        block: &Block<'_>,
        place: Position,
    ) -> Result<Option<String>, Error> {
        let whole = block.value();
        if block.is_tight || !block.is_one_line() || whole.starts_with(['|', '>', '"', '\'', '#']) {
            return Ok(None);
        }
        let (value, _) = split_comment(whole);
        let is_mapping = value.contains(": ") || value.contains(":\t") || value.ends_with(':');
        let is_special = value.starts_with(['[', '{', '@', '`', '*', '&', '!']);
        let has_alias = names(value, '*').any(|name| self.anchors.contains(name));
        if !(is_mapping || is_special) || has_alias || self.is_yaml(value, place)? {
            return Ok(None);
        }
        let (before, after) = block.text.split_at(block.value_at);
        let after = after.get(value.len()..).unwrap_or_default();
        let value = value.replace('\'', "''");
        Ok(Some([before, "'", &value, "'", after].concat()))
    }

    /// Whether `value` can be read alone: then it is left as it is.
    fn is_yaml(&mut self, value: &str, place: Position) -> Result<bool, Error> {
        let block = format!("k: {value}\n");
        let source = Source {
            block: &block,
            below: 0,
            removed: &[],
        };
        let twice = Twice::LastWins { but: &[] };
        match tree::read(source, self.limits, &mut self.spent, twice) {
            Err(Error::Yaml { .. }) => Ok(false),
            Err(Error::Limit { what, max, .. }) => Err(tree::limit(what, max, place)),
            _ => Ok(true),
        }
    }
}

/// The value of `block` as the text that stands there: its own line and those below up to a blank one
/// or a comment, joined by spaces, without quotes around it all. Empty if there is none.
pub(crate) fn raw(block: &Block<'_>) -> String {
    let (own, comment) = split_comment(block.value());
    let is_header = own.starts_with(['|', '>'])
        && own.len() <= 3
        && own
            .bytes()
            .skip(1)
            .all(|byte| matches!(byte, b'+' | b'-' | b'1'..=b'9'));
    let own = if is_header || own.starts_with('#') {
        ""
    } else {
        own
    };
    let mut text = own.to_owned();
    if comment.is_empty() {
        let is_text = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in block.below().map(str::trim).take_while(is_text) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
        }
    }
    if text.starts_with(['"', '\'']) && quoted_length(&text) == Some(text.len()) {
        text.pop();
        text.remove(0);
    }
    text
}
