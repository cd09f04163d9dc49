//! What the spans of a trace come to.

use std::time::Duration;

use harness_telemetry::semconv::{
    AGENT_NAME, OPERATION_NAME, REQUEST_MODEL, USAGE_CACHE_READ_INPUT_TOKENS, USAGE_INPUT_TOKENS,
    USAGE_OUTPUT_TOKENS,
};
use harness_telemetry::trace::{Trace, TraceSpan, TraceTree};

use crate::quantity::{count, dollars, grouped, span_of_time};
use crate::terminal::excerpt;

/// The most characters of a name.
const NAME: usize = 60;

/// What kind of thing a span is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// An agent at work.
    Agent,
    /// A request to a model.
    Chat,
    /// A tool at work.
    Tool,
    /// A wait before another attempt.
    Retry,
    /// Anything else.
    Other,
}

impl About {
    pub(crate) fn of(span: &TraceSpan) -> Self {
        let word = span.text(OPERATION_NAME).unwrap_or_else(|| {
            let name = span.name.split(' ').next();
            name.unwrap_or_default()
        });
        match word {
            "invoke_agent" => Self::Agent,
            "chat" | "text_completion" | "generate_content" => Self::Chat,
            "execute_tool" => Self::Tool,
            "harness.retry" => Self::Retry,
            _ => Self::Other,
        }
    }
}

/// The numbers above the drawing.
pub(crate) struct TraceSums {
    agents: Vec<String>,
    models: Vec<String>,
    outcomes: Vec<String>,
    wall: Option<Duration>,
    turns: u64,
    input: f64,
    output: f64,
    cached: f64,
    cost: Option<f64>,
    model: Duration,
    tools: Duration,
    retries: Duration,
    errors: usize,
    spans: usize,
}

impl TraceSums {
    pub(crate) fn of(trace: &Trace, tree: &TraceTree) -> Self {
        let all = || trace.spans.iter();
        let about = |what: About| all().filter(move |span| About::of(span) == what);
        let sum = |key: &str| -> Option<f64> {
            let sum = |what: About| {
                let numbers = about(what).filter_map(|span| span.number(key));
                numbers.fold(None, |sum, number| Some(sum.unwrap_or(0.0) + number))
            };
            // The requests of an agent are in its own sums.
            sum(About::Chat).or_else(|| sum(About::Agent))
        };
        let outer = outermost(trace, tree, |span| About::of(span) == About::Agent);
        let runs = outermost(trace, tree, |span| span.name == "harness.run");
        let outcomes = runs.iter().filter_map(|run| {
            let outcome = run.text("harness.run.outcome")?;
            Some(match run.text("harness.run.limit") {
                Some(limit) => format!("{outcome} ({limit})"),
                None => outcome.to_owned(),
            })
        });
        let mut models = distinct(outer.iter().filter_map(|span| span.text(REQUEST_MODEL)));
        if models.is_empty() {
            models = distinct(about(About::Chat).filter_map(|span| span.text(REQUEST_MODEL)));
        }
        let run_cost = || {
            let costs = runs.iter().filter_map(|run| run.number("harness.cost"));
            costs.fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost))
        };
        Self {
            agents: distinct(outer.iter().filter_map(|span| span.text(AGENT_NAME))),
            models,
            outcomes: distinct(outcomes),
            wall: trace.range().map(|(start, end)| end.saturating_sub(start)),
            turns: all().filter(|span| span.name == "harness.turn").count() as u64,
            input: sum(USAGE_INPUT_TOKENS).unwrap_or(0.0),
            output: sum(USAGE_OUTPUT_TOKENS).unwrap_or(0.0),
            cached: sum(USAGE_CACHE_READ_INPUT_TOKENS).unwrap_or(0.0),
            cost: sum("harness.cost").or_else(run_cost),
            model: covered(about(About::Chat)),
            tools: covered(about(About::Tool)),
            retries: covered(about(About::Retry)),
            errors: errors(trace, tree),
            spans: trace.spans.len(),
        }
    }

    /// Three lines, or fewer where there is nothing to say.
    pub(crate) fn text(&self) -> String {
        let mut head = match self.agents.as_slice() {
            [] => "trace".to_owned(),
            names => names.join(", "),
        };
        if !self.models.is_empty() {
            head = format!("{head} on {}", self.models.join(", "));
        }
        if !self.outcomes.is_empty() {
            head = format!("{head}: {}", self.outcomes.join(", "));
        }
        let mut parts = Vec::new();
        parts.extend(self.wall.map(span_of_time));
        if self.turns > 0 {
            parts.push(count(self.turns, "turn"));
        }
        if self.input > 0.0 || self.output > 0.0 {
            let cached = if self.cached > 0.0 && self.input > 0.0 {
                format!(" ({:.0}% cached)", 100.0 * self.cached / self.input)
            } else {
                String::new()
            };
            let (input, output) = (grouped(self.input as u64), grouped(self.output as u64));
            parts.push(format!("{input} tokens in{cached}, {output} out"));
        }
        parts.extend(self.cost.map(dollars));
        parts.push(count(self.spans as u64, "span"));
        if self.errors > 0 {
            parts.push(count(self.errors as u64, "error"));
        }
        let mut text = format!("{head}\n{}\n", parts.join(", "));
        let waits = [
            (self.model, "for the model"),
            (self.tools, "for tools"),
            (self.retries, "between attempts"),
        ];
        let waits = waits.iter().filter(|(time, _)| !time.is_zero());
        let waits: Vec<String> = waits
            .map(|(time, what)| format!("{} {what}", span_of_time(*time)))
            .collect();
        if !waits.is_empty() {
            text.push_str("waited ");
            text.push_str(&waits.join(", "));
            text.push('\n');
        }
        text
    }
}

/// The spans of a kind that are in no other one of it.
fn outermost<'a>(
    trace: &'a Trace,
    tree: &TraceTree,
    is_it: impl Fn(&TraceSpan) -> bool,
) -> Vec<&'a TraceSpan> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = tree.roots.iter().rev().copied().collect();
    while let Some(index) = open.pop() {
        match trace.spans.get(index) {
            Some(span) if is_it(span) => found.push(span),
            _ => {
                let children = tree.children.get(index).into_iter().flatten();
                open.extend(children.rev());
            }
        }
    }
    found
}

/// How many spans failed, without those that failed because of one within them.
fn errors(trace: &Trace, tree: &TraceTree) -> usize {
    let failed = |index: &usize| {
        let span = trace.spans.get(*index);
        span.is_some_and(|span| span.error.is_some())
    };
    let by_itself = |index: &usize| {
        let mut children = tree.children.get(*index).into_iter().flatten();
        failed(index) && !children.any(failed)
    };
    (0..trace.spans.len()).filter(by_itself).count()
}

/// What different ones there are, in their order; made harmless.
fn distinct<T: AsRef<str>>(words: impl Iterator<Item = T>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let word = excerpt(word.as_ref(), NAME);
        if found.len() >= 5 {
            break;
        }
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// How long at least one of them went on.
fn covered<'a>(spans: impl Iterator<Item = &'a TraceSpan>) -> Duration {
    let mut times: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
    times.sort();
    let mut sum = Duration::ZERO;
    let mut until = Duration::ZERO;
    for (start, end) in times {
        sum = sum.saturating_add(end.saturating_sub(start.max(until)));
        until = until.max(end);
    }
    sum
}
