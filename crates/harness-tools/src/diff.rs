//! A unified diff of the places that were changed.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::text_file::LineEndings;
use crate::truncate::{around as around_change, head};

/// Lines shown before and after a change.
const CONTEXT: usize = 3;

/// Beyond as many lines, a hunk shows all old lines and then all new ones.
const MAX_COMPARED: usize = 2_000;

/// How much of a line is shown, in bytes.
const LINE_BYTES: usize = 500;

/// One change: a range of the old text, and what took its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    pub(crate) old: Range<usize>,
    pub(crate) new: &'a str,
}

/// A diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// Hunks in unified format.
    pub(crate) text: String,
    /// The first line that is different, in the new text, from 1.
    pub(crate) first_changed_line: usize,
    /// Whether lines end otherwise than before, which the hunks do not show.
    pub(crate) endings_change: bool,
}

/// Changes that are near each other, with the lines around them.
struct Hunk<'a, 'c> {
    changes: &'c [Change<'a>],
    /// Bytes of the old text: whole lines.
    bytes: Range<usize>,
}

/// Diffs around the changes, which are sorted and do not overlap. At most about `max_bytes` are
/// written. Neither text is copied but for the lines that are shown.
pub(crate) fn unified(old: &str, changes: &[Change<'_>], max_bytes: usize) -> Diff {
    let mut diff = Diff::default();
    let mut hidden = 0;
    // Lines before this byte of the old text, there and in the new one.
    let (mut at, mut old_lines, mut new_lines) = (0, 0, 0);
    for hunk in hunks(old, changes) {
        if diff.text.len() >= max_bytes {
            hidden += 1;
            continue;
        }
        let between = breaks(old.get(at..hunk.bytes.start).unwrap_or_default());
        old_lines += between;
        new_lines += between;
        let (before, after) = hunk.texts(old);
        write_hunk(
            &mut diff,
            (before, old_lines),
            (&after, new_lines),
            max_bytes,
        );
        old_lines += breaks(before);
        new_lines += breaks(&after);
        at = hunk.bytes.end;
    }
    if hidden > 0 {
        let _ = writeln!(diff.text, "[{hidden} more hunks are not shown.]");
    }
    diff
}

fn breaks(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Brings changes that are near each other together, and adds context.
fn hunks<'a, 'c>(old: &str, changes: &'c [Change<'a>]) -> Vec<Hunk<'a, 'c>> {
    let mut hunks: Vec<Hunk<'_, '_>> = Vec::new();
    let mut first = 0;
    // Where the line ends that the last change ended in.
    let mut line = 0;
    for (index, change) in changes.iter().enumerate() {
        // A line may have any length and any number of changes; it is looked through once.
        if change.old.end < line
            && let Some(last) = hunks.last_mut()
        {
            last.changes = changes.get(first..=index).unwrap_or_default();
            continue;
        }
        let bytes;
        (bytes, line) = around(old, change);
        match hunks.last_mut() {
            Some(last) if bytes.start <= last.bytes.end => {
                last.bytes.end = bytes.end.max(last.bytes.end);
                last.changes = changes.get(first..=index).unwrap_or_default();
            }
            _ => {
                first = index;
                hunks.push(Hunk {
                    changes: changes.get(first..=index).unwrap_or_default(),
                    bytes,
                });
            }
        }
    }
    hunks
}

impl Hunk<'_, '_> {
    /// Its lines in the old text and in the new.
    fn texts<'t>(&self, old: &'t str) -> (&'t str, String) {
        let before = old.get(self.bytes.clone()).unwrap_or_default();
        let mut after = String::with_capacity(before.len());
        let mut at = self.bytes.start;
        for change in self.changes {
            after.push_str(old.get(at..change.old.start).unwrap_or_default());
            after.push_str(change.new);
            at = change.old.end;
        }
        after.push_str(old.get(at..self.bytes.end).unwrap_or_default());
        (before, after)
    }
}

