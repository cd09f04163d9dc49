//! A conversation that became too long is made shorter: a summary takes the place of its beginning.

mod background;
mod compactor;
mod cut;
mod options;
mod requests;
mod run_state;
mod short_results;

use std::sync::Arc;

use futures::FutureExt;
use harness_core::{
    ActiveCall, Compaction, CompactionReason, ContextUse, Event, FailurePolicy, HookSet,
    MessageRef, Middleware, MiddlewareError, ModelRequest, ModelResult, NextActing, NextAgent,
    NextReasoning, RetryPolicy, RunContext, RunInput, RunOutcome, TokenCounter, ToolOutcome,
    ToolRef, UserPart, async_trait,
};
use harness_prompt::Library;

use self::background::{Background, Written, beside, write};
use self::run_state::RunState;
use self::short_results::{ShortResults, short_form};
use crate::compaction_span::CompactionSpan;
use crate::error::Error;
use crate::extension::Extension;
#[cfg(feature = "tools")]
use crate::middlewares::BeforeCompaction;
use crate::summariser::Bill;
use crate::summary_message::looks_like_summary;

pub(crate) use self::compactor::{Compactor, NoPlan, UNKNOWN_WINDOW};
pub(crate) use self::options::Bounds;
pub use self::options::CompactionOptions;
pub use self::requests::CompactionRequests;

/// Makes a conversation shorter before it is too long for the model: a summary takes the place of its
/// beginning, for good, and the end stays as it is.
///
/// It acts when a request would leave less than [a reserve](CompactionOptions::reserve_tokens) of the context
/// window, when the provider refuses one as too long, and when somebody [asks for it](CompactionRequests).
/// The summary is begun early and written beside the run, so that the run need not wait for it. If none can
/// be had, the conversation stays as it is, a warning says so, and the provider has the last word.
///
/// Beside the summary go the lists of files that were read and changed, the texts of the skills that are
/// loaded, and the task list if a task is open; see [`CompactionSummary`](crate::CompactionSummary).
///
/// Results of one batch that are larger than a quarter of the window are shown by their ends. The stored
/// conversation is not touched by that.
#[derive(Clone)]
pub struct CompactionMiddleware {
    compactor: Compactor,
    /// The window of the model that runs begin with.
    window: Option<u64>,
}

impl CompactionMiddleware {
    /// With these options, and with the templates of this library.
    pub fn new(options: CompactionOptions, library: Arc<Library>) -> Self {
        Self {
            compactor: Compactor {
                options,
                library,
                extensions: Vec::new(),
                tools: Vec::new(),
                retry: RetryPolicy::default(),
                counter: None,
            },
            window: None,
        }
    }

    /// The tools of the agent, which tell what their calls did to which files.
    pub fn with_tools(mut self, tools: Vec<ToolRef>) -> Self {
        self.compactor.tools = tools;
        self
    }

    /// How failed requests for summaries are retried.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.compactor.retry = retry;
        self
    }

    /// What counts tokens; by default they are estimated.
    pub fn with_token_counter(mut self, counter: Option<Arc<dyn TokenCounter>>) -> Self {
        self.compactor.counter = counter;
        self
    }

    /// The window in which large results are shown; by default, they are shown whole.
    pub fn for_context_window(mut self, tokens: Option<u64>) -> Self {
        self.window = tokens;
        self
    }

    pub(crate) fn with_extensions(mut self, extensions: Vec<Arc<dyn Extension>>) -> Self {
        self.compactor.extensions = extensions;
        self
    }
}

