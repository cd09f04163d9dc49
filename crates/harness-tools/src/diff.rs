//! A unified diff of the places that were changed.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::truncate::head;

/// Lines shown before and after a change.
const CONTEXT: usize = 3;

/// Beyond as many lines, a hunk shows all old lines and then all new ones.
const MAX_COMPARED: usize = 2_000;

/// How much of a line is shown, in bytes.
const LINE_BYTES: usize = 500;

/// One change: a range of the old text and the range of the new text that took its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// A diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// Hunks in unified format.
    pub(crate) text: String,
    /// The first line that is different, in the new text, from 1.
    pub(crate) first_changed_line: usize,
}

/// The line ranges of a hunk, from 0.
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
    old_bytes: Range<usize>,
    new_bytes: Range<usize>,
}

/// Diffs around the changes, which are sorted; the texts are equal elsewhere. At most about
/// `max_bytes` are written.
pub(crate) fn unified(old: &str, new: &str, changes: &[Change], max_bytes: usize) -> Diff {
    let mut diff = Diff::default();
    let mut hidden = 0;
    for hunk in hunks(old, new, changes) {
        if diff.text.len() >= max_bytes {
            hidden += 1;
            continue;
        }
        write_hunk(&mut diff, old, new, &hunk, max_bytes);
    }
    if hidden > 0 {
        let _ = writeln!(diff.text, "[{hidden} more hunks are not shown.]");
    }
    diff
}

/// Brings changes that are near each other together, and adds context.
fn hunks(old: &str, new: &str, changes: &[Change]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in changes {
        // Both sides must take in the same text after the change.
        let to_line_end = line_start(old.as_bytes(), change.old.end) != change.old.end
            || line_start(new.as_bytes(), change.new.end) != change.new.end;
        let old_bytes = around(old, &change.old, to_line_end);
        let new_bytes = around(new, &change.new, to_line_end);
        match hunks.last_mut() {
            Some(last) if old_bytes.start <= last.old_bytes.end => {
                last.old_bytes.end = old_bytes.end.max(last.old_bytes.end);
                last.new_bytes.end = new_bytes.end.max(last.new_bytes.end);
            }
            _ => hunks.push(Hunk {
                old: 0..0,
                new: 0..0,
                old_bytes,
                new_bytes,
            }),
        }
    }
    let count = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let (mut old_at, mut new_at) = ((0, 0), (0, 0));
    for hunk in &mut hunks {
        for (text, bytes, lines, at) in [
            (old, &hunk.old_bytes, &mut hunk.old, &mut old_at),
            (new, &hunk.new_bytes, &mut hunk.new, &mut new_at),
        ] {
            let start = at.1 + count(text.get(at.0..bytes.start).unwrap_or_default());
            let body = text.get(bytes.clone()).unwrap_or_default();
            *lines = start..start + body.split_inclusive('\n').count();
            *at = (bytes.end, start + count(body));
        }
    }
    hunks
}

/// The whole lines of a range, with context before and after. `to_line_end` says that the range ends
/// within a line, in the old text or in the new.
fn around(text: &str, range: &Range<usize>, to_line_end: bool) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut start = line_start(bytes, range.start);
    let mut end = if to_line_end {
        line_end(bytes, range.end)
    } else {
        range.end
    };
    for _ in 0..CONTEXT {
        start = line_start(bytes, start.saturating_sub(1));
        end = line_end(bytes, end);
    }
    start..end
}

fn line_start(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(..at)
        .and_then(|before| memchr::memrchr(b'\n', before))
        .map_or(0, |at| at + 1)
}

/// The end of the line that this position is in; a position at a line's beginning is in that line.
fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..)
        .and_then(|after| memchr::memchr(b'\n', after))
        .map_or(bytes.len(), |found| at + found + 1)
}