/// The whole lines of a change, with context before and after; and where they end without it.
fn around(old: &str, change: &Change<'_>) -> (Range<usize>, usize) {
    let bytes = old.as_bytes();
    let mut start = line_start(bytes, change.old.start);
    let mut end = change.old.end;
    // Whether the change ends within a line, in the old text or in the new.
    let new_ends_line = match change.new.as_bytes().last() {
        Some(last) => *last == b'\n',
        None => start == change.old.start,
    };
    let ends_line = end == 0 || bytes.get(end - 1) == Some(&b'\n');
    if !ends_line || !new_ends_line {
        end = line_end(bytes, end);
    }
    let own_end = end;
    for _ in 0..CONTEXT {
        start = line_start(bytes, start.saturating_sub(1));
        end = line_end(bytes, end);
    }
    (start..end, own_end)
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

/// Writes a hunk. Each text comes with the number of lines before it.
fn write_hunk(diff: &mut Diff, old: (&str, usize), new: (&str, usize), max_bytes: usize) {
    let old_lines: Vec<&str> = old.0.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.0.split_inclusive('\n').collect();
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
    let header = |before: usize, lines: usize| {
        let first = if lines == 0 { before } else { before + 1 };
        if lines == 1 {
            first.to_string()
        } else {
            format!("{first},{lines}")
        }
    };
    // An edit beside others may have changed nothing.
    if ops.iter().all(|op| op.tag() == similar::DiffTag::Equal) {
        return;
    }
    let out = &mut diff.text;
    let _ = writeln!(
        out,
        "@@ -{} +{} @@",
        header(old.1, old_lines.len()),
        header(new.1, new_lines.len())
    );
    let mut hidden = 0;
    // Of the lines that are not the same.
    let (mut removed, mut added) = (String::new(), String::new());
    for op in ops {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            let lines = old_lines.get(old_range).unwrap_or_default();
            hidden += write_lines(out, ' ', lines, &[], max_bytes);
            continue;
        }
        if diff.first_changed_line == 0 {
            diff.first_changed_line = new.1 + new_range.start + 1;
        }
        let before = old_lines.get(old_range).unwrap_or_default();
        let after = new_lines.get(new_range).unwrap_or_default();
        removed.extend(before.iter().copied());
        added.extend(after.iter().copied());
        hidden += write_lines(out, '-', before, after, max_bytes);
        hidden += write_lines(out, '+', after, before, max_bytes);
    }
    let endings = [removed, added].map(|text| LineEndings::of(text.as_bytes()));
    if endings[0] != endings[1] && !endings.contains(&LineEndings::None) {
        diff.endings_change = true;
    }
    if hidden > 0 {
        let lines = if hidden == 1 { "line is" } else { "lines are" };
        let _ = writeln!(out, "[{hidden} more {lines} not shown.]");
    }
}

/// Writes lines while there is room, and gives the number of those that were left out. Of a long line,
/// the part is shown where it begins to differ from the one of `others` in its place.
fn write_lines(out: &mut String, mark: char, lines: &[&str], others: &[&str], max: usize) -> usize {
    for (index, line) in lines.iter().enumerate() {
        if out.len() >= max {
            return lines.len() - index;
        }
        let body = line.strip_suffix('\n').unwrap_or(line);
        let body = body.strip_suffix('\r').unwrap_or(body);
        let same = others
            .get(index)
            .map_or(0, |other| same_beginning(body, other));
        if same > LINE_BYTES / 2 {
            let _ = writeln!(out, "{mark}{}", around_change(body, same, LINE_BYTES));
        } else {
            let shown = head(body, LINE_BYTES);
            let cut = if shown.len() < body.len() { "…" } else { "" };
            let _ = writeln!(out, "{mark}{shown}{cut}");
        }
        if !line.ends_with('\n') {
            out.push_str("\\ No newline at end of file\n");
        }
    }
    0
}

/// How many bytes two texts begin with alike.
fn same_beginning(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
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
        let changes = [
            Change {
                old: at(&old, "l5")..at(&old, "l5") + 2,
                new: "five\nmore",
            },
            Change {
                old: at(&old, "l30")..at(&old, "l30") + 3,
                new: "thirty",
            },
        ];
        let diff = unified(&old, &changes, 10_000);
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
            new: &new,
        };
        let diff = unified(&old, &[change], 40);
        let last = diff.text.lines().last().expect("a line");
        assert_eq!(last, "[1496 more lines are not shown.]");
        assert!(diff.text.len() < 100, "{}", diff.text);
    }

    /// Line endings are not shown, so a change of them is told.
    #[test]
    fn a_change_of_line_endings_is_told() {
        for (old, change, new, told) in [
            ("a\r\nb\r\n", 0..2, "a", true),
            ("a\nb\n", 0..1, "a\r", true),
            ("a\r\nb\r\n", 0..1, "x", false),
            ("a\r\nb", 0..4, "x", false),
        ] {
            let diff = unified(old, &[Change { old: change, new }], 1_000);
            assert_eq!(diff.endings_change, told, "{old:?}: {}", diff.text);
        }
    }

    /// Each change is not looked for in the whole of a line that has very many.
    #[test]
    fn many_changes_in_one_long_line() {
        let old = "ab".repeat(200_000);
        let changes: Vec<Change<'_>> = (0..200_000)
            .map(|at| Change {
                old: at * 2..at * 2 + 1,
                new: "x",
            })
            .collect();
        let started = std::time::Instant::now();
        let diff = unified(&old, &changes, 1_000);
        assert!(diff.text.contains("\n+xbxb"), "{}", diff.text);
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn a_change_far_into_a_line_is_seen() {
        let old = format!("{}old{}\n", "x".repeat(3_000), "y".repeat(3_000));
        let at = 3_000..3_003;
        let diff = unified(
            &old,
            &[Change {
                old: at,
                new: "new",
            }],
            10_000,
        );
        let lines: Vec<&str> = diff.text.lines().collect();
        assert!(
            lines[1].starts_with("-…x") && lines[1].contains("xoldy"),
            "{}",
            diff.text
        );
        assert!(
            lines[2].starts_with("+…x") && lines[2].contains("xnewy"),
            "{}",
            diff.text
        );
        assert!(diff.text.len() < 1_300);
    }

    #[test]
    fn a_change_that_changes_nothing_is_not_shown() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let change = |old, new| Change { old, new };
        let diff = unified(old, &[change(0..1, "a"), change(18..19, "X")], 1_000);
        assert_eq!(diff.first_changed_line, 10);
        assert_eq!(diff.text, "@@ -7,4 +7,4 @@\n g\n h\n i\n-j\n+X\n");
    }
}
