//! A trace, drawn: what it comes to, and a line for each span with its place in time.

use std::fmt::Write as _;
use std::time::Duration;

use harness_telemetry::trace::Trace;

use crate::quantity::{count, span_of_time};
use crate::terminal::excerpt;
use crate::trace_rows::{Row, rows};
use crate::trace_sums::{About, TraceSums};

/// Deeper than this, nothing is indented any more.
const DEEPEST: usize = 20;
/// The smallest width of a bar.
const BAR: usize = 10;

/// How a trace is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The most characters of a line.
    pub(crate) width: usize,
    /// Whether all spans are shown, and what happened within them.
    pub(crate) all: bool,
    pub(crate) colour: bool,
}

/// The drawing.
pub(crate) fn text(trace: &Trace, look: Look) -> String {
    let tree = trace.tree();
    let mut text = TraceSums::of(trace, &tree).text();
    if trace.spans.is_empty() {
        return text;
    }
    text.push('\n');
    let (rows, left_out) = rows(trace, &tree, look.all);
    let range = trace.range().unwrap_or_default();
    let columns = Columns::of(&rows, range, look.width);
    for row in &rows {
        let _ = writeln!(text, "{}", line(row, &columns, range, look.colour));
    }
    if left_out > 0 {
        let what = count(left_out as u64, "more span");
        let _ = writeln!(text, "… {what}; --all shows all");
    }
    text
}

/// How wide the parts of a line are, in characters.
struct Columns {
    name: usize,
    bar: usize,
    duration: usize,
    words: usize,
}

impl Columns {
    fn of(rows: &[Row], range: (Duration, Duration), width: usize) -> Self {
        let longest = |length: fn(&Row) -> usize| rows.iter().map(length).max().unwrap_or(0);
        let durations = rows.iter().map(|row| duration(row, range).chars().count());
        let duration = durations.max().unwrap_or(0);
        // The mark, the gaps, the duration.
        let free = width.saturating_sub(2 + 1 + 1 + duration + 2);
        let name = longest(|row| indent(row) + row.name.chars().count());
        let name = name.min(free.saturating_sub(BAR)).min((free / 2).max(16));
        let words = longest(|row| row.words.chars().count());
        let bar = free.saturating_sub(name + words);
        let bar = bar
            .clamp(BAR, (width / 2).max(BAR))
            .min(free.saturating_sub(name).max(1));
        Self {
            name,
            bar,
            duration,
            words: free.saturating_sub(name + bar),
        }
    }
}

fn indent(row: &Row) -> usize {
    2 * row.depth.min(DEEPEST)
}

fn line(row: &Row, columns: &Columns, range: (Duration, Duration), colour: bool) -> String {
    let mark = if row.failed { "! " } else { "  " };
    // A name is there however far in it is.
    let indent = indent(row).min(columns.name / 2);
    let name = cut(&row.name, columns.name.saturating_sub(indent));
    let width = columns.name;
    let mut label = format!("{mark}{:indent$}{name}", "");
    let missing = (width + 2).saturating_sub(label.chars().count());
    if colour && row.failed {
        label = format!("\x1b[31m{label}\x1b[0m");
    }
    let bar = match row.time {
        Some(time) => bar(row, time, range, columns.bar),
        None => " ".repeat(columns.bar),
    };
    let (duration, digits) = (duration(row, range), columns.duration);
    let words = cut(&row.words, columns.words);
    let line = format!("{label}{:missing$} {bar} {duration:>digits$}  {words}", "");
    line.trim_end().to_owned()
}

/// How long it took; of something that happened, how long after the beginning.
fn duration(row: &Row, range: (Duration, Duration)) -> String {
    match row.time {
        Some((start, _)) if row.event => {
            format!("+{}", span_of_time(start.saturating_sub(range.0)))
        }
        Some((start, end)) => span_of_time(end.saturating_sub(start)),
        None => "-".to_owned(),
    }
}

/// The place of a span in time.
fn bar(row: &Row, time: (Duration, Duration), range: (Duration, Duration), width: usize) -> String {
    let whole = range.1.saturating_sub(range.0).as_secs_f64();
    let place = |time: Duration| {
        let offset = time.saturating_sub(range.0).as_secs_f64();
        if whole > 0.0 {
            offset / whole * width as f64
        } else {
            0.0
        }
    };
    let start = (place(time.0).floor() as usize).min(width.saturating_sub(1));
    let end = (place(time.1).ceil() as usize).clamp(start + 1, width.max(start + 1));
    let glyph = match row.about {
        _ if row.event => "·",
        About::Chat => "█",
        About::Tool => "▓",
        About::Retry => "░",
        About::Agent | About::Other => "━",
    };
    format!(
        "{}{}{}",
        " ".repeat(start),
        glyph.repeat(end - start),
        " ".repeat(width.saturating_sub(end))
    )
}

/// At most so many characters.
fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    match chars.checked_sub(1) {
        Some(chars) => excerpt(text, chars),
        None => String::new(),
    }
}