impl std::fmt::Debug for CompactionMiddleware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompactionMiddleware")
            .field("options", &self.compactor.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for CompactionMiddleware {
    fn name(&self) -> &'static str {
        "compaction"
    }

    fn hooks(&self) -> HookSet {
        HookSet::COMPACTION
            | HookSet::CONTEXT
            | HookSet::AGENT
            | HookSet::REASONING
            | HookSet::ACTING
    }

    /// Without a summary the conversation is still the right one; if it is too long, the provider says so.
    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailOpen
    }

    async fn on_agent(
        &self,
        cx: &RunContext,
        mut input: RunInput,
        next: NextAgent<'_>,
    ) -> RunOutcome {
        for message in &mut input.messages {
            // Only what is put into the conversation here counts as a summary.
            if let Some(UserPart::Text(text)) = message.content.first_mut()
                && looks_like_summary(&text.text)
            {
                text.text.insert(0, '\n');
            }
        }
        let registered = RunState::register(cx);
        let outcome = next.run(cx, input).await;
        let left = RunState::of(cx).and_then(|state| state.take_background());
        if let Some(background) = left {
            background.tell_end(cx, "the run ended before the summary was needed");
        }
        drop(registered);
        outcome
    }

    async fn on_reasoning(
        &self,
        cx: &RunContext,
        request: ModelRequest,
        next: NextReasoning<'_>,
    ) -> ModelResult {
        let state = RunState::of(cx);
        beside(cx, state.as_deref(), next.run(cx, request)).await
    }

    async fn on_acting(
        &self,
        cx: &RunContext,
        batch: Vec<ActiveCall>,
        next: NextActing<'_>,
    ) -> Vec<ToolOutcome> {
        let state = RunState::of(cx);
        beside(cx, state.as_deref(), next.run(cx, batch)).await
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        mut messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        // The model may be another by now, or its window smaller than it was said to be.
        let found = RunState::of(cx).and_then(|state| state.last_window());
        if let Some(window) = found.or(self.window) {
            let short = cx.attributes().get_or_insert_with(ShortResults::default);
            short.show(&mut messages, window);
        }
        Ok(messages)
    }

    async fn on_compaction(
        &self,
        cx: &RunContext,
        history: &Arc<Vec<MessageRef>>,
        used: &ContextUse,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        let state = RunState::of(cx).unwrap_or_default();
        let asked = CompactionRequests::of(cx).and_then(|requests| requests.take());
        let Some(window) = state
            .window(used)
            .or(asked.as_ref().map(|_| used.tokens.max(UNKNOWN_WINDOW)))
        else {
            return Ok(None);
        };
        let job = Job {
            compactor: &self.compactor,
            cx,
            state: &state,
            history,
            used,
            bounds: Bounds::of(&self.compactor.options, window),
            tokens: self.tokens(history, used, window),
        };
        let reason = match asked {
            _ if used.overflow => CompactionReason::Overflow,
            Some(_) => CompactionReason::Manual,
            None if job.tokens <= job.bounds.threshold => {
                job.begin_early();
                return Ok(None);
            }
            None if !state.may_try() => return Ok(None),
            None => CompactionReason::Threshold,
        };
        let focus = asked.and_then(|asked| asked.focus);
        #[cfg(feature = "tools")]
        if let Some(why) = BeforeCompaction::refusal(cx, reason, focus.as_deref()).await {
            let message = format!("A hook keeps the conversation from being made shorter: {why}");
            cx.emit(Event::Warning { message });
            return Ok(None);
        }
        job.compact(reason, focus).await
    }
}

impl CompactionMiddleware {
    /// Tokens of the coming request. What counts them counts what is stored; large results are shown short.
    fn tokens(&self, history: &[MessageRef], used: &ContextUse, window: u64) -> u64 {
        if self.compactor.counter.is_none() {
            return used.tokens;
        }
        let measure = self.compactor.measure(used);
        let too_much = history.iter().filter_map(|message| {
            let shown = short_form(message, window)?;
            let stored = measure.message(message);
            Some(stored.saturating_sub(measure.message(&shown)))
        });
        used.tokens.saturating_sub(too_much.sum())
    }
}

/// One look at a conversation.
struct Job<'a> {
    compactor: &'a Compactor,
    cx: &'a RunContext,
    state: &'a RunState,
    history: &'a [MessageRef],
    used: &'a ContextUse,
    bounds: Bounds,
    tokens: u64,
}