fn write_hunk(diff: &mut Diff, old: &str, new: &str, hunk: &Hunk, max_bytes: usize) {
    let (old_text, new_text) = (
        old.get(hunk.old_bytes.clone()).unwrap_or_default(),
        new.get(hunk.new_bytes.clone()).unwrap_or_default(),
    );
    let old_lines: Vec<&str> = old_text.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_text.split_inclusive('\n').collect();
    let ops = if old_lines.len() + new_lines.len() <= MAX_COMPARED {
        capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines)
    } else {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old_lines.len(),
            new_index: 0,
            new_len: new_lines.len(),
        }]
    };
    let header = |range: &Range<usize>| {
        let first = if range.is_empty() {
            range.start
        } else {
            range.start + 1
        };
        if range.len() == 1 {
            first.to_string()
        } else {
            format!("{first},{}", range.len())
        }
    };
    // An edit beside others may have changed nothing.
    if ops.iter().all(|op| op.tag() == similar::DiffTag::Equal) {
        return;
    }
    let out = &mut diff.text;
    let _ = writeln!(out, "@@ -{} +{} @@", header(&hunk.old), header(&hunk.new));
    let mut hidden = 0;
    for op in ops {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            hidden += write_lines(out, ' ', &old_lines, old_range, max_bytes);
            continue;
        }
        if diff.first_changed_line == 0 {
            diff.first_changed_line = hunk.new.start + new_range.start + 1;
        }
        hidden += write_lines(out, '-', &old_lines, old_range, max_bytes);
        hidden += write_lines(out, '+', &new_lines, new_range, max_bytes);
    }
    if hidden > 0 {
        let lines = if hidden == 1 { "line is" } else { "lines are" };
        let _ = writeln!(out, "[{hidden} more {lines} not shown.]");
    }
}

/// Writes lines while there is room, and gives the number of those that were left out.
fn write_lines(
    out: &mut String,
    mark: char,
    lines: &[&str],
    range: Range<usize>,
    max: usize,
) -> usize {
    let count = range.len();
    for (index, line) in lines.iter().skip(range.start).take(count).enumerate() {
        if out.len() >= max {
            return count - index;
        }
        let body = line.strip_suffix('\n').unwrap_or(line);
        let body = body.strip_suffix('\r').unwrap_or(body);
        let shown = head(body, LINE_BYTES);
        let cut = if shown.len() < body.len() { "…" } else { "" };
        let _ = writeln!(out, "{mark}{shown}{cut}");
        if !line.ends_with('\n') {
            out.push_str("\\ No newline at end of file\n");
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_the_numbers_of_the_whole_file() {
        let old = (1..=40)
            .map(|n| format!("l{n}\n"))
            .collect::<Vec<_>>()
            .concat();
        let at = |text: &str, part: &str| text.find(part).expect("is there");
        let new = old
            .replace("l5\n", "five\nmore\n")
            .replace("l30\n", "thirty\n");
        let changes = [
            Change {
                old: at(&old, "l5")..at(&old, "l5") + 2,
                new: at(&new, "five")..at(&new, "more") + 4,
            },
            Change {
                old: at(&old, "l30")..at(&old, "l30") + 3,
                new: at(&new, "thirty")..at(&new, "thirty") + 6,
            },
        ];
        let diff = unified(&old, &new, &changes, 10_000);
        assert_eq!(diff.first_changed_line, 5);
        insta::assert_snapshot!(diff.text, @r"
        @@ -2,7 +2,8 @@
         l2
         l3
         l4
        -l5
        +five
        +more
         l6
         l7
         l8
        @@ -27,7 +28,7 @@
         l27
         l28
         l29
        -l30
        +thirty
         l31
         l32
         l33
        ");
    }

    /// However many changes a hunk has, what does not fit is one line.
    #[test]
    fn what_is_left_out_takes_one_line() {
        let old = "same\nold\n".repeat(500);
        let new = "same\nnew\n".repeat(500);
        let change = Change {
            old: 0..old.len(),
            new: 0..new.len(),
        };
        let diff = unified(&old, &new, &[change], 40);
        let last = diff.text.lines().last().expect("a line");
        assert_eq!(last, "[1496 more lines are not shown.]");
        assert!(diff.text.len() < 100, "{}", diff.text);
    }

    #[test]
    fn a_change_that_changes_nothing_is_not_shown() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let new = "a\nb\nc\nd\ne\nf\ng\nh\ni\nX\n";
        let same = |range: Range<usize>| Change {
            old: range.clone(),
            new: range,
        };
        let diff = unified(old, new, &[same(0..1), same(18..19)], 1_000);
        assert_eq!(diff.first_changed_line, 10);
        assert_eq!(diff.text, "@@ -7,4 +7,4 @@\n g\n h\n i\n-j\n+X\n");
    }
}
