//! What there is to say of a span, beside its time.

use std::time::Duration;

use harness_telemetry::semconv::{
    OPERATION_NAME, REQUEST_MODEL, RESPONSE_MODEL, RESPONSE_TIME_TO_FIRST_CHUNK, TOOL_NAME,
    USAGE_CACHE_READ_INPUT_TOKENS, USAGE_INPUT_TOKENS, USAGE_OUTPUT_TOKENS,
};
use harness_telemetry::trace::{TraceSpan, TraceValue};

use crate::quantity::{dollars, short, span_of_time};
use crate::terminal::excerpt;
use crate::trace_sums::About;

/// The most characters of one thing that is said.
const WORDS: usize = 60;

/// The name that is shown: that of the span, without what all spans of the harness have in front, and with the number
/// or the tool that tells it from its siblings.
pub(crate) fn name(span: &TraceSpan) -> String {
    let Some(short) = span.name.strip_prefix("harness.") else {
        let model = span.text(REQUEST_MODEL).unwrap_or_default();
        return if About::of(span) == About::Chat && !span.name.contains(model) {
            excerpt(&format!("{} {model}", span.name), WORDS)
        } else if span.name.trim().is_empty() {
            "(no name)".to_owned()
        } else {
            excerpt(&span.name, WORDS)
        };
    };
    let more = match short {
        "turn" => span.number("harness.turn").map(|turn| format!("{turn}")),
        "attempt" => span.number("harness.attempt").map(|it| format!("{it}")),
        "tool_call" => span.text(TOOL_NAME).map(str::to_owned),
        _ => None,
    };
    match more {
        Some(more) => excerpt(&format!("{short} {more}"), WORDS),
        None => excerpt(short, WORDS),
    }
}

/// What it came to, and what it cost.
pub(crate) fn words(span: &TraceSpan) -> Vec<String> {
    let mut words = Vec::new();
    match About::of(span) {
        About::Agent | About::Chat => usage(span, &mut words),
        About::Retry => {
            let reason = span.text("harness.retry.reason");
            let delay = span.number("harness.retry.delay").and_then(seconds);
            match (delay, reason) {
                (Some(delay), Some(reason)) => {
                    words.push(format!("waits {} after {reason}", span_of_time(delay)));
                }
                (Some(delay), None) => words.push(format!("waits {}", span_of_time(delay))),
                (None, Some(reason)) => words.push(format!("after {reason}")),
                (None, None) => {}
            }
        }
        About::Tool | About::Other => {}
    }
    if span.name == "harness.compaction" {
        let before = span.number("harness.compaction.tokens_before");
        words.extend(before.map(|before| format!("of {} tokens", short(before))));
    }
    let is_outcome = |key: &str| {
        key.starts_with("harness.") && (key.ends_with(".outcome") || key.ends_with(".denied_by"))
            || matches!(key, "harness.run.limit" | "harness.compaction.reason")
    };
    for (key, value) in &span.attributes {
        match value {
            // What is to be expected is not said.
            TraceValue::Text(text)
                if matches!(text.as_str(), "continues" | "ended" | "succeeded") => {}
            TraceValue::Text(text) if key.ends_with(".denied_by") => {
                words.push(format!("by {text}"));
            }
            TraceValue::Text(text) if is_outcome(key) => words.push(text.clone()),
            _ => {}
        }
    }
    if span.name == "harness.run"
        && let Some(cost) = span.number("harness.cost")
    {
        words.push(dollars(cost));
    }
    if let Some(error) = &span.error
        && !words.contains(error)
        && (error != "error" || words.is_empty())
    {
        words.push(error.clone());
    }
    words.iter().map(|word| excerpt(word, WORDS)).collect()
}

fn usage(span: &TraceSpan, words: &mut Vec<String>) {
    if let Some(model) = span.text(RESPONSE_MODEL)
        && span.text(REQUEST_MODEL).is_some_and(|asked| asked != model)
    {
        words.push(format!("as {model}"));
    }
    let input = span.number(USAGE_INPUT_TOKENS);
    let output = span.number(USAGE_OUTPUT_TOKENS);
    if input.is_some() || output.is_some() {
        let number = |number: Option<f64>| number.map_or_else(|| "?".to_owned(), short);
        words.push(format!("{}→{} tokens", number(input), number(output)));
    }
    if let (Some(cached), Some(input)) = (span.number(USAGE_CACHE_READ_INPUT_TOKENS), input)
        && cached > 0.0
        && input > 0.0
    {
        words.push(format!("{:.0}% cached", 100.0 * cached / input));
    }
    words.extend(span.number("harness.cost").map(dollars));
    if let Some(first) = span.number(RESPONSE_TIME_TO_FIRST_CHUNK).and_then(seconds) {
        words.push(format!("first {}", span_of_time(first)));
    }
}

/// A number of seconds, if it is one.
fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// Whether a span says nothing to somebody who looks at a run.
pub(crate) fn is_noise(span: &TraceSpan) -> bool {
    matches!(
        span.name.as_str(),
        "harness.session.write" | "harness.prompt" | "harness.run.started"
    ) || span.name.starts_with("harness.hook")
        || (span.name.starts_with("harness.command") && span.error.is_none())
}

/// Whether one is the outside of the other: what middlewares make of it, and it itself.
pub(crate) fn is_pair(outer: &TraceSpan, inner: &TraceSpan) -> bool {
    let wanted = match outer.name.as_str() {
        "harness.run" => "invoke_agent",
        "harness.attempt" => "chat",
        "harness.tool_call" => "execute_tool",
        _ => return false,
    };
    let about = inner.text(OPERATION_NAME).unwrap_or(&inner.name);
    if about != wanted && !inner.name.starts_with(&format!("{wanted} ")) {
        return false;
    }
    // A wait around it (for an approval, say) is something else to be seen.
    let around = outer.duration().saturating_sub(inner.duration());
    around <= Duration::from_millis(100).max(outer.duration() / 10)
}
