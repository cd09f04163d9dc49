//! Applying a unified diff, to see that it says what was done.

/// A line without its ending, and whether it has one. A diff shows `\r\n` like `\n`.
type Line<'a> = (&'a str, bool);

pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(body) => (without_return(body), true),
            None => (without_return(line), false),
        })
        .collect()
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines after the diff is applied to `old`. Panics where it does not fit.
pub(super) fn apply<'a>(old: &'a str, diff: &'a str) -> Vec<Line<'a>> {
    let old = lines(old);
    let mut out: Vec<Line<'a>> = Vec::new();
    let mut at = 0;
    let mut rest = diff.split_terminator('\n').peekable();
    while let Some(header) = rest.next() {
        let (from, to) = ranges(header);
        assert!(at <= from.0, "hunks overlap or are not in order: {header}");
        out.extend(&old[at..from.0]);
        assert_eq!(out.len(), to.0, "where the new lines begin: {header}");
        at = from.0;
        while let Some(line) = rest.next_if(|line| !line.starts_with("@@")) {
            let (mark, body) = line.split_at(1);
            let ended = rest.next_if(|next| next.starts_with('\\')).is_none();
            if mark != "+" {
                assert_eq!(old.get(at), Some(&(body, ended)), "in {header}");
                at += 1;
            }
            if mark != "-" {
                out.push((body, ended));
            }
            assert!(matches!(mark, " " | "+" | "-"), "{line:?}");
        }
        assert_eq!(at, from.0 + from.1, "how many old lines: {header}");
        assert_eq!(out.len(), to.0 + to.1, "how many new lines: {header}");
    }
    out.extend(&old[at..]);
    out
}

/// The first line, from 0, and the number of lines, in the old text and in the new.
fn ranges(header: &str) -> ((usize, usize), (usize, usize)) {
    let inner = header
        .strip_prefix("@@ -")
        .and_then(|rest| rest.strip_suffix(" @@"))
        .and_then(|rest| rest.split_once(" +"));
    let parsed = inner.and_then(|(old, new)| Some((range(old)?, range(new)?)));
    assert!(parsed.is_some(), "a header: {header:?}");
    parsed.unwrap_or_default()
}

fn range(text: &str) -> Option<(usize, usize)> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
    // An empty range is named after the line before it.
    Some((
        if count == 0 {
            first
        } else {
            first.checked_sub(1)?
        },
        count,
    ))
}
