//! The outer middleware: spans of what a run becomes with all middlewares.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use harness_core::{
    ActiveCall, Event, FailurePolicy, HookSet, Middleware, MiddlewareError, ModelError,
    ModelRequest, ModelResult, NextAgent, NextModel, NextTool, NextTurn, RunContext, RunInput,
    RunOutcome, RunStatus, SystemPrompt, ToolOutcome, TraceContext, TurnEnd, TurnStatus,
};
use tracing::Instrument;

use super::run_trace::{ParentSpan, RunGuard, RunTrace, TurnGuard, bounded, tool_name, word};
use super::settings::Settings;
use crate::harness;

pub(super) struct OuterSpans(pub(super) Arc<Settings>);

impl OuterSpans {
    /// Whether the thread is in a recorded span.
    fn is_inside(&self) -> bool {
        let current = tracing::Span::current();
        let id = current.metadata().map(tracing::Metadata::name);
        id.is_some_and(|id| self.0.schemas.span(id).is_some())
    }
}

#[async_trait]
impl Middleware for OuterSpans {
    fn name(&self) -> &'static str {
        "telemetry"
    }

    fn order(&self) -> i32 {
        i32::MAX
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT
            | HookSet::TURN
            | HookSet::SYSTEM_PROMPT
            | HookSet::MODEL_CALL
            | HookSet::TOOL_CALL
            | HookSet::EVENT
    }

    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailOpen
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        let begun = Instant::now();
        let mut starter = harness::run(harness::Run { run: cx.run_id() })
            .conversation(cx.session())
            .resumed(input.resume);
        let parent = cx.attributes().get::<ParentSpan>();
        if let Some(parent) = &parent {
            starter = starter.parent(&parent.0);
        }
        // A run within another one often has its caller's attributes; its place is within that one.
        let is_outermost = parent.is_none() && !self.is_inside();
        let run = starter.start();
        if let (true, Some(propagation), Some(from)) = (
            is_outermost,
            &self.0.propagation,
            cx.attributes().get::<TraceContext>(),
        ) {
            propagation.extract(run.span(), &from);
        }
        run.started(harness::Started {});
        let model = cx.model();
        harness::run_started(harness::RunStarted { run: cx.run_id() })
            .conversation(cx.session())
            .provider(model.map(|model| &*model.provider))
            .model(model.map(|model| &*model.name))
            .parent(run.span())
            .start()
            .end(harness::RunStartedEnd {});
        let entered = run.span().clone();
        let trace = RunTrace::new(&self.0, run);
        let guard = RunGuard(Arc::clone(&trace));
        let cx = cx.with_value(trace);
        let outcome = next.run(&cx, input).instrument(entered).await;
        if let Some(run) = guard.0.take_run() {
            end_run(run, &outcome);
        }
        let duration = harness::RunDuration {
            outcome: outcome.status.word(),
        };
        duration.record(&*self.0.metrics, begun.elapsed().as_secs_f64());
        outcome
    }

    async fn on_turn(&self, cx: &RunContext, turn: u32, next: NextTurn<'_>) -> TurnEnd {
        let trace = RunTrace::of(cx);
        let span = harness::turn(harness::Turn { turn }).start();
        let guard = TurnGuard(trace);
        if let Some(trace) = trace {
            trace.begin_turn();
        }
        let end = next.run(cx, turn).instrument(span.span().clone()).await;
        drop(guard);
        let told = harness::TurnEnd {
            outcome: end.status().word(),
        };
        match end.status() {
            TurnStatus::Failed(error) => span.end_with_error(told, error),
            _ => span.end(told),
        }
        if let Some(trace) = trace {
            trace.progress(turn);
        }
        end
    }

    async fn on_system_prompt(
        &self,
        cx: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        // The first of the fold; the inner middleware is the last.
        if let Some(trace) = RunTrace::of(cx) {
            trace.begin_prompt(harness::prompt(harness::Prompt {}).start());
        }
        Ok(prompt)
    }

    async fn on_model_call(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextModel<'_>,
    ) -> ModelResult {
        let (attempt, failed) = RunTrace::of(cx).map_or((1, None), |trace| trace.begin_attempt());
        if let Some(reason) = failed {
            harness::Retries { reason }.record(&*self.0.metrics, 1.0);
        }
        let span = harness::attempt(harness::Attempt { attempt }).start();
        let result = next.run(cx, request).instrument(span.span().clone()).await;
        let ended = |outcome| harness::AttemptEnd { outcome };
        match &result {
            Ok(_) => span.end(ended("succeeded")),
            Err(ModelError::Cancelled) => span.end(ended("cancelled")),
            Err(error) => span.end_with_error(ended("failed"), error.word()),
        }
        result
    }

    async fn on_tool_call(
        &self,
        cx: &RunContext,
        call: ActiveCall,
        next: NextTool<'_>,
    ) -> ToolOutcome {
        let span = harness::tool_call(harness::ToolCall {
            tool: tool_name(&call),
            call_id: bounded(&call.id),
        })
        .start();
        let entered = span.span().clone();
        let span = Arc::new(CallSpan(Mutex::new(Some(span))));
        let cx = cx.with_value(Arc::clone(&span));
        let outcome = next.run(&cx, call).instrument(entered).await;
        if let Some(span) = span.lock().take() {
            if let ToolOutcome::Denied { by, .. } = &outcome {
                span.denied_by(&**by);
            }
            span.end(harness::ToolCallEnd {
                outcome: word(&outcome),
            });
        }
        outcome
    }

    fn on_event(&self, cx: &RunContext, event: &Event) {
        if let Event::Permission(report) = event {
            if let Some(span) = cx.value::<Arc<CallSpan>>()
                && let Some(span) = &*span.lock()
            {
                span.permission(harness::Permission {
                    decision: report.decision.word(),
                    by: report.by.word(),
                    layer: report.layer.as_deref().unwrap_or("none"),
                    scope: report.scope.as_deref().unwrap_or("none"),
                });
            }
            return;
        }
        let Event::AttemptDiscarded {
            attempt,
            kind,
            retry_in: Some(delay),
            ..
        } = event
        else {
            return;
        };
        let Some(trace) = RunTrace::of(cx) else {
            return;
        };
        // Without a wait there is nothing to see: the next attempt tells of itself.
        let retry = (!delay.is_zero()).then(|| {
            harness::retry(harness::Retry {
                attempt: *attempt,
                reason: kind,
                delay: delay.as_secs_f64(),
            })
            .start()
        });
        trace.wait(kind, retry);
    }
}

/// The span of one call, for those inside who tell of it. Empty once the call has ended.
struct CallSpan(Mutex<Option<harness::tool_call::Span>>);

impl CallSpan {
    fn lock(&self) -> MutexGuard<'_, Option<harness::tool_call::Span>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end_run(run: harness::run::Span, outcome: &RunOutcome) {
    run.cost(outcome.cost);
    run.compactions((outcome.compactions > 0).then_some(outcome.compactions));
    let end = harness::RunEnd {
        outcome: outcome.status.word(),
        turns: outcome.turns,
    };
    match &outcome.status {
        RunStatus::Failed(error) => run.end_with_error(end, error.word()),
        RunStatus::Limit(limit) => {
            run.limit(limit.word());
            run.end(end);
        }
        _ => run.end(end),
    }
}
