//! The loop: model, tools, model, until there is nothing left to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::batch::Batch;
use crate::compacting::Compacted;
use crate::config::{LoopConfig, ToolSet, caught, hook_failed};
use crate::context::{Caller, EventSink, RunContext, RunParts};
use crate::engine::Engine;
use crate::error::{Error, ModelError};
use crate::event::{Event, MessageSource, RunEnd};
use crate::handle::RunHandle;
use crate::journal::{Journal, NoJournal, Record};
use crate::message::{AssistantMessage, Message, MessageRef, StopReason, ToolCall, UserMessage};
use crate::middleware::{RunInput, TurnDecision, TurnReport};
use crate::model::ModelRequest;
use crate::next::{AgentEnd, NextAgent, NextReasoning};
use crate::outcome::{LimitReached, RunOutcome, RunStatus, ToolOutcome};
use crate::protocol;
use crate::queue::{QueueMode, Queues};
use crate::resuming::split_open_reply;
use crate::spending::Spending;
use crate::state::State;
use crate::turn::{Turn, pause};

/// What a run may be given beside its configuration and its input.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Who asks, and from where.
    pub caller: Caller,
    /// Cancels the run from outside. The run makes a child of it.
    pub cancellation: Option<CancellationToken>,
    /// Where this run's steps are recorded, instead of the configured journal.
    pub journal: Option<&'a dyn Journal>,
    /// The run that this one is started in: what this one uses counts there, too, and ends it where a limit of
    /// that one is reached. Its secrets are this one's as well. It is not cancelled by that run's end: give it a
    /// [`cancellation`](Self::cancellation) from there.
    pub parent: Option<RunContext>,
}

impl std::fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunOptions")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

/// Starts a run. It goes on while the handle is polled.
pub fn run(config: &LoopConfig, input: RunInput) -> RunHandle<'static> {
    run_with(config, input, RunOptions::default())
}

/// Starts a run for somebody, or under a journal of its own.
pub fn run_with<'a>(
    config: &LoopConfig,
    input: RunInput,
    options: RunOptions<'a>,
) -> RunHandle<'a> {
    let RunOptions {
        caller,
        cancellation,
        journal,
        parent,
    } = options;
    let cancel = cancellation.map_or_else(CancellationToken::new, |outer| outer.child_token());
    let sink = EventSink::open();
    let queues = Arc::new(Queues::default());
    let start = Start {
        caller,
        cancel: cancel.clone(),
        sink: sink.clone(),
        queues: Arc::clone(&queues),
        parent,
    };
    let run = Box::pin(drive(config.clone(), input, journal, start));
    RunHandle::new(run, sink, cancel, queues)
}

/// What a run is started with beside its configuration and its input.
struct Start {
    caller: Caller,
    cancel: CancellationToken,
    sink: EventSink,
    queues: Arc<Queues>,
    parent: Option<RunContext>,
}

async fn drive(
    config: LoopConfig,
    input: RunInput,
    journal: Option<&dyn Journal>,
    start: Start,
) -> RunOutcome {
    let Start {
        caller,
        cancel,
        sink,
        queues,
        parent,
    } = start;
    let journal = journal.unwrap_or(&*config.inner.journal);
    let session = caller.session.clone();
    let clock = Arc::clone(&config.inner.clock);
    let observers = Arc::clone(&config.inner.chains.event);
    let engine = Engine {
        config: &config,
        journal,
        queues: &queues,
        passes: AtomicU32::new(0),
    };
    let id = engine.value("run", |engine| {
        Record::Id(run_id(engine.config.inner.entropy.next()))
    });
    let (run_id, broken) = match id.await {
        Ok(Record::Id(id)) => (id, None),
        Ok(_) => (String::new(), Some(Engine::foreign("run"))),
        Err(error) => (String::new(), Some(error)),
    };
    let model = config.inner.model.info().id.clone();
    let secrets = parent.as_ref().map(|run| run.secrets().clone());
    let parts = RunParts {
        run_id: run_id.clone(),
        model: Some(model.clone()),
        clock,
        observers,
        sink,
        cancel,
        parent,
        limits: Some(config.inner.limits.clone()),
    };
    let cx = RunContext::new(caller, parts)
        .with_secrets(&secrets.unwrap_or_default())
        .with_secrets(&config.inner.secrets);
    cx.emit(Event::RunStart {
        run: run_id,
        session: session.clone(),
        model,
    });
    let mut outcome = match broken {
        Some(error) => {
            let mut state = State::new(&config, protocol::repair(input.history));
            Engine::say_unrecorded(&cx, &mut state, input.messages);
            state.end(&cx, RunStatus::Failed(error.into()))
        }
        None => {
            NextAgent::new(&config.inner.chains.agent, &engine)
                .run(&cx, input)
                .await
        }
    };
    // Runs that were ended with this one.
    if let Some(rest) = cx.spending().and_then(Spending::take_unseen) {
        outcome.add(&rest);
    }
    outcome.undelivered.extend(queues.close());
    if !matches!(outcome.status, RunStatus::Failed(Error::Journal(_)))
        && let Err(error) = engine.end(&outcome).await
    {
        outcome.status = RunStatus::Failed(error.into());
    }
    cx.emit(Event::RunEnd(Box::new(RunEnd::new(&outcome, session))));
    outcome
}

