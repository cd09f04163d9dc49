//! The lines of a drawn trace: which spans, in which order, how far in.

use std::time::Duration;

use harness_telemetry::trace::{Trace, TraceSpan, TraceTree};

use crate::terminal::excerpt;
use crate::trace_sums::About;
use crate::trace_words::{is_noise, is_pair, name, words};

/// The most lines, unless all are asked for.
const ROWS: usize = 1_000;

/// One line.
pub(crate) struct Row {
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) words: String,
    /// `None`: it is not known when it was.
    pub(crate) time: Option<(Duration, Duration)>,
    pub(crate) about: About,
    pub(crate) failed: bool,
    /// Whether it is something that happened, of no length.
    pub(crate) event: bool,
}

/// The lines, and how many there would be more.
pub(crate) fn rows(trace: &Trace, tree: &TraceTree, all: bool) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let mut left_out = 0;
    let roots = shown(trace, tree, &tree.roots, all);
    let mut open: Vec<(usize, usize)> = roots.iter().rev().map(|root| (*root, 0)).collect();
    while let Some((index, depth)) = open.pop() {
        let Some(span) = trace.spans.get(index) else {
            continue;
        };
        let children_of = |index: usize| {
            let children = tree.children.get(index).map_or(&[][..], Vec::as_slice);
            shown(trace, tree, children, all)
        };
        let mut children = children_of(index);
        let mut row = row(span, depth);
        if !all
            && let [only] = children.as_slice()
            && let Some(inner) = trace.spans.get(*only)
            && is_pair(span, inner)
        {
            row = pair(span, inner, depth);
            children = children_of(*only);
        }
        open.extend(children.iter().rev().map(|child| (*child, depth + 1)));
        if !all && rows.len() >= ROWS {
            left_out += 1;
            continue;
        }
        rows.push(row);
        if all {
            rows.extend(span.events.iter().map(|event| Row {
                depth: depth + 1,
                name: format!(
                    "· {}",
                    excerpt(event.name.trim_start_matches("harness."), 60)
                ),
                words: String::new(),
                time: (!event.time.is_zero()).then_some((event.time, event.time)),
                about: About::Other,
                failed: false,
                event: true,
            }));
        }
    }
    (rows, left_out)
}

fn row(span: &TraceSpan, depth: usize) -> Row {
    Row {
        depth,
        name: name(span),
        words: words(span).join(", "),
        time: (!span.start.is_zero()).then_some((span.start, span.end)),
        about: About::of(span),
        failed: span.error.is_some(),
        event: false,
    }
}

/// Two spans that are about the same in one line.
fn pair(outer: &TraceSpan, inner: &TraceSpan, depth: usize) -> Row {
    let mut said = words(inner);
    if outer.number("harness.attempt").is_some_and(|it| it > 1.0) {
        said.push(crate::trace_words::name(outer));
    }
    for word in words(outer) {
        if !said.contains(&word) {
            said.push(word);
        }
    }
    Row {
        words: said.join(", "),
        time: (!outer.start.is_zero()).then_some((outer.start, outer.end)),
        failed: outer.error.is_some() || inner.error.is_some(),
        ..row(inner, depth)
    }
}

/// These spans; in the place of each that is left out, those within it.
fn shown(trace: &Trace, tree: &TraceTree, spans: &[usize], all: bool) -> Vec<usize> {
    let mut found = Vec::with_capacity(spans.len());
    let mut moved = false;
    let mut open: Vec<usize> = spans.iter().rev().copied().collect();
    while let Some(index) = open.pop() {
        match trace.spans.get(index) {
            Some(span) if !all && is_noise(span) => {
                let inner = tree.children.get(index).map_or(&[][..], Vec::as_slice);
                moved |= !inner.is_empty();
                open.extend(inner.iter().rev());
            }
            _ => found.push(index),
        }
    }
    if moved {
        found.sort_by_key(|index| trace.spans.get(*index).map(|span| span.start));
    }
    found
}
