//! Traces that go on in another process.

use std::str::FromStr;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The place of a span in its trace, as the headers `traceparent` and `tracestate` of the W3C recommendation
/// "Trace Context". `None` if the span is not exported. The span's name and its parent cannot be changed
/// afterwards.
pub fn trace_context(span: &tracing::Span) -> Option<(String, Option<String>)> {
    let context = span.context();
    let span = context.span();
    let place = span.span_context();
    if !place.is_valid() || !place.is_sampled() {
        return None;
    }
    let parent = format!(
        "00-{}-{}-{:02x}",
        place.trace_id(),
        place.span_id(),
        place.trace_flags().to_u8()
    );
    let state = place.trace_state().header();
    Some((parent, Some(state).filter(|state| !state.is_empty())))
}

/// Makes a span that has just been started a child of one in another process, given as the headers
/// `traceparent` and `tracestate`. `false`, and nothing changed, if `traceparent` is malformed, the span is
/// not exported, or has children already; its name and its parent cannot be changed afterwards. A malformed
/// `tracestate` is left out, as the recommendation wants.
pub fn continue_trace(span: &tracing::Span, traceparent: &str, tracestate: Option<&str>) -> bool {
    let Some(context) = remote(traceparent, tracestate) else {
        return false;
    };
    let trace = context.span().span_context().trace_id();
    // It may be taken without being heard, of a span that another layer sees.
    span.set_parent(context).is_ok() && span.context().span().span_context().trace_id() == trace
}

fn remote(traceparent: &str, tracestate: Option<&str>) -> Option<Context> {
    let (trace, parent, flags) = parse(traceparent)?;
    let state = tracestate.and_then(|state| TraceState::from_str(state).ok());
    let remote = SpanContext::new(trace, parent, flags, true, state.unwrap_or_default());
    Some(Context::new().with_remote_span_context(remote))
}

fn parse(traceparent: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut parts = traceparent.split('-');
    let mut part = |length: usize| {
        let part = parts.next()?;
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (part.len() == length && part.bytes().all(hex)).then_some(part)
    };
    let version = part(2).filter(|version| *version != "ff")?;
    let trace = TraceId::from_hex(part(32)?).ok()?;
    let span = SpanId::from_hex(part(16)?).ok()?;
    let flags = u8::from_str_radix(part(2)?, 16).ok()?;
    // Later versions may have more parts, this one may not.
    let ended = version != "00" || parts.next().is_none();
    let valid = trace != TraceId::INVALID && span != SpanId::INVALID;
    // Of the flags, only this one is known.
    let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    (ended && valid).then_some((trace, span, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_recommendation_allows_is_parsed() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let span = "00f067aa0ba902b7";
        let cases = [
            (format!("00-{trace}-{span}-01"), Some(true)),
            (format!("00-{trace}-{span}-00"), Some(false)),
            (format!("00-{trace}-{span}-03"), Some(true)),
            (
                format!("cc-{trace}-{span}-01-what-the-future-brings"),
                Some(true),
            ),
            (format!("00-{trace}-{span}-01-more"), None),
            (format!("ff-{trace}-{span}-01"), None),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None),
            (format!("00-{}-{span}-01", "0".repeat(32)), None),
            (format!("00-{trace}-{}-01", "0".repeat(16)), None),
            (format!("00-{trace}-{span}"), None),
            (format!("00-{trace}-{span}-1"), None),
            (format!(" 00-{trace}-{span}-01"), None),
            (format!("00-+{}-{span}-01", &trace[1..]), None),
            (String::new(), None),
        ];
        for (text, sampled) in cases {
            let parsed = parse(&text);
            assert_eq!(
                parsed.map(|(_, _, flags)| flags.is_sampled()),
                sampled,
                "{text}"
            );
        }
    }
}