/// Runs one call outside a run, through the same middlewares as a model's calls.
///
/// `arguments` is JSON text. `Err` if the tool ended the call in a way that would end a run.
pub async fn call_tool(
    config: &LoopConfig,
    caller: Caller,
    tool: &str,
    arguments: &str,
    cancellation: CancellationToken,
) -> Result<ToolOutcome, Error> {
    let queues = Queues::default();
    let journal = NoJournal;
    let engine = Engine {
        config,
        journal: &journal,
        queues: &queues,
        passes: AtomicU32::new(0),
    };
    let parts = RunParts {
        run_id: run_id(config.inner.entropy.next()),
        model: Some(config.inner.model.info().id.clone()),
        clock: Arc::clone(&config.inner.clock),
        observers: Arc::clone(&config.inner.chains.event),
        sink: EventSink::closed(),
        cancel: cancellation,
        parent: None,
        limits: Some(config.inner.limits.clone()),
    };
    let cx = RunContext::new(caller, parts).with_secrets(&config.inner.secrets);
    let call = ToolCall {
        id: "call".to_owned(),
        name: tool.to_owned(),
        arguments: arguments.to_owned(),
    };
    let tools = config.inner.tools.clone();
    let batch = Batch::new(&engine, "call", tools, &StopReason::ToolCalls, vec![call]);
    let outcome = batch.run(&cx).await.pop();
    match batch.error() {
        Some(error) => Err(error),
        None => Ok(outcome.unwrap_or(ToolOutcome::Cancelled)),
    }
}

fn run_id(random: u64) -> String {
    format!("run_{random:016x}")
}

impl AgentEnd for Engine<'_> {
    fn run<'f>(&'f self, cx: &'f RunContext, input: RunInput) -> BoxFuture<'f, RunOutcome> {
        Box::pin(async move {
            let pass = self.passes.fetch_add(1, Ordering::Relaxed);
            let prefix = if pass == 0 {
                String::new()
            } else {
                self.queues.open();
                format!("pass{pass}/")
            };
            let (history, open) = if input.resume {
                split_open_reply(input.history)
            } else {
                (protocol::repair(input.history), None)
            };
            let mut state = State::new(self.config, history);
            let messages = state.messages.len() + usize::from(open.is_some());
            if let Err(error) = self.begin(&format!("{prefix}begin"), messages).await {
                Self::say_unrecorded(cx, &mut state, input.messages);
                return state.end(cx, RunStatus::Failed(error.into()));
            }
            let turns = self.turns(cx, &mut state, open, input.messages, &prefix);
            let status = match turns.await {
                Ok(status) => status,
                Err(Error::Model {
                    error: ModelError::Cancelled,
                    ..
                }) => RunStatus::Cancelled,
                Err(error @ Error::Journal(_)) => RunStatus::Failed(error),
                Err(_) if cx.cancellation().is_cancelled() => RunStatus::Cancelled,
                Err(error) => RunStatus::Failed(error),
            };
            state.end(cx, status)
        })
    }
}

/// What the loop does after a turn.
pub(crate) enum Flow {
    Continue,
    End(RunStatus),
}

