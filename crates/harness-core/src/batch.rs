//! The calls of one turn.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::arguments;
use crate::config::ToolSet;
use crate::context::{RunContext, ToolContext};
use crate::engine::Engine;
use crate::error::Error;
use crate::event::Event;
use crate::journal::{Record, StepKind};
use crate::message::{StopReason, ToolCall, ToolResult, ToolResults};
use crate::middleware::ActiveCall;
use crate::next::{ActingEnd, NextActing, NextTool, OnRecord, ToolEnd};
use crate::outcome::{OutputPart, ToolOutcome};
use crate::permit::{CHANGED, Permit};
use crate::tool::{Called, Execution, Replay, ToolRef};

/// The calls of one reply, on their way to one outcome each.
pub(crate) struct Batch<'a> {
    engine: &'a Engine<'a>,
    name: &'a str,
    tools: ToolSet,
    calls: Vec<ToolCall>,
    active: Vec<ActiveCall>,
    /// Why calls may not run, whatever a middleware makes of them.
    refused: Vec<Option<String>>,
    /// Whether another run made the reply: the calls may have begun, whatever is wrong with them now.
    resumed: bool,
    /// How far each call came.
    progress: Mutex<Vec<Progress>>,
    /// How often each call reached its tool: a middleware may run it again.
    runs: Vec<AtomicU32>,
    /// How often something was decided about each call.
    decisions: Vec<AtomicU32>,
    error: Mutex<Option<Error>>,
}

/// How far a call came, and was told of by events.
#[derive(Clone)]
enum Progress {
    Waiting,
    Begun,
    Ended(Arc<ToolOutcome>),
}

impl<'a> Batch<'a> {
    pub(crate) fn new(
        engine: &'a Engine<'a>,
        name: &'a str,
        tools: ToolSet,
        stop: &StopReason,
        calls: Vec<ToolCall>,
    ) -> Self {
        let most = engine.config.inner.limits.calls_per_turn;
        let refused: Vec<Option<String>> = (0..calls.len())
            .map(|index| match unfit_to_run(stop) {
                Some(problem) => Some(problem.to_owned()),
                None if index >= most => Some(format!(
                    "Not executed: a reply may make at most {most} calls. Make this call again in \
                     the next reply."
                )),
                None => None,
            })
            .collect();
        let active = calls
            .iter()
            .zip(&refused)
            .enumerate()
            .map(|(index, (call, refused))| {
                let mut active = read(call, index, &tools);
                if refused.is_some() {
                    active.problem.clone_from(refused);
                }
                active
            })
            .collect();
        Self {
            engine,
            name,
            tools,
            refused,
            resumed: false,
            progress: Mutex::new(vec![Progress::Waiting; calls.len()]),
            runs: calls.iter().map(|_| AtomicU32::new(0)).collect(),
            decisions: calls.iter().map(|_| AtomicU32::new(0)).collect(),
            calls,
            active,
            error: Mutex::default(),
        }
    }

    /// The same, as the calls of a reply that another run was cut off at.
    pub(crate) fn resumed(mut self) -> Self {
        self.resumed = true;
        self
    }

