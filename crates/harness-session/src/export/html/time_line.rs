//! What happened when: runs, turns, requests and calls on one scale.

use std::fmt::Write as _;

use super::escape::{attribute, escaped};
use crate::export::calendar::{clock, date_time, duration};
use crate::export::clip::grouped;
use crate::export::outcome::State;
use crate::export::overview::Overview;
use crate::export::span::{Span, SpanKind, Turn};
use crate::id::Timestamp;

/// More bars are not told apart. The last ones are shown.
const BARS: usize = 4_000;
/// The most bars of one kind above each other.
const LANES: usize = 4;
/// The least width of a bar.
const THIN: f64 = 2.0;
/// The height of a lane, and of the bar in it.
const LANE: f64 = 16.0;
const BAR: f64 = 11.0;
/// The height of the times above.
const AXIS: f64 = 20.0;
/// The most width of what stands for a pause.
const PAUSE: f64 = 28.0;
/// The least width between two times.
const APART: f64 = 150.0;
/// Shorter pauses, in milliseconds, are drawn as they are.
const SHORT: u64 = 2_000;

/// A stretch of time in which something was done, and where it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    begin: u64,
    end: u64,
    x: f64,
}

/// Where a time is drawn. Pauses are cut out.
#[derive(Debug)]
struct Scale {
    stretches: Vec<Stretch>,
    pause: f64,
    per_millisecond: f64,
    width: f64,
}

impl Scale {
    fn new(spans: &[Span], turns: usize) -> Self {
        let mut busy: Vec<(u64, u64)> = Vec::with_capacity(spans.len() * 2);
        for span in spans {
            if span.kind == SpanKind::Run {
                // A run may have been left for days, and have gone on.
                busy.push((span.begin, span.begin));
                busy.push((span.end, span.end));
            } else {
                busy.push((span.begin, span.end));
            }
        }
        busy.sort_unstable();
        let whole: u64 = joined(&busy, 0)
            .iter()
            .map(|(begin, end)| end - begin)
            .fold(0, u64::saturating_add);
        let busy = joined(&busy, SHORT.max(whole / 40));
        let active: u64 = busy
            .iter()
            .map(|(begin, end)| end - begin)
            .fold(0, u64::saturating_add);
        let width = (turns as f64 * 14.0).clamp(740.0, 16_000.0);
        let pauses = busy.len().saturating_sub(1).max(1) as f64;
        let pause = PAUSE.min(width * 0.4 / pauses);
        let drawn = width - THIN - pause * (pauses.min(busy.len().saturating_sub(1) as f64));
        let per_millisecond = drawn / (active.max(1) as f64);
        let mut x = 0.0;
        let stretches = busy
            .into_iter()
            .map(|(begin, end)| {
                let stretch = Stretch { begin, end, x };
                x += (end - begin) as f64 * per_millisecond + pause;
                stretch
            })
            .collect();
        Self {
            stretches,
            pause,
            per_millisecond,
            width,
        }
    }

    fn x(&self, time: u64) -> f64 {
        let after = self
            .stretches
            .partition_point(|stretch| stretch.begin <= time);
        let Some(stretch) = after.checked_sub(1).and_then(|at| self.stretches.get(at)) else {
            return 0.0;
        };
        let time = time.min(stretch.end);
        let x = stretch.x + (time - stretch.begin) as f64 * self.per_millisecond;
        x.clamp(0.0, self.width - THIN)
    }
}

/// Sorted stretches, with those joined that are no further apart than this.
fn joined(sorted: &[(u64, u64)], apart: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in sorted {
        match all.last_mut() {
            Some(last) if *begin <= last.1.saturating_add(apart) => last.1 = last.1.max(*end),
            _ => all.push((*begin, *end)),
        }
    }
    all
}

