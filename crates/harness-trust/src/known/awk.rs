//! `awk` that only prints.

use std::path::Path;

use crate::shell::{Word, awk_program};

use super::{Known, Operand, Purity};

/// Its program is simple already: others are opaque.
pub(super) fn known(arguments: &[Word]) -> Option<Known<'_>> {
    let (at, _) = awk_program(arguments)?;
    let mut reads = Vec::new();
    for operand in arguments.get(at + 1..).unwrap_or_default() {
        match operand {
            // An assignment, or an option to some.
            Word::Literal(text) if text.contains('=') || text.starts_with('-') => return None,
            Word::Literal(text) => reads.push(Operand::Path(Path::new(text))),
            Word::Glob { pattern, .. } if !operand.may_be_option() && !pattern.contains('=') => {
                reads.push(Operand::Glob(pattern));
            }
            Word::Glob { .. } | Word::Unknown(_) => return None,
        }
    }
    Some(Known {
        purity: Purity::ReadOnly,
        reads,
    })
}
