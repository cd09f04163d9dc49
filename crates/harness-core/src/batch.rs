//! The calls of one turn.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::agent_loop::Engine;
use crate::arguments;
use crate::config::ToolSet;
use crate::context::{RunContext, ToolContext};
use crate::error::Error;
use crate::event::Event;
use crate::journal::{Record, StepKind};
use crate::message::{StopReason, ToolCall};
use crate::middleware::ActiveCall;
use crate::next::{ActingEnd, NextActing, NextTool, ToolEnd};
use crate::outcome::{OutputPart, ToolOutcome};
use crate::tool::{Called, Execution};

/// The calls of one reply, on their way to one outcome each.
pub(crate) struct Batch<'a> {
    engine: &'a Engine<'a>,
    name: &'a str,
    tools: ToolSet,
    calls: Vec<ToolCall>,
    active: Vec<ActiveCall>,
    /// Which calls were told of by events.
    told: Vec<AtomicBool>,
    /// How often each call reached its tool: a middleware may run it again.
    runs: Vec<AtomicU32>,
    error: Mutex<Option<Error>>,
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
        let active = calls
            .iter()
            .enumerate()
            .map(|(index, call)| {
                let mut active = read(call, index, &tools);
                if index >= most {
                    active.problem = Some(format!(
                        "Not executed: a reply may make at most {most} calls. Make this call again \
                         in the next reply."
                    ));
                }
                if let Some(problem) = unfit_to_run(stop) {
                    active.problem = Some(problem.to_owned());
                }
                active
            })
            .collect();
        Self {
            engine,
            name,
            tools,
            told: calls.iter().map(|_| AtomicBool::new(false)).collect(),
            runs: calls.iter().map(|_| AtomicU32::new(0)).collect(),
            calls,
            active,
            error: Mutex::default(),
        }
    }

    pub(crate) fn calls(&self) -> &[ToolCall] {
        &self.calls
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
            Ok(outcomes) => outcomes,
            Err(panic) => {
                let text = format!("Not known: a middleware panicked: {}", panic_text(&*panic));
                self.calls
                    .iter()
                    .map(|_| ToolOutcome::failed(text.clone()))
                    .collect()
            }
        };
        outcomes.truncate(self.calls.len());
        while outcomes.len() < self.calls.len() {
            outcomes.push(ToolOutcome::failed(
                "Not executed: a middleware gave no outcome.",
            ));
        }
        for (call, outcome) in self.active.iter().zip(&outcomes) {
            if !self.was_told(call.index) {
                tell_start(cx, call);
                tell_end(cx, call, outcome.clone(), std::time::Duration::ZERO);
            }
        }
        outcomes
    }

    fn was_told(&self, index: usize) -> bool {
        self.told
            .get(index)
            .is_none_or(|told| told.load(Ordering::Relaxed))
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
        if let Some(told) = self.told.get(call.index) {
            told.store(true, Ordering::Relaxed);
        }
        tell_start(cx, &call);
        let clock = cx.clock();
        let start = clock.now();
        let outcome = if cx.cancellation().is_cancelled() || self.failed() {
            ToolOutcome::Cancelled
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
        let outcome = bounded(outcome, self.engine.config.inner.limits.result_bytes);
        tell_end(
            cx,
            &call,
            outcome.clone(),
            clock.now().saturating_sub(start),
        );
        outcome
    }

    /// The innermost layer of a call: the tool itself, on record.
    async fn execute(&self, cx: &RunContext, call: ActiveCall) -> ToolOutcome {
        if let Some(problem) = call.problem {
            return ToolOutcome::failed(problem);
        }
        let Some(tool) = self.tools.get(&call.name) else {
            return ToolOutcome::failed(self.tools.unknown(&call.name));
        };
        if let Err(problem) = tool.validate(&call.arguments) {
            return ToolOutcome::failed(problem);
        }
        let runs = self
            .runs
            .get(call.index)
            .map_or(0, |runs| runs.fetch_add(1, Ordering::Relaxed));
        let name = format!("{}/call{}/tool{runs}", self.name, call.index);
        let effect = async {
            let clock = cx.clock();
            let start = clock.now();
            let tool_cx = ToolContext::new(cx.clone(), call.id.clone());
            let run = tool.call_valid(&tool_cx, call.arguments.as_ref().clone());
            match self.until_cancelled(cx, run.boxed()).await {
                Called::Fatal(message) => Record::Fatal(message),
                Called::Outcome(outcome) => Record::Tool {
                    outcome,
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
                self.fail(self.engine.foreign(&name).into());
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
            Some(tool) => (tool.prepare(arguments), None),
            None => (arguments, None),
        },
        Err(problem) => (Value::Null, Some(problem)),
    };
    ActiveCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: Arc::new(arguments),
        spec: tool.map(|tool| Arc::clone(tool.spec())),
        // An unknown tool matters more than its arguments.
        problem: if tool.is_none() {
            Some(tools.unknown(&call.name))
        } else {
            problem
        },
        index,
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

fn tell_end(
    cx: &RunContext,
    call: &ActiveCall,
    outcome: ToolOutcome,
    elapsed: std::time::Duration,
) {
    cx.emit(Event::ToolEnd {
        id: call.id.clone(),
        name: call.name.clone(),
        outcome: Arc::new(outcome),
        elapsed,
    });
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
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
    let (ToolOutcome::Done(output) | ToolOutcome::Failed(output)) = &mut outcome else {
        return outcome;
    };
    let mut left = max_bytes;
    for part in &mut output.parts {
        let OutputPart::Text(text) = part else {
            continue;
        };
        let all = text.text.len();
        if all > left {
            text.text
                .truncate(text.text.floor_char_boundary(left.saturating_sub(NOTICE)));
            let shown = text.text.len();
            text.text
                .push_str(&format!("\n[cut: {shown} of {all} bytes shown]"));
        }
        left = left.saturating_sub(all);
    }
    outcome
}