pub(super) fn write(out: &mut String, overview: &Overview) {
    let spans = &overview.spans.all;
    if spans.is_empty() {
        return;
    }
    let turns = &overview.spans.turns;
    out.push_str(
        "<section id=\"time-line\" aria-labelledby=\"time-line-title\">\n\
         <h2 id=\"time-line-title\">Time line</h2>\n",
    );
    let hidden = spans.len().saturating_sub(BARS);
    let shown = spans.get(hidden..).unwrap_or_default();
    let first = shown.first().map_or(0, |span| span.number);
    let from = turns.partition_point(|turn| turn.number < first);
    let shown_turns = turns.get(from..).unwrap_or_default();
    let scale = Scale::new(shown, shown_turns.len());
    drawing(out, &scale, shown, shown_turns, from);
    if hidden > 0 {
        let _ = writeln!(
            out,
            "<p class=\"hint\">The first {} requests and calls are not drawn.</p>",
            grouped(hidden as u64)
        );
    }
    table(out, turns);
    out.push_str("</section>\n");
}

/// A bar before it has its place.
struct Bar {
    kind: SpanKind,
    number: u64,
    begin: f64,
    end: f64,
    state: State,
    title: String,
}

fn drawing(out: &mut String, scale: &Scale, spans: &[Span], turns: &[Turn], from: usize) {
    let mut bars: Vec<Bar> = spans.iter().map(|span| bar(scale, span)).collect();
    for (place, turn) in turns.iter().enumerate() {
        bars.push(Bar {
            kind: SpanKind::Turn,
            number: turn.number,
            begin: scale.x(turn.begin),
            end: scale.x(turn.end),
            state: if turn.failed > 0 {
                State::Failed
            } else {
                State::Done
            },
            title: turn_title(turn, from + place + 1),
        });
    }
    bars.sort_by(|a, b| a.kind.cmp(&b.kind).then(a.begin.total_cmp(&b.begin)));

    let mut drawn = String::new();
    let mut names = String::new();
    let mut top = AXIS;
    for (kind, name) in [
        (SpanKind::Run, "Runs"),
        (SpanKind::Turn, "Turns"),
        (SpanKind::Model, "Model"),
        (SpanKind::Tool, "Tools"),
    ] {
        let mut lanes: Vec<f64> = Vec::new();
        for bar in bars.iter().filter(|bar| bar.kind == kind) {
            let free = lanes.iter().position(|end| *end <= bar.begin);
            let lane = match free {
                Some(lane) => lane,
                None if lanes.len() < LANES => {
                    lanes.push(0.0);
                    lanes.len() - 1
                }
                None => LANES - 1,
            };
            let width = (bar.end - bar.begin).max(THIN);
            if let Some(end) = lanes.get_mut(lane) {
                *end = bar.begin + width;
            }
            put_bar(&mut drawn, bar, top + lane as f64 * LANE, width);
        }
        let _ = writeln!(
            names,
            "<text x=\"0\" y=\"{:.0}\">{name}</text>",
            top + BAR - 1.0
        );
        top += lanes.len().max(1) as f64 * LANE + 4.0;
    }
    let _ = writeln!(
        out,
        "<div class=\"chart\"><svg class=\"names\" width=\"52\" height=\"{top:.0}\" aria-hidden=\"true\">{names}</svg>\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Time line; the table below says the same\">\
         <svg class=\"bars\" width=\"{0:.0}\" height=\"{top:.0}\" viewBox=\"0 0 {0:.0} {top:.0}\">",
        scale.width
    );
    axis(out, scale, top);
    out.push_str(&drawn);
    out.push_str("</svg></div></div>\n");
}

fn bar(scale: &Scale, span: &Span) -> Bar {
    let state = match span.state {
        State::Open => State::Interrupted,
        state => state,
    };
    Bar {
        kind: span.kind,
        number: span.number,
        begin: scale.x(span.begin),
        end: scale.x(span.end),
        state,
        title: format!(
            "{} · {} · {} · {} UTC",
            span.label,
            state.word(),
            duration(span.end - span.begin),
            date_time(Timestamp(span.begin))
        ),
    }
}

fn put_bar(out: &mut String, bar: &Bar, y: f64, width: f64) {
    let kind = match bar.kind {
        SpanKind::Run => "run",
        SpanKind::Turn => "turn",
        SpanKind::Model => "model",
        SpanKind::Tool => "tool",
    };
    let class = if bar.state == State::Done { "" } else { " bad" };
    let _ = write!(
        out,
        "<a href=\"#e{}\" data-jump=\"{}\"><rect class=\"bar {kind}{class}\" x=\"{:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{BAR}\" rx=\"2\"><title>",
        bar.number, bar.number, bar.begin
    );
    attribute(out, &bar.title);
    out.push_str("</title></rect>");
    // Whoever cannot tell the colours apart still sees a cross.
    if bar.state != State::Done && width > 9.0 && bar.kind != SpanKind::Turn {
        let _ = write!(
            out,
            "<text class=\"cross\" x=\"{:.2}\" y=\"{:.1}\">{}</text>",
            bar.begin + 2.0,
            y + BAR - 2.0,
            bar.state.mark()
        );
    }
    out.push_str("</a>\n");
}