impl Engine<'_> {
    async fn turns(
        &self,
        cx: &RunContext,
        state: &mut State,
        open: Option<AssistantMessage>,
        messages: Vec<UserMessage>,
        prefix: &str,
    ) -> Result<RunStatus, Error> {
        let ended = match open {
            Some(reply) => self.finish_batch(cx, state, reply, prefix).await?,
            None => None,
        };
        self.say(
            cx,
            state,
            &format!("{prefix}in"),
            messages,
            MessageSource::Prompt,
        )
        .await?;
        if let Some(status) = ended {
            return Ok(status);
        }
        let started = self.now(&format!("{prefix}start")).await?;
        let max_time = self.config.inner.limits.max_time;
        let mode = self.config.inner.queue_mode;
        // The time that must have come, because a timer said so.
        let mut least = Duration::ZERO;
        loop {
            // A turn may have had everything at hand; others want to run too, and see its events.
            pause().await;
            let number = state.turns + 1;
            let name = |part: &str| format!("{prefix}t{number}/{part}");
            let Some(now) = self.time_or_cancel(cx, &name("time"), least).await? else {
                return Ok(RunStatus::Cancelled);
            };
            state.add(now.children);
            let elapsed = now.time.saturating_sub(started);
            if let Some(limit) = self.limit(state, elapsed).or(now.limit) {
                return Ok(RunStatus::Limit(limit));
            }
            // One a turn is one a turn, also if the last turn ended with a delivery.
            let delivered = std::mem::take(&mut state.delivered);
            if !(delivered && mode == QueueMode::OneAtATime) {
                let steering = self
                    .messages(&name("steer"), |queues| queues.take_steering(mode))
                    .await?;
                self.say(cx, state, &name("steer"), steering, MessageSource::Steer)
                    .await?;
            }
            if !state.has_something_to_answer() {
                return Err(Error::EmptyInput);
            }

            cx.emit(Event::TurnStart { turn: number });
            let time_left = max_time.map(|max| max.saturating_sub(elapsed));
            let turn = format!("{prefix}t{number}");
            let (result, timed_out) = self.turn(cx, state, &turn, time_left).await;
            if timed_out {
                least = started.saturating_add(max_time.unwrap_or_default());
            }
            match result {
                Ok(Flow::Continue) => {}
                Ok(Flow::End(status)) => return Ok(status),
                Err(error @ Error::Journal(_)) => return Err(error),
                Err(error) if max_time.is_some() && (timed_out || is_cancelled(&error)) => {
                    // By whom the turn was ended is on record, so that a replay tells the same.
                    let now = self.time_or_cancel(cx, &name("ended"), least).await?;
                    let limit = now.and_then(|now| {
                        state.add(now.children);
                        self.out_of_time(now.time.saturating_sub(started))
                    });
                    return Ok(limit.map_or(RunStatus::Cancelled, RunStatus::Limit));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn limit(&self, state: &State, elapsed: Duration) -> Option<LimitReached> {
        let limits = &self.config.inner.limits;
        let reached = state.expense().reached(limits);
        reached.or_else(|| self.out_of_time(elapsed))
    }

    fn out_of_time(&self, elapsed: Duration) -> Option<LimitReached> {
        let max = self.config.inner.limits.max_time?;
        (elapsed >= max).then_some(LimitReached::Time {
            max_seconds: max.as_secs_f64(),
        })
    }

    /// One turn, under the run's limit of time if there is one; and whether that ran out.
    async fn turn(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
        time_left: Option<Duration>,
    ) -> (Result<Flow, Error>, bool) {
        let Some(time_left) = time_left else {
            return (self.turn_layers(cx, state, name).await, false);
        };
        // The limit acts as a cancel: tools end, calls get their results, the history stays whole.
        let token = cx.cancellation().child_token();
        let limited = cx.with_cancellation(token.clone());
        let mut timer = self.config.inner.clock.sleep(time_left).fuse();
        let mut timed_out = false;
        let result = {
            let mut turn = Box::pin(self.turn_layers(&limited, state, name)).fuse();
            loop {
                futures::select_biased! {
                    result = turn => break result,
                    () = timer => {
                        timed_out = true;
                        token.cancel();
                    }
                }
            }
        };
        (result, timed_out)
    }

    pub(crate) async fn turn_inner(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
    ) -> Result<Flow, Error> {
        let mut request = self.request(cx, state).await?;
        match self
            .compact(cx, state, &format!("{name}/compaction"), false)
            .await?
        {
            Compacted::Unchanged => {}
            Compacted::Shorter => request = self.request(cx, state).await?,
            Compacted::End(status) => return Ok(Flow::End(status)),
        }
        let mut reply = match self.reply(cx, state, name, request).await {
            // Never as it is, and not twice: what is still too long after that stays so.
            Err(error) if is_overflow(&error) => {
                match self
                    .compact(cx, state, &format!("{name}/overflow"), true)
                    .await?
                {
                    Compacted::Unchanged => return Err(error),
                    Compacted::Shorter => {}
                    Compacted::End(status) => return Ok(Flow::End(status)),
                }
                let request = self.request(cx, state).await?;
                self.reply(cx, state, &format!("{name}/again"), request)
                    .await?
            }
            reply => reply?,
        };
        let limits = &self.config.inner.limits;
        if reply.is_empty() {
            state.count(cx, &reply, limits);
            return match reply.stop {
                StopReason::Length => Ok(Flow::End(RunStatus::Limit(LimitReached::Output))),
                StopReason::ContentFilter => Err(Error::ContentFilter),
                _ => Err(Error::EmptyReplies {
                    replies: limits.max_empty_replies,
                }),
            };
        }
        state.count(cx, &reply, limits);
        state.accept(&mut reply);
        let message = MessageRef::new(Message::Assistant(reply.clone()));
        self.note(&format!("{name}/reply"), &message).await?;
        state.push(message.clone());
        cx.emit(Event::Reply {
            turn: state.turns + 1,
            message,
        });
        let reply = Arc::new(reply);

        let calls: Vec<ToolCall> = reply.tool_calls().cloned().collect();
        let mut end = None;
        let mut given_up = false;
        let results = if calls.is_empty() {
            match reply.stop {
                StopReason::Length => end = Some(RunStatus::Limit(LimitReached::Output)),
                StopReason::ContentFilter => end = Some(RunStatus::Failed(Error::ContentFilter)),
                _ => {}
            }
            None
        } else {
            let batch = Batch::new(self, name, state.tools.clone(), &reply.stop, calls);
            let outcomes = batch.run(cx).await;
            let results = Arc::new(batch.results(outcomes));
            let error = self.take_results(state, name, &batch, &results).await?;
            if let Some(error) = error {
                end = Some(RunStatus::Failed(error));
            } else if reply.stop == StopReason::ContentFilter {
                end = Some(RunStatus::Failed(Error::ContentFilter));
            } else if cx.cancellation().is_cancelled() {
                // The next turn begins by noticing it, on record.
                given_up = true;
            } else if reply.stop == StopReason::Length {
                state.cut_replies += 1;
                if state.cut_replies >= limits.max_cut_replies {
                    end = Some(RunStatus::Limit(LimitReached::Output));
                }
            } else {
                state.cut_replies = 0;
                end = state
                    .repetition
                    .see(cx, &batch, &results, limits.max_identical_failures);
            }
            Some(results)
        };
        state.complete_turn(cx);
        cx.emit(Event::TurnEnd {
            turn: state.turns,
            stop: reply.stop.clone(),
            usage: reply.usage,
        });
        if let Some(status) = end {
            return Ok(Flow::End(status));
        }
        if given_up {
            return Ok(Flow::Continue);
        }
        let report = TurnReport {
            turn: state.turns,
            reply,
            results,
        };
        self.after_turn(cx, state, &report, name).await
    }

    /// The reply of a turn, through its middlewares.
    async fn reply(
        &self,
        cx: &RunContext,
        state: &State,
        name: &str,
        request: ModelRequest,
    ) -> Result<AssistantMessage, Error> {
        let turn = Turn::new(self, name, state.turns + 1);
        let reply = NextReasoning::new(&self.config.inner.chains.reasoning, &turn)
            .run(cx, request)
            .await;
        turn.result(reply)
    }

    async fn after_turn(
        &self,
        cx: &RunContext,
        state: &mut State,
        report: &TurnReport,
        name: &str,
    ) -> Result<Flow, Error> {
        let mut decision = TurnDecision::default();
        let mut stopped_by = None;
        for middleware in &*self.config.inner.chains.after_turn {
            let one = match caught(async { middleware.after_turn(cx, report).await }).await {
                Ok(one) => one,
                Err(error) => {
                    hook_failed(cx, &**middleware, "after_turn", error.0)?;
                    continue;
                }
            };
            if let Some(reason) = one.stop
                && stopped_by.is_none()
            {
                stopped_by = Some((middleware.name().to_owned(), reason));
            }
            decision.model = one.model.or(decision.model);
            decision.tools = one.tools.or(decision.tools);
            decision.thinking = one.thinking.or(decision.thinking);
            decision.messages.extend(one.messages);
        }
        if let Some(model) = decision.model {
            state.thinking = model.info().nearest_thinking(state.thinking);
            state.model = model;
        }
        if let Some(tools) = decision.tools {
            state.tools = ToolSet::new(tools)?;
        }
        if let Some(thinking) = decision.thinking {
            state.thinking = state.model.info().nearest_thinking(thinking);
        }
        let (said, source) = (decision.messages, MessageSource::Middleware);
        let added = self
            .say(cx, state, &format!("{name}/added"), said, source)
            .await?;
        if let Some((by, reason)) = stopped_by {
            return Ok(Flow::End(RunStatus::Stopped { by, reason }));
        }
        if report.results.is_some() || added {
            return Ok(Flow::Continue);
        }
        let mode = self.config.inner.queue_mode;
        let queued = self
            .messages(&format!("{name}/more"), |queues| queues.take_or_close(mode))
            .await?;
        let (name, source) = (format!("{name}/more"), MessageSource::FollowUp);
        if self.say(cx, state, &name, queued, source).await? {
            state.delivered = true;
            return Ok(Flow::Continue);
        }
        Ok(Flow::End(RunStatus::Finished(report.reply.stop.clone())))
    }
}

/// Whether a turn ended because its request was too long.
fn is_overflow(error: &Error) -> bool {
    matches!(
        error,
        Error::Model {
            error: ModelError::ContextOverflow { .. },
            ..
        }
    )
}

/// Whether a turn ended because its request was given up.
pub(crate) fn is_cancelled(error: &Error) -> bool {
    matches!(
        error,
        Error::Model {
            error: ModelError::Cancelled,
            ..
        }
    )
}
