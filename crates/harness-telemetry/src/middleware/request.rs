//! One request to a model, as a `chat` span.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use harness_core::{AssistantMessage, Event, ModelRequest, ModelResult, RunContext};
use tracing::Instrument;

use super::inner::finish_reason;
use super::run_trace::{RunTrace, bounded};
use super::settings::{Settings, Telemetry};
use crate::{ai, harness};

/// Asks a model outside the chain of middlewares, for a summary, say, and records it as the run's other requests
/// are. Outside a recorded run, the span is made without content and metrics.
///
/// `ask` makes the request that it is given: its place in the trace is in it.
pub async fn ask<F>(
    cx: &RunContext,
    request: ModelRequest,
    ask: impl FnOnce(ModelRequest) -> F,
) -> ModelResult
where
    F: Future<Output = ModelResult>,
{
    let settings = match RunTrace::of(cx) {
        Some(trace) => Arc::clone(&trace.settings),
        None => Telemetry::new("harness").settings,
    };
    traced(&settings, cx, request, |_, request| ask(request)).await
}

/// Makes a request, and records it.
pub(super) async fn traced<F>(
    settings: &Settings,
    cx: &RunContext,
    mut request: ModelRequest,
    ask: impl FnOnce(RunContext, ModelRequest) -> F,
) -> ModelResult
where
    F: Future<Output = ModelResult>,
{
    let model = Arc::clone(&request.model);
    let id = &model.info().id;
    let mut starter = ai::chat(ai::Chat {
        provider: &id.provider,
        model: &id.name,
    })
    .conversation(cx.session())
    .stream(true)
    .max_tokens(request.max_output_tokens)
    .temperature(request.temperature.map(f64::from));
    let shown = settings
        .content
        .as_ref()
        .map(|content| content.request(&request));
    if let Some(shown) = &shown {
        starter = starter
            .system_instructions(shown.system.as_deref())
            .input_messages(&*shown.messages)
            .tool_definitions(shown.tools.as_deref());
    }
    let span = starter.start();
    // What it takes to record content is no part of the request.
    let begun = Instant::now();
    if let Some(propagation) = &settings.propagation {
        request.trace = propagation.inject(span.span()).or(request.trace);
    }
    let first = Arc::new(OnceLock::new());
    let noted = Arc::clone(&first);
    let cx = cx.tapped(move |event| {
        if let Event::TextDelta(_) | Event::ThinkingDelta(_) | Event::ToolCallDelta { .. } = event {
            noted.get_or_init(|| begun.elapsed());
        }
        Some(event)
    });
    let result = ask(cx, request).instrument(span.span().clone()).await;
    let elapsed = begun.elapsed();
    let first = first.get().copied();
    let error = match &result {
        Ok(reply) => {
            measure_tokens(settings, id, reply, model.info().prices.as_ref());
            end(span, settings, reply, first, model.info().prices.as_ref());
            None
        }
        Err(error) => {
            span.time_to_first_chunk(first.map(|first| first.as_secs_f64()));
            span.fail(error.word());
            Some(error.word())
        }
    };
    if let Some(first) = first {
        let (operation, provider, model) = ("chat", &*id.provider, &*id.name);
        let to_first = ai::TimeToFirstChunk {
            operation,
            provider,
            model,
        };
        to_first.record(&*settings.metrics, first.as_secs_f64());
    }
    let duration = ai::OperationDuration {
        operation: "chat",
        provider: &id.provider,
        model: &id.name,
        error,
    };
    duration.record(&*settings.metrics, elapsed.as_secs_f64());
    result
}

/// Ends the span of a request that was answered.
fn end(
    span: ai::chat::Span,
    settings: &Settings,
    reply: &AssistantMessage,
    first: Option<Duration>,
    prices: Option<&harness_core::Prices>,
) {
    if span.span().is_disabled() {
        return;
    }
    span.time_to_first_chunk(first.map(|first| first.as_secs_f64()));
    span.response_id(reply.response_id.as_deref().map(bounded));
    let usage = reply.usage.as_ref();
    if let Some(usage) = usage {
        let known = |tokens: u64| (tokens > 0).then_some(tokens);
        span.cache_read_tokens(known(usage.cache_read_tokens));
        span.cache_creation_tokens(known(usage.cache_write_tokens));
        span.reasoning_tokens(known(usage.reasoning_tokens));
        span.cost(prices.map(|prices| prices.cost(usage)));
    }
    if let Some(content) = &settings.content {
        span.output_messages(&*content.reply(reply));
    }
    span.end(ai::ChatEnd {
        input_tokens: usage.map(|usage| usage.input_tokens),
        output_tokens: usage.map(|usage| usage.output_tokens),
        finish_reasons: &[finish_reason(&reply.stop)],
    });
}

fn measure_tokens(
    settings: &Settings,
    id: &harness_core::ModelId,
    reply: &AssistantMessage,
    prices: Option<&harness_core::Prices>,
) {
    let Some(usage) = &reply.usage else {
        return;
    };
    let sink = &*settings.metrics;
    let (provider, model) = (&*id.provider, &*id.name);
    ai::InputTokens { provider, model }.record(sink, usage.input_tokens as f64);
    ai::OutputTokens { provider, model }.record(sink, usage.output_tokens as f64);
    if usage.cache_read_tokens > 0 {
        ai::CacheReadTokens { provider, model }.record(sink, usage.cache_read_tokens as f64);
    }
    if usage.cache_write_tokens > 0 {
        ai::CacheWriteTokens { provider, model }.record(sink, usage.cache_write_tokens as f64);
    }
    if usage.reasoning_tokens > 0 {
        ai::ReasoningTokens { provider, model }.record(sink, usage.reasoning_tokens as f64);
    }
    if usage.input_tokens > 0 {
        let ratio = usage.cache_read_tokens as f64 / usage.input_tokens as f64;
        harness::CacheHitRatio { provider, model }.record(sink, ratio);
    }
    if let Some(prices) = prices {
        harness::Cost { provider, model }.record(sink, prices.cost(usage));
    }
}