    pub(crate) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// The results, of the outcomes that [`run`](Self::run) gave.
    pub(crate) fn results(&self, outcomes: Vec<ToolOutcome>) -> ToolResults {
        let most = self.engine.config.inner.limits.result_bytes;
        let results = self
            .calls
            .iter()
            .zip(outcomes)
            .map(|(call, outcome)| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                outcome: Arc::new(bounded(outcome, most)),
            });
        ToolResults {
            results: results.collect(),
        }
    }

    /// What ends the run, if anything did.
    pub(crate) fn error(&self) -> Option<Error> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Runs the batch. One outcome for each call, in call order, whatever the middlewares did.
    pub(crate) async fn run(&self, cx: &RunContext) -> Vec<ToolOutcome> {
        let chain = &self.engine.config.inner.chains.acting;
        let batch = NextActing::new(chain, self).run(cx, self.active.clone());
        let mut outcomes = match AssertUnwindSafe(batch).catch_unwind().await {
            Ok(outcomes) if outcomes.len() == self.calls.len() => outcomes,
            // Which outcome is whose cannot be told any more, so what the calls gave counts.
            Ok(_) => self.outcomes("Not executed: a middleware gave no outcome."),
            Err(panic) => self.outcomes(&format!(
                "Not executed: a middleware panicked: {}",
                panic_text(&*panic)
            )),
        };
        let progress = self.progress().clone();
        for ((call, outcome), progress) in self.active.iter().zip(&mut outcomes).zip(progress) {
            // One that went unchanged through the middlewares around the batch is masked already.
            if !cx.secrets().is_empty()
                && !matches!(&progress, Progress::Ended(ended) if **ended == *outcome)
            {
                let changed = std::mem::replace(outcome, ToolOutcome::Cancelled);
                *outcome = cx.secrets().mask_outcome(changed);
            }
            match progress {
                Progress::Waiting => tell_start(cx, call),
                Progress::Begun => {}
                Progress::Ended(_) => continue,
            }
            tell_end(cx, call, Arc::new(outcome.clone()), Duration::ZERO);
        }
        outcomes
    }

    /// The outcomes of the calls as far as they came; `otherwise` for those that did not begin.
    fn outcomes(&self, otherwise: &str) -> Vec<ToolOutcome> {
        self.progress()
            .iter()
            .map(|progress| match progress {
                Progress::Waiting => ToolOutcome::failed(otherwise),
                Progress::Begun => ToolOutcome::Cancelled,
                Progress::Ended(outcome) => outcome.as_ref().clone(),
            })
            .collect()
    }

    fn progress(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, call: &ActiveCall, progress: Progress) {
        if let Some(slot) = self.progress().get_mut(call.index) {
            *slot = progress;
        }
    }

    fn fail(&self, error: Error) {
        let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(error);
    }

    fn failed(&self) -> bool {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// One call, through its chain.
    async fn call(&self, cx: &RunContext, call: ActiveCall) -> ToolOutcome {
        self.note(&call, Progress::Begun);
        tell_start(cx, &call);
        let clock = cx.clock();
        let start = clock.now();
        let outcome = if let Some(outcome) = self.given_up(cx, &call).await {
            outcome
        } else if self.resumed && self.engine.journal.is_settled(&call.id) {
            // Whoever could refuse it now would only hide what it did.
            self.execute(cx, call.clone()).await
        } else {
            let chain = &self.engine.config.inner.chains.tool_call;
            let run = NextTool::new(chain, self).run(cx, call.clone());
            AssertUnwindSafe(run)
                .catch_unwind()
                .await
                .unwrap_or_else(|panic| {
                    ToolOutcome::failed(format!("The call panicked: {}", panic_text(&*panic)))
                })
        };
        // What the tool gave is masked already; a middleware may have added to it.
        let outcome = cx.secrets().mask_outcome(outcome);
        let outcome = bounded(outcome, self.engine.config.inner.limits.result_bytes);
        let ended = Arc::new(outcome.clone());
        self.note(&call, Progress::Ended(Arc::clone(&ended)));
        tell_end(cx, &call, ended, clock.now().saturating_sub(start));
        outcome
    }

    /// The outcome of a call that may not begin, because the run was cancelled or its journal failed.
    ///
    /// On record, so that a replay does not make the call either; and if the record says that it did
    /// begin, it is not given up.
    async fn given_up(&self, cx: &RunContext, call: &ActiveCall) -> Option<ToolOutcome> {
        if self.failed() {
            return Some(ToolOutcome::Cancelled);
        }
        if !cx.cancellation().is_cancelled() {
            return None;
        }
        if let Some(problem) = &call.problem
            && !self.resumed
        {
            return Some(ToolOutcome::failed(problem.clone()));
        }
        let record = Record::Tool {
            outcome: ToolOutcome::Cancelled,
            elapsed: Duration::ZERO,
        };
        let kind = StepKind::Tool {
            call,
            replay: Replay::Safe,
        };
        let name = self.step_name(call.index, 0);
        let effect = std::future::ready(record.clone()).boxed();
        match self.engine.step(&name, kind, effect).await {
            Ok(known) if known != record => None,
            Ok(_) => Some(ToolOutcome::Cancelled),
            Err(error) => {
                self.fail(error.into());
                Some(ToolOutcome::Cancelled)
            }
        }
    }

    fn step_name(&self, index: usize, run: u32) -> String {
        format!("{}/call{index}/tool{run}", self.name)
    }

    /// The name of the step of a call that reaches its tool, maybe once more.
    fn next_step_name(&self, index: usize) -> String {
        let run = self
            .runs
            .get(index)
            .map_or(0, |runs| runs.fetch_add(1, Ordering::Relaxed));
        self.step_name(index, run)
    }

    /// The innermost layer of a call: the tool itself, on record.
    async fn execute(&self, cx: &RunContext, call: ActiveCall) -> ToolOutcome {
        let tool = match self.tool_for(&call) {
            Ok(tool) => tool,
            Err(problem) if self.resumed => return self.refuse_on_record(&call, problem).await,
            Err(problem) => return ToolOutcome::failed(problem),
        };
        // The journal may have failed while a middleware held the call.
        if self.failed() {
            return ToolOutcome::Cancelled;
        }
        if let Some(permit) = cx.value::<Permit>()
            && !permit.covers(&call.name, &call.effects(cx), &call.arguments)
        {
            return Permit::denied(CHANGED);
        }
        let name = self.next_step_name(call.index);
        let withdrawal = cx.value::<Permit>().and_then(Permit::withdrawal);
        let effect = async {
            let clock = cx.clock();
            // Here, and not before: a call that is on record was made.
            if let Some(record) = withdrawal {
                return record;
            }
            let start = clock.now();
            let tool_cx = ToolContext::new(cx.clone(), call.id.clone());
            let run = tool.call_valid(&tool_cx, call.arguments.as_ref().clone());
            match self.until_cancelled(cx, run.boxed()).await {
                Called::Fatal(message) => Record::Fatal(cx.secrets().mask(&message).into_owned()),
                Called::Outcome(outcome) => Record::Tool {
                    outcome: cx.secrets().mask_outcome(outcome),
                    elapsed: clock.now().saturating_sub(start),
                },
            }
        };
        let kind = StepKind::Tool {
            call: &call,
            replay: tool.spec().replay,
        };
        match self.engine.step(&name, kind, effect.boxed()).await {
            Ok(Record::Tool { outcome, .. }) => outcome,
            Ok(Record::Fatal(message)) => {
                let outcome = ToolOutcome::failed(message.clone());
                self.fail(Error::Tool {
                    tool: call.name,
                    message,
                });
                outcome
            }
            Ok(_) => {
                self.fail(Engine::foreign(&name).into());
                ToolOutcome::Interrupted
            }
            Err(error) => {
                self.fail(error.into());
                ToolOutcome::Interrupted
            }
        }
    }

    /// The tool of a call, or why the call may not run.
    fn tool_for(&self, call: &ActiveCall) -> Result<&ToolRef, String> {
        if let Some(Some(refused)) = self.refused.get(call.index) {
            return Err(refused.clone());
        }
        if let Some(problem) = &call.problem {
            return Err(problem.clone());
        }
        let tool = self.tools.get(&call.name);
        let tool = tool.ok_or_else(|| self.tools.unknown(&call.name))?;
        tool.validate(&call.arguments)?;
        Ok(tool)
    }

    /// The outcome of a call that may not run as things are now: what is on record of it, if there is
    /// something. The tool may be gone since it ran.
    async fn refuse_on_record(&self, call: &ActiveCall, problem: String) -> ToolOutcome {
        if self.failed() {
            return ToolOutcome::Cancelled;
        }
        let name = self.next_step_name(call.index);
        let record = Record::Tool {
            outcome: ToolOutcome::failed(problem),
            elapsed: Duration::ZERO,
        };
        let kind = StepKind::Tool {
            call,
            replay: Replay::Never,
        };
        let effect = std::future::ready(record).boxed();
        match self.engine.step(&name, kind, effect).await {
            Ok(Record::Tool { outcome, .. }) => outcome,
            Ok(Record::Fatal(message)) => ToolOutcome::failed(message),
            Ok(_) => {
                self.fail(Engine::foreign(&name).into());
                ToolOutcome::Interrupted
            }
            Err(error) => {
                self.fail(error.into());
                ToolOutcome::Interrupted
            }
        }
    }

    /// Runs a tool; after a cancel it has the grace period to end by itself, then it is dropped.
    async fn until_cancelled(&self, cx: &RunContext, run: BoxFuture<'_, Called>) -> Called {
        // A middleware may have held the call until after the cancel.
        if cx.cancellation().is_cancelled() {
            return Called::Outcome(ToolOutcome::Cancelled);
        }
        let run = AssertUnwindSafe(run).catch_unwind();
        let mut run = run
            .map(|result| {
                result.unwrap_or_else(|panic| {
                    let text = format!("The tool panicked: {}", panic_text(&*panic));
                    Called::Outcome(ToolOutcome::failed(text))
                })
            })
            .fuse();
        futures::select_biased! {
            called = run => return called,
            () = cx.cancellation().cancelled().fuse() => {}
        }
        let grace = self.engine.config.inner.limits.cancel_grace;
        futures::select_biased! {
            called = run => called,
            () = cx.clock().sleep(grace).fuse() => Called::Outcome(ToolOutcome::Cancelled),
        }
    }
}

