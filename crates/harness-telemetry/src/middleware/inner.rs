//! The inner middleware: spans of what is done in the end.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use harness_core::{
    ActiveCall, FailurePolicy, HookSet, Middleware, MiddlewareError, ModelRequest, ModelResult,
    NextAgent, NextModel, NextTool, RunContext, RunInput, RunOutcome, RunStatus, StopReason,
    SystemPrompt, ToolOutcome,
};
use tracing::Instrument;

use super::request;
use super::run_trace::{RunTrace, bounded, tool_name, word};
use super::settings::Settings;
use crate::ai;

pub(super) struct InnerSpans(pub(super) Arc<Settings>);

#[async_trait]
impl Middleware for InnerSpans {
    fn name(&self) -> &'static str {
        "telemetry-inside"
    }

    fn order(&self) -> i32 {
        i32::MIN
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT | HookSet::SYSTEM_PROMPT | HookSet::MODEL_CALL | HookSet::TOOL_CALL
    }

    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailOpen
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        let begun = Instant::now();
        let model = cx.model();
        let agent = self.0.agent.as_str();
        let span = ai::invoke_agent(ai::InvokeAgent {
            agent,
            provider: model.map_or("", |model| &model.provider),
            model: model.map_or("", |model| &model.name),
        })
        .conversation(cx.session())
        .start();
        let outcome = next.run(cx, input).instrument(span.span().clone()).await;
        let usage = &outcome.usage;
        let known = |tokens: u64| (tokens > 0).then_some(tokens);
        span.cache_read_tokens(known(usage.cache_read_tokens));
        span.cache_creation_tokens(known(usage.cache_write_tokens));
        span.reasoning_tokens(known(usage.reasoning_tokens));
        let stop = match &outcome.status {
            RunStatus::Finished(stop) => Some(finish_reason(stop)),
            _ => None,
        };
        let end = ai::AgentEnd {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            finish_reasons: stop.as_slice(),
        };
        let error = match &outcome.status {
            RunStatus::Failed(error) => Some(error.word()),
            _ => None,
        };
        match error {
            Some(error) => span.end_with_error(end, error),
            None => span.end(end),
        }
        let duration = ai::InvokeAgentDuration { agent, error };
        duration.record(&*self.0.metrics, begun.elapsed().as_secs_f64());
        outcome
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        if let Some(trace) = RunTrace::of(cx) {
            trace.end_prompt(&prompt);
        }
        Ok(prompt)
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        request::traced(&self.0, cx, request, |cx, request| async move {
            next.run(&cx, request).await
        })
        .await
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        // What cannot be executed is refused by what is inside.
        if call.spec.is_none() || call.problem.is_some() {
            return next.run(cx, call).await;
        }
        let begun = Instant::now();
        let tool = tool_name(&call).to_owned();
        let content = self.0.content.as_ref();
        let mut starter = ai::execute_tool(ai::ExecuteTool {
            tool: &tool,
            call_id: bounded(&call.id),
        });
        let arguments = content.map(|content| content.arguments(&call.arguments));
        starter = starter.arguments(arguments.as_deref());
        let span = starter.start();
        let propagation = self.0.propagation.as_ref();
        let place = propagation.and_then(|propagation| propagation.inject(span.span()));
        let inside = place.map(|place| cx.with_value(place));
        let cx = inside.as_ref().unwrap_or(cx);
        let outcome = next.run(cx, call).instrument(span.span().clone()).await;
        if let Some(content) = content
            && !span.span().is_disabled()
        {
            span.result(&*content.result(&outcome));
        }
        let outcome_word = word(&outcome);
        span.end(ai::ToolEnd {
            outcome: outcome_word,
        });
        let error = outcome.is_error().then_some(outcome_word);
        let duration = ai::ExecuteToolDuration { tool: &tool, error };
        duration.record(&*self.0.metrics, begun.elapsed().as_secs_f64());
        outcome
    }
}

/// Why a reply ended, in the words of the conventions. A word of the provider's own may be anything.
pub(super) fn finish_reason(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
        _ => "other",
    }
}
