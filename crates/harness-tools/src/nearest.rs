//! Where a text that was not found may have been meant.

use std::fmt::Write as _;

use crate::lookalike::{self, similarity};

/// How many lines of a file are compared.
const MAX_LINES: usize = 50_000;

/// How alike the best line must be, of 1,000.
const ALIKE: u32 = 500;

/// How many lines are shown.
const SHOWN_LINES: usize = 8;

/// How long a line may be to be compared, and to be shown, in bytes.
const LINE_BYTES: usize = 400;

/// In words, the place that is most like `old`, with line numbers; `None` if none is.
pub(crate) fn describe(text: &str, old: &str) -> Option<String> {
    let wanted: Vec<&str> = old.lines().collect();
    let (anchor_at, anchor) = wanted
        .iter()
        .enumerate()
        .filter(|(_, line)| line.len() <= LINE_BYTES)
        .max_by_key(|(at, line)| (line.trim().len(), usize::MAX - at))?;
    let look = |line: &str| line.trim().chars().map(lookalike::fold).collect::<String>();
    let anchor_look = look(anchor);
    if anchor_look.is_empty() {
        return None;
    }
    let mut best: Option<(u32, usize)> = None;
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        // Twice as long cannot be alike enough.
        if trimmed.len() > anchor_look.len() * 3 + 8 || trimmed.len() > LINE_BYTES {
            continue;
        }
        let score = similarity(&anchor_look, &look(line));
        if score >= ALIKE && best.is_none_or(|(best, _)| score > best) {
            best = Some((score, at));
            if score == 1_000 && wanted.len() == 1 {
                break;
            }
        }
    }
    let (_, at) = best?;
    let first = at.saturating_sub(anchor_at);
    let shown = wanted.len().clamp(1, SHOWN_LINES);
    let mut out = format!("The nearest place is at line {}:", at + 1);
    for (number, line) in lines
        .iter()
        .enumerate()
        .skip(first)
        .take(shown.max(at - first + 1))
    {
        if number + SHOWN_LINES < at {
            continue;
        }
        let _ = write!(
            out,
            "\n{}: {}",
            number + 1,
            crate::truncate::head(line, LINE_BYTES)
        );
    }
    if let Some((file, ours)) = first_difference(lines.get(at)?, anchor) {
        let _ = write!(
            out,
            "\nLine {} first differs where the file has {} and `old_text` has {}.",
            at + 1,
            name(file),
            name(ours)
        );
    }
    Some(out)
}

fn first_difference(file: &str, ours: &str) -> Option<(Option<char>, Option<char>)> {
    let (mut file, mut ours) = (file.chars(), ours.chars());
    loop {
        match (file.next(), ours.next()) {
            (None, None) => return None,
            (a, b) if a != b => return Some((a, b)),
            _ => {}
        }
    }
}

fn name(c: Option<char>) -> String {
    match c {
        None => "nothing more".to_owned(),
        Some('\t') => "a tab".to_owned(),
        Some(' ') => "a space".to_owned(),
        Some('\r') => "a carriage return".to_owned(),
        Some(c) if c.is_ascii_graphic() => format!("`{c}`"),
        Some(c) if c.is_alphanumeric() => format!("`{c}` (U+{:04X})", u32::from(c)),
        Some(c) => format!("U+{:04X}", u32::from(c)),
    }
}