impl ActingEnd for Batch<'_> {
    fn run<'f>(
        &'f self,
        cx: &'f RunContext,
        batch: Vec<ActiveCall>,
    ) -> BoxFuture<'f, Vec<ToolOutcome>> {
        Box::pin(async move {
            let sequential = self.engine.config.inner.execution == Execution::Sequential
                || batch.iter().any(|call| {
                    call.spec
                        .as_ref()
                        .is_some_and(|spec| spec.execution == Execution::Sequential)
                });
            if sequential {
                let mut outcomes = Vec::with_capacity(batch.len());
                for call in batch {
                    outcomes.push(self.call(cx, call).await);
                }
                outcomes
            } else {
                futures::future::join_all(batch.into_iter().map(|call| self.call(cx, call))).await
            }
        })
    }
}

impl OnRecord for Batch<'_> {
    fn decide<'f>(
        &'f self,
        call: &'f ActiveCall,
        kind: &'f str,
        decide: BoxFuture<'f, Value>,
    ) -> BoxFuture<'f, Option<Value>> {
        Box::pin(async move {
            let times = self.decisions.get(call.index);
            let times = times.map_or(0, |times| times.fetch_add(1, Ordering::Relaxed));
            let name = format!("{}/call{}/{kind}{times}", self.name, call.index);
            let effect = decide.map(Record::Decision).boxed();
            let step = StepKind::Decision { call, kind };
            match self.engine.step(&name, step, effect).await {
                Ok(Record::Decision(decision)) => Some(decision),
                Ok(_) => {
                    self.fail(Engine::foreign(&name).into());
                    None
                }
                Err(error) => {
                    self.fail(error.into());
                    None
                }
            }
        })
    }
}