fn axis(out: &mut String, scale: &Scale, height: f64) {
    let mut free = 0.0;
    let mut day = String::new();
    let mut before: Option<&Stretch> = None;
    for stretch in &scale.stretches {
        if let Some(before) = before {
            let pause = duration(stretch.begin - before.end);
            let _ = writeln!(
                out,
                "<rect class=\"pause\" x=\"{:.2}\" y=\"{AXIS}\" width=\"{:.2}\" height=\"{:.1}\"><title>A pause of {pause} is cut out</title></rect>",
                stretch.x - scale.pause,
                scale.pause,
                height - AXIS
            );
        }
        before = Some(stretch);
        if stretch.x >= free && stretch.x + APART <= scale.width {
            let begin = Timestamp(stretch.begin);
            let whole = date_time(begin);
            let today = whole.split(' ').next().unwrap_or_default();
            let text = if today == day {
                clock(begin)
            } else {
                whole.clone()
            };
            today.clone_into(&mut day);
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{:.2}\" y=\"12\">{text}</text>",
                stretch.x
            );
            free = stretch.x + APART;
        }
    }
}

fn turn_title(turn: &Turn, number: usize) -> String {
    format!(
        "Turn {number} in run {} · {} · {} · {} tokens in, {} out · cost {} · {} calls, {} not done",
        turn.run,
        turn.model,
        duration(turn.end.saturating_sub(turn.begin)),
        grouped(turn.usage.input_tokens),
        grouped(turn.usage.output_tokens),
        turn.cost.words(),
        turn.calls,
        turn.failed
    )
}

fn table(out: &mut String, turns: &[Turn]) {
    if turns.is_empty() {
        return;
    }
    out.push_str(
        "<details class=\"table\"><summary>Turns as a table</summary>\n<div class=\"scroll\"><table>\n\
         <thead><tr><th scope=\"col\">Turn</th><th scope=\"col\">Run</th><th scope=\"col\">Began (UTC)</th>\
         <th scope=\"col\">Took</th><th scope=\"col\">Model</th><th scope=\"col\">Requests</th>\
         <th scope=\"col\">Tokens in</th><th scope=\"col\">Cached</th><th scope=\"col\">Tokens out</th>\
         <th scope=\"col\">Cost</th><th scope=\"col\">Calls</th><th scope=\"col\">Not done</th></tr></thead>\n<tbody>\n",
    );
    for (place, turn) in turns.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{} UTC</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            place + 1,
            turn.run,
            date_time(Timestamp(turn.begin)),
            duration(turn.end.saturating_sub(turn.begin)),
            escaped(&turn.model),
            turn.attempts,
            grouped(turn.usage.input_tokens),
            grouped(turn.usage.cache_read_tokens),
            grouped(turn.usage.output_tokens),
            turn.cost.words(),
            turn.calls,
            turn.failed
        );
    }
    out.push_str("</tbody></table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(kind: SpanKind, begin: u64, end: u64) -> Span {
        Span {
            kind,
            number: 0,
            begin,
            end,
            state: State::Done,
            label: String::new(),
        }
    }

    #[test]
    fn pauses_are_cut_out_and_all_bars_are_inside() {
        let day = 86_400_000;
        let spans = [
            span(SpanKind::Run, 0, 10_000),
            span(SpanKind::Model, 0, 10_000),
            span(SpanKind::Tool, day, day + 10_000),
            span(SpanKind::Tool, u64::MAX, u64::MAX),
        ];
        let scale = Scale::new(&spans, 2);
        assert_eq!(scale.stretches.len(), 3);
        assert!(scale.x(day) - scale.x(10_000) <= PAUSE + 0.01);
        for span in &spans {
            for time in [span.begin, span.end] {
                assert!((0.0..=scale.width - THIN).contains(&scale.x(time)));
            }
        }
    }
}
