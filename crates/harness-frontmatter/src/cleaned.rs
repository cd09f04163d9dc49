//! Frontmatter without its control characters.

use std::borrow::Cow;

use crate::blocks;
use crate::document;
use crate::position::Position;
use crate::repair::{Repair, RepairKind};

/// A block without control characters.
pub(crate) struct Cleaned<'b> {
    pub(crate) block: Cow<'b, str>,
    /// As in [`Source::removed`].
    pub(crate) removed: Vec<Position>,
    pub(crate) repair: Option<Repair>,
}

impl<'b> Cleaned<'b> {
    pub(crate) fn of(block: &'b str, below: usize) -> Self {
        let Some((first, _)) = document::controls(block).next() else {
            return Self {
                block: Cow::Borrowed(block),
                removed: Vec::new(),
                repair: None,
            };
        };
        let mut kept = String::with_capacity(block.len());
        let mut removed = Vec::new();
        let mut place = Position {
            line: below + 1,
            column: 1,
        };
        for c in block.chars() {
            if c == '\n' {
                place.line += 1;
                place.column = 1;
            } else if c.is_control() && c != '\t' {
                removed.push(place);
                continue;
            } else {
                place.column += 1;
            }
            kept.push(c);
        }
        let Position { line, column } = Position::of(block, first);
        let key = kept.lines().nth(line - 1).and_then(blocks::key_of);
        let repair = Repair {
            kind: RepairKind::ControlRemoved,
            key: key.unwrap_or_default().to_owned(),
            position: Position {
                line: line + below,
                column,
            },
        };
        Self {
            block: Cow::Owned(kept),
            removed,
            repair: Some(repair),
        }
    }
}