impl ToolEnd for Batch<'_> {
    fn run<'f>(&'f self, cx: &'f RunContext, call: ActiveCall) -> BoxFuture<'f, ToolOutcome> {
        Box::pin(self.execute(cx, call))
    }
}

/// Reads a call as the model wrote it.
fn read(call: &ToolCall, index: usize, tools: &ToolSet) -> ActiveCall {
    let tool = tools.get(&call.name);
    let (arguments, problem) = match arguments::parse(&call.arguments) {
        Ok(arguments) => match tool {
            Some(tool) => prepare(tool, arguments),
            None => (arguments, None),
        },
        Err(problem) => (Value::Null, Some(problem)),
    };
    ActiveCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: Arc::new(arguments),
        spec: tool.map(|tool| Arc::clone(tool.spec())),
        tool: tool.cloned(),
        // An unknown tool matters more than its arguments.
        problem: if tool.is_none() {
            Some(tools.unknown(&call.name))
        } else {
            problem
        },
        index,
    }
}

/// Prepares arguments; that is a tool's own code, which may panic.
fn prepare(tool: &ToolRef, arguments: Value) -> (Value, Option<String>) {
    match std::panic::catch_unwind(AssertUnwindSafe(|| tool.prepare(arguments))) {
        Ok(arguments) => (arguments, None),
        Err(panic) => {
            let text = format!("The tool panicked: {}", panic_text(&*panic));
            (Value::Null, Some(text))
        }
    }
}

