//! What is known of one run while it goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::{RunContext, ToolOutcome};

use super::digest::PromptDigest;
use super::settings::Settings;
use crate::harness;

/// In the attributes of a [`Caller`](harness_core::Caller): the span whose child its run becomes, where the one in
/// which the handle is polled is not meant. As long as it is there, that span is not exported.
#[derive(Clone, Debug)]
pub struct ParentSpan(pub tracing::Span);

/// One run. The layers inside find it as a value of their context.
///
/// It may be kept by somebody longer than the run. So it holds spans only until they end: a span is exported once
/// nobody holds it.
pub(super) struct RunTrace {
    pub(super) settings: Arc<Settings>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    run: Option<harness::run::Span>,
    prompt: Option<harness::prompt::Span>,
    retry: Option<harness::retry::Span>,
    attempts: u32,
    failed: Option<&'static str>,
    digest: PromptDigest,
}

impl RunTrace {
    pub(super) fn new(settings: &Arc<Settings>, run: harness::run::Span) -> Arc<Self> {
        Arc::new(Self {
            settings: Arc::clone(settings),
            state: Mutex::new(State {
                run: Some(run),
                ..State::default()
            }),
        })
    }

    /// That of this context.
    pub(super) fn of(cx: &RunContext) -> Option<&Arc<Self>> {
        cx.value()
    }

    pub(super) fn take_run(&self) -> Option<harness::run::Span> {
        self.lock().run.take()
    }

    pub(super) fn run(&self) -> Option<tracing::Span> {
        self.lock().run.as_ref().map(|run| run.span().clone())
    }

    /// Tells the run's span that a turn ended.
    pub(super) fn progress(&self, turn: u32) {
        if let Some(run) = &self.lock().run {
            run.progress(harness::Progress { turn });
        }
    }

    pub(super) fn begin_turn(&self) {
        let mut state = self.lock();
        state.attempts = 0;
        state.failed = None;
    }

    /// What a turn left open ends with it.
    pub(super) fn end_turn(&self) {
        let (prompt, retry) = {
            let mut state = self.lock();
            (state.prompt.take(), state.retry.take())
        };
        drop(prompt);
        if let Some(retry) = retry {
            retry.end(harness::RetryEnd {});
        }
    }

    pub(super) fn begin_prompt(&self, span: harness::prompt::Span) {
        let before = self.lock().prompt.replace(span);
        drop(before);
    }

    /// Ends the span of the prompt, if there is one.
    pub(super) fn end_prompt(&self, prompt: &harness_core::SystemPrompt) {
        let mut state = self.lock();
        let Some(span) = state.prompt.take() else {
            return;
        };
        if span.span().is_disabled() {
            return;
        }
        let facts = state.digest.of(prompt);
        drop(state);
        span.end(harness::PromptEnd {
            sections: prompt.sections().len(),
            bytes: facts.bytes,
            prefix_bytes: facts.prefix_bytes,
            prefix_hash: &facts.prefix_hash,
        });
    }

    /// The number of the attempt that begins, from 1, and the error of the one before.
    pub(super) fn begin_attempt(&self) -> (u32, Option<&'static str>) {
        let (retry, number, failed) = {
            let mut state = self.lock();
            state.attempts += 1;
            (state.retry.take(), state.attempts, state.failed.take())
        };
        if let Some(retry) = retry {
            retry.end(harness::RetryEnd {});
        }
        (number, failed)
    }

    /// An attempt failed, and there is a wait before the next one.
    pub(super) fn wait(&self, reason: &'static str, retry: Option<harness::retry::Span>) {
        let before = {
            let mut state = self.lock();
            state.failed = Some(reason);
            std::mem::replace(&mut state.retry, retry)
        };
        drop(before);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends what a run has open, whichever way it goes.
pub(super) struct RunGuard(pub(super) Arc<RunTrace>);

impl Drop for RunGuard {
    fn drop(&mut self) {
        drop(self.0.take_run());
    }
}

/// Ends what a turn has open, whichever way it goes.
pub(super) struct TurnGuard<'a>(pub(super) Option<&'a Arc<RunTrace>>);

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        if let Some(trace) = self.0 {
            trace.end_turn();
        }
    }
}

/// The name of the agent whose run this is; `harness` where nobody records it.
pub fn agent_name(cx: &RunContext) -> &str {
    RunTrace::of(cx).map_or("harness", |trace| &trace.settings.agent)
}

/// The span of the run, for what goes on longer than the turn in which it began; `None` where nobody records it.
/// Not to be kept: a span is exported once nobody holds it.
pub fn run_span(cx: &RunContext) -> Option<tracing::Span> {
    RunTrace::of(cx)?.run()
}

/// The word for how a call ended.
pub(super) fn word(outcome: &ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Done(_) => "done",
        ToolOutcome::Denied { .. } => "denied",
        ToolOutcome::Cancelled => "cancelled",
        ToolOutcome::Interrupted => "interrupted",
        // `Failed`, and what may come.
        _ => "failed",
    }
}

/// The name of a called tool. What a model made up is content, and not recorded.
pub(super) fn tool_name(call: &harness_core::ActiveCall) -> &str {
    match &call.spec {
        Some(spec) if spec.name == call.name => &call.name,
        _ => "unknown",
    }
}

/// The longest id that is recorded.
const MAX_ID: usize = 128;

/// An id that a provider, or a model, made up: cut if it is too long for one; `invalid` if it has what ids do not
/// have. What stands in its place may be anything.
pub(super) fn bounded(id: &str) -> &str {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:|/+=@#".contains(&byte);
    let end = id.len().min(MAX_ID);
    match id.get(..end) {
        Some(start) if start.bytes().all(fits) => start,
        _ => "invalid",
    }
}