impl Job<'_> {
    /// Begins a summary that will be needed soon.
    fn begin_early(&self) {
        let is_due = self.tokens > self.bounds.background;
        if !is_due || self.state.has_background() || !self.state.may_try() {
            return;
        }
        // Nobody would let it go on, and end it.
        if RunState::of(self.cx).is_none() {
            return;
        }
        if let Ok(plan) = self.plan(CompactionReason::Threshold, None) {
            let background = Background::begin(plan, self.cx, self.tokens);
            self.state.put_background(background);
        }
    }

    fn plan(
        &self,
        reason: CompactionReason,
        focus: Option<String>,
    ) -> Result<compactor::Plan, NoPlan> {
        let (history, used) = (self.history, self.used);
        self.compactor
            .plan(self.cx, history, used, &self.bounds, reason, focus)
    }

    async fn compact(
        &self,
        reason: CompactionReason,
        focus: Option<String>,
    ) -> Result<Option<Compaction>, MiddlewareError> {
        if let Some(background) = self.state.take_background() {
            if focus.is_none() && background.fits(self.history) {
                let written = self.unless_cancelled(background.finish()).await;
                let enough = |compaction: &Compaction| {
                    (self.after(compaction) > self.bounds.threshold)
                        .then_some("too much was said since the summary was begun")
                };
                match self.take(written, reason, enough) {
                    Ok(compaction) => return Ok(Some(compaction)),
                    // Otherwise a fresh one may do better.
                    Err(error) => self.tell_end(CompactionReason::Threshold, &error),
                }
                if self.cx.cancellation().is_cancelled() {
                    return Ok(None);
                }
            } else {
                self.state.wasted(&background.bill());
                background.tell_end(self.cx, "the summary does not fit what is asked for now");
            }
        }
        let plan = match self.plan(reason, focus) {
            Ok(plan) => plan,
            Err(why) => {
                let message = format!("The conversation is not made shorter: {why}.");
                self.state.warn(self.cx, message);
                return Ok(None);
            }
        };
        self.cx.emit(Event::CompactionStart {
            reason,
            tokens: self.tokens,
            background: false,
        });
        let span = CompactionSpan {
            reason: reason.word(),
            tokens: Some(self.tokens),
            messages: plan.messages().len(),
            background: None,
        };
        let writing = write(plan, self.cx.clone(), span);
        let written = self.unless_cancelled(writing).await;
        let shorter = |compaction: &Compaction| {
            let after = self.after(compaction);
            (after >= self.tokens || after > self.bounds.window).then_some(
                "the summary is so long that it does not make the conversation short enough",
            )
        };
        match self.take(written, reason, shorter) {
            Ok(compaction) => Ok(Some(compaction)),
            Err(error) => {
                self.tell_end(reason, &error);
                match error {
                    Error::Cancelled => Ok(None),
                    error => Err(error.into()),
                }
            }
        }
    }

    /// Ends at once when the run is cancelled.
    async fn unless_cancelled(&self, writing: impl Future<Output = Written>) -> Written {
        let cancelled = self.cx.cancellation().cancelled().fuse();
        futures::pin_mut!(writing, cancelled);
        let mut writing = writing.fuse();
        futures::select_biased! {
            () = cancelled => Written {
                result: Err(Error::Cancelled),
                bill: Bill::default(),
            },
            written = writing => written,
        }
    }

    /// The compaction for what was written, if there is no problem with it.
    fn take(
        &self,
        written: Written,
        reason: CompactionReason,
        problem: impl FnOnce(&Compaction) -> Option<&'static str>,
    ) -> Result<Compaction, Error> {
        let Written { result, bill } = written;
        let made = match result {
            Ok(made) => made,
            Err(error) => {
                self.state.failed(&bill);
                return Err(error);
            }
        };
        let all = self.state.bill_with(&bill);
        let compaction = made.compaction(self.cx, self.history, reason, &all);
        match problem(&compaction) {
            None => {
                self.state.made();
                Ok(compaction)
            }
            Some(problem) => {
                self.state.failed(&bill);
                Err(Error::Summary(problem.to_owned()))
            }
        }
    }

    /// About how many tokens a request has after a compaction.
    fn after(&self, compaction: &Compaction) -> u64 {
        let measure = self.compactor.measure(self.used);
        let cut = self.history.len().saturating_sub(compaction.kept);
        let kept = self.history.get(cut..).unwrap_or_default();
        let all = compaction.summary.iter().chain(kept);
        let tokens = all.map(|message| {
            let short = short_form(message, self.bounds.window);
            measure.message(short.as_ref().unwrap_or(message))
        });
        tokens.sum::<u64>().saturating_add(self.used.fixed_tokens)
    }

    fn tell_end(&self, reason: CompactionReason, error: &Error) {
        self.cx.emit(Event::CompactionEnd {
            reason,
            tokens_before: self.tokens,
            tokens_after: None,
            summarised: 0,
            kept: 0,
            error: Some(error.to_string()),
        });
    }
}