/// Why no call of a reply that ended like this may run: it may be cut in the middle.
fn unfit_to_run(stop: &StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Length => Some(
            "Not executed: your reply was cut off by the output limit, so this call may be \
             incomplete. Make the call again with less in it, in several smaller calls if needed.",
        ),
        StopReason::ContentFilter => {
            Some("Not executed: the reply was stopped by the provider's content filter.")
        }
        StopReason::EndTurn | StopReason::ToolCalls | StopReason::Other(_) => None,
    }
}

fn tell_start(cx: &RunContext, call: &ActiveCall) {
    cx.emit(Event::ToolStart {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: Arc::clone(&call.arguments),
    });
}

fn tell_end(cx: &RunContext, call: &ActiveCall, outcome: Arc<ToolOutcome>, elapsed: Duration) {
    cx.emit(Event::ToolEnd {
        id: call.id.clone(),
        name: call.name.clone(),
        outcome,
        elapsed,
    });
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Cuts the text of an outcome to a bound, at a character, and says so within the bound.
pub(crate) fn bounded(mut outcome: ToolOutcome, max_bytes: usize) -> ToolOutcome {
    /// Room for the notice.
    const NOTICE: usize = 80;
    // A smaller bound could not even hold the notice.
    let max_bytes = max_bytes.max(NOTICE);
    let parts = match &mut outcome {
        ToolOutcome::Done(output) | ToolOutcome::Failed(output) => &mut output.parts,
        ToolOutcome::Denied { reason, .. } => {
            if reason.len() > max_bytes {
                let all = reason.len();
                reason.truncate(reason.floor_char_boundary(max_bytes - NOTICE));
                reason.push_str(&notice(reason.len(), all));
            }
            return outcome;
        }
        ToolOutcome::Cancelled | ToolOutcome::Interrupted => return outcome,
    };
    let bytes = |part: &OutputPart| match part {
        OutputPart::Text(text) => text.text.len(),
        OutputPart::Image(_) => 0,
    };
    let all: usize = parts.iter().map(bytes).sum();
    if all <= max_bytes {
        return outcome;
    }
    let mut left = max_bytes - NOTICE;
    let mut cut_at = None;
    let mut place = 0;
    parts.retain_mut(|part| {
        let OutputPart::Text(text) = part else {
            place += 1;
            return true;
        };
        if cut_at.is_some() {
            return false;
        }
        if text.text.len() > left {
            text.text.truncate(text.text.floor_char_boundary(left));
            cut_at = Some(place);
        }
        left -= text.text.len();
        place += 1;
        true
    });
    let shown: usize = parts.iter().map(bytes).sum();
    if let Some(OutputPart::Text(text)) = cut_at.and_then(|place| parts.get_mut(place)) {
        text.text.push_str(&notice(shown, all));
    }
    outcome
}

fn notice(shown: usize, all: usize) -> String {
    format!("\n[cut: {shown} of {all} bytes shown]")
}
