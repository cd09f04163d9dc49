//! The loop: model, tools, model, until there is nothing left to do.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::batch::Batch;
use crate::config::{LoopConfig, ToolSet, hook_failed};
use crate::context::{Caller, EventSink, RunContext};
use crate::error::{Error, JournalError, ModelError};
use crate::event::{Event, MessageSource, RunEnd};
use crate::handle::RunHandle;
use crate::journal::{Effect, Journal, NoJournal, Record, Step, StepKind};
use crate::message::{
    AssistantMessage, AssistantPart, Message, MessageRef, StopReason, ToolCall, ToolResult,
    ToolResults, UserMessage,
};
use crate::middleware::{RunInput, TurnDecision, TurnReport};
use crate::model::{Model, ModelRequest, ThinkingLevel, ToolChoice};
use crate::next::{AgentEnd, NextAgent, NextReasoning};
use crate::outcome::{LimitReached, RunOutcome, RunStatus, ToolOutcome};
use crate::protocol;
use crate::queue::Queues;
use crate::repetition::Repetition;
use crate::turn::Turn;
use crate::usage::Usage;

/// What a run may be given beside its configuration and its input.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Who asks, and from where.
    pub caller: Caller,
    /// Cancels the run from outside. The run makes a child of it.
    pub cancellation: Option<CancellationToken>,
    /// Where this run's steps are recorded, instead of the configured journal.
    pub journal: Option<&'a dyn Journal>,
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
    } = options;
    let cancel = cancellation.map_or_else(CancellationToken::new, |outer| outer.child_token());
    let sink = EventSink::open();
    let queues = Arc::new(Queues::default());
    let run = Box::pin(drive(
        config.clone(),
        input,
        caller,
        cancel.clone(),
        journal,
        sink.clone(),
        Arc::clone(&queues),
    ));
    RunHandle::new(run, sink, cancel, queues)
}

async fn drive(
    config: LoopConfig,
    input: RunInput,
    caller: Caller,
    cancel: CancellationToken,
    journal: Option<&dyn Journal>,
    sink: EventSink,
    queues: Arc<Queues>,
) -> RunOutcome {
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
        Ok(_) => (String::new(), Some(engine.foreign("run"))),
        Err(error) => (String::new(), Some(error)),
    };
    let cx = RunContext::new(run_id.clone(), caller, clock, observers, sink, cancel);
    cx.emit(Event::RunStart {
        run: run_id,
        session: session.clone(),
        model: config.inner.model.info().id.clone(),
    });
    let mut outcome = match broken {
        Some(error) => State::new(&config, input.history).end(&cx, RunStatus::Failed(error.into())),
        None => {
            NextAgent::new(&config.inner.chains.agent, &engine)
                .run(&cx, input)
                .await
        }
    };
    outcome.undelivered.extend(queues.close());
    cx.emit(Event::RunEnd(RunEnd::new(&outcome, session)));
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
    let engine = Engine { config, journal: &journal, queues: &queues, passes: AtomicU32::new(0) };
    let cx = RunContext::new(
        run_id(config.inner.entropy.next()),
        caller,
        Arc::clone(&config.inner.clock),
        Arc::clone(&config.inner.chains.event),
        EventSink::closed(),
        cancellation,
    );
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

/// One run in progress: what all its parts need.
pub(crate) struct Engine<'a> {
    pub(crate) config: &'a LoopConfig,
    journal: &'a dyn Journal,
    queues: &'a Queues,
    /// How often the innermost layer ran: a middleware may run it again.
    passes: AtomicU32,
}

impl Engine<'_> {
    /// Passes a step through the journal.
    pub(crate) async fn step(
        &self,
        name: &str,
        kind: StepKind<'_>,
        effect: Effect<'_>,
    ) -> Result<Record, JournalError> {
        self.journal.run(Step::new(name, kind), effect).await
    }

    async fn value(
        &self,
        name: &str,
        read: impl FnOnce(&Self) -> Record + Send,
    ) -> Result<Record, JournalError> {
        self.step(name, StepKind::Value, async { read(self) }.boxed())
            .await
    }

    /// The time, on record.
    pub(crate) async fn now(&self, name: &str) -> Result<Duration, JournalError> {
        match self
            .value(name, |engine| Record::Time(engine.config.inner.clock.now()))
            .await?
        {
            Record::Time(time) => Ok(time),
            _ => Err(self.foreign(name)),
        }
    }

    /// A random number, on record.
    pub(crate) async fn random(&self, name: &str) -> Result<u64, JournalError> {
        match self
            .value(name, |engine| {
                Record::Random(engine.config.inner.entropy.next())
            })
            .await?
        {
            Record::Random(random) => Ok(random),
            _ => Err(self.foreign(name)),
        }
    }

    async fn messages(
        &self,
        name: &str,
        take: impl FnOnce(&Queues) -> Vec<UserMessage> + Send,
    ) -> Result<Vec<UserMessage>, JournalError> {
        match self
            .value(name, |engine| Record::Messages(take(engine.queues)))
            .await?
        {
            Record::Messages(messages) => Ok(messages),
            _ => Err(self.foreign(name)),
        }
    }

    /// The error for a record that cannot be the answer to its step.
    pub(crate) fn foreign(&self, name: &str) -> JournalError {
        JournalError {
            step: name.to_owned(),
            message: "the record is of another kind: it is from another run or version".to_owned(),
        }
    }
}

impl AgentEnd for Engine<'_> {
    fn run<'f>(&'f self, cx: &'f RunContext, input: RunInput) -> BoxFuture<'f, RunOutcome> {
        Box::pin(async move {
            let pass = self.passes.fetch_add(1, Ordering::Relaxed);
            let prefix = if pass == 0 {
                String::new()
            } else {
                format!("pass{pass}/")
            };
            let mut state = State::new(self.config, protocol::repair(input.history));
            let status = match self.turns(cx, &mut state, input.messages, &prefix).await {
                Ok(status) => status,
                Err(Error::Model {
                    error: ModelError::Cancelled,
                    ..
                }) => RunStatus::Cancelled,
                Err(_) if cx.cancellation().is_cancelled() => RunStatus::Cancelled,
                Err(error) => RunStatus::Failed(error),
            };
            state.end(cx, status)
        })
    }
}

/// What the loop does after a turn.
enum Flow {
    Continue,
    End(RunStatus),
}

impl Engine<'_> {
    async fn turns(
        &self,
        cx: &RunContext,
        state: &mut State,
        messages: Vec<UserMessage>,
        prefix: &str,
    ) -> Result<RunStatus, Error> {
        state.say(cx, messages, MessageSource::Prompt);
        let started = self.now(&format!("{prefix}start")).await?;
        loop {
            let number = state.turns + 1;
            let name = |part: &str| format!("{prefix}t{number}/{part}");
            if cx.cancellation().is_cancelled() {
                return Ok(RunStatus::Cancelled);
            }
            let now = self.now(&name("time")).await?;
            if let Some(limit) = self.limit(state, now.saturating_sub(started)) {
                return Ok(RunStatus::Limit(limit));
            }
            let mode = self.config.inner.queue_mode;
            let steering = self
                .messages(&name("steer"), |q| q.take_steering(mode))
                .await?;
            state.say(cx, steering, MessageSource::Steer);
            if !state.has_something_to_answer() {
                return Err(Error::EmptyInput);
            }

            cx.emit(Event::TurnStart { turn: number });
            let time_left = self
                .config
                .inner
                .limits
                .max_time
                .map(|max| max.saturating_sub(now.saturating_sub(started)));
            match self
                .turn(cx, state, &format!("{prefix}t{number}"), time_left)
                .await?
            {
                Flow::Continue => {}
                Flow::End(status) => return Ok(status),
            }
        }
    }

    fn limit(&self, state: &State, elapsed: Duration) -> Option<LimitReached> {
        let limits = &self.config.inner.limits;
        if state.turns >= limits.max_turns {
            return Some(LimitReached::Turns {
                max: limits.max_turns,
            });
        }
        if let Some(max) = limits.max_tokens
            && state.usage.total() >= max
        {
            return Some(LimitReached::Tokens {
                max,
                used: state.usage.total(),
            });
        }
        if let (Some(max), Some(used)) = (limits.max_cost, state.cost)
            && used >= max
        {
            return Some(LimitReached::Cost { max, used });
        }
        limits
            .max_time
            .filter(|max| elapsed >= *max)
            .map(|max| LimitReached::Time {
                max_seconds: max.as_secs_f64(),
            })
    }

    /// One turn, under the run's limit of time if there is one.
    async fn turn(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
        time_left: Option<Duration>,
    ) -> Result<Flow, Error> {
        let Some(time_left) = time_left else {
            return self.turn_inner(cx, state, name).await;
        };
        // The limit acts as a cancel: tools end, calls get their results, the history stays whole.
        let token = cx.cancellation().child_token();
        let limited = cx.with_cancellation(token.clone());
        let mut timer = self.config.inner.clock.sleep(time_left).fuse();
        let mut timed_out = false;
        let result = {
            let mut turn = Box::pin(self.turn_inner(&limited, state, name)).fuse();
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
        let journal_broke = matches!(result, Err(Error::Journal(_)));
        if timed_out && !journal_broke && !cx.cancellation().is_cancelled() {
            let max = self.config.inner.limits.max_time.unwrap_or_default();
            return Ok(Flow::End(RunStatus::Limit(LimitReached::Time {
                max_seconds: max.as_secs_f64(),
            })));
        }
        result
    }

    async fn turn_inner(
        &self,
        cx: &RunContext,
        state: &mut State,
        name: &str,
    ) -> Result<Flow, Error> {
        let request = self.request(cx, state).await?;
        let turn = Turn::new(self, name, state.turns + 1);
        let reply = NextReasoning::new(&self.config.inner.chains.reasoning, &turn)
            .run(cx, request)
            .await;
        let mut reply = reply.map_err(|error| turn.error(error))?;
        let limits = &self.config.inner.limits;
        if reply.is_empty() {
            state.count(&reply);
            return match reply.stop {
                StopReason::Length => Ok(Flow::End(RunStatus::Limit(LimitReached::Output))),
                StopReason::ContentFilter => Err(Error::ContentFilter),
                _ => Err(Error::EmptyReplies {
                    replies: limits.max_empty_replies,
                }),
            };
        }
        state.accept(&mut reply);
        let message = MessageRef::new(Message::Assistant(reply.clone()));
        state.push(message.clone());
        cx.emit(Event::Reply {
            turn: state.turns + 1,
            message,
        });
        let reply = Arc::new(reply);

        let calls: Vec<ToolCall> = reply.tool_calls().cloned().collect();
        let mut end = None;
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
            let results = state.take_results(&batch, outcomes, limits.result_bytes);
            if let Some(error) = batch.error() {
                end = Some(RunStatus::Failed(error));
            } else if reply.stop == StopReason::ContentFilter {
                end = Some(RunStatus::Failed(Error::ContentFilter));
            } else if cx.cancellation().is_cancelled() {
                end = Some(RunStatus::Cancelled);
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
        state.turns += 1;
        cx.emit(Event::TurnEnd {
            turn: state.turns,
            stop: reply.stop.clone(),
            usage: reply.usage,
        });
        if let Some(status) = end {
            return Ok(Flow::End(status));
        }
        let report = TurnReport {
            turn: state.turns,
            reply,
            results,
        };
        self.after_turn(cx, state, &report, name).await
    }

    /// The request of the coming turn.
    async fn request(&self, cx: &RunContext, state: &mut State) -> Result<ModelRequest, Error> {
        let inner = &self.config.inner;
        let prompt = self.config.assemble_system_prompt(cx).await?;
        let mut messages = Arc::clone(&state.messages);
        for middleware in &*inner.chains.context {
            match middleware.on_context(cx, messages.as_ref().clone()).await {
                Ok(after) => messages = Arc::new(after),
                Err(error) => hook_failed(cx, &**middleware, "on_context", error.0)?,
            }
        }
        let system = state.system(prompt.text());
        let mut request = ModelRequest::new(Arc::clone(&state.model), Vec::new());
        request.messages = messages;
        request.tools = Arc::clone(&state.tools.specs);
        request.tool_choice = ToolChoice::Auto;
        request.thinking = state.thinking;
        request.temperature = inner.temperature;
        request.cache_key = Some(cx.session().map_or_else(|| cx.run_id().into(), Into::into));
        let fixed_bytes =
            system.as_ref().map_or(0, |s| s.len()) + request.tools.approximate_bytes();
        request.max_output_tokens = state.output_budget(fixed_bytes, inner.max_output_tokens)?;
        request.system = system;
        Ok(request)
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
            let one = match middleware.after_turn(cx, report).await {
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
        let added = state.say(cx, decision.messages, MessageSource::Middleware);
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
        if state.say(cx, queued, MessageSource::FollowUp) {
            return Ok(Flow::Continue);
        }
        Ok(Flow::End(RunStatus::Finished(report.reply.stop.clone())))
    }
}

/// What changes from turn to turn.
struct State {
    messages: Arc<Vec<MessageRef>>,
    before: usize,
    /// Estimated bytes of all messages.
    bytes: usize,
    call_ids: HashSet<String>,
    usage: Usage,
    cost: Option<f64>,
    turns: u32,
    cut_replies: u32,
    model: Arc<dyn Model>,
    tools: ToolSet,
    thinking: ThinkingLevel,
    system: Option<Arc<str>>,
    repetition: Repetition,
}

impl State {
    fn new(config: &LoopConfig, history: Vec<MessageRef>) -> Self {
        let mut call_ids = HashSet::new();
        for message in &history {
            if let Message::Assistant(reply) = &**message {
                call_ids.extend(reply.tool_calls().map(|call| call.id.clone()));
            }
        }
        Self {
            before: history.len(),
            bytes: history
                .iter()
                .map(|message| message.approximate_bytes())
                .sum(),
            messages: Arc::new(history),
            call_ids,
            usage: Usage::default(),
            cost: Some(0.0),
            turns: 0,
            cut_replies: 0,
            model: Arc::clone(&config.inner.model),
            tools: config.inner.tools.clone(),
            thinking: config.inner.thinking,
            system: None,
            repetition: Repetition::default(),
        }
    }

    fn push(&mut self, message: MessageRef) {
        self.bytes += message.approximate_bytes();
        // Copies only while somebody still holds an earlier request.
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Adds messages of the user's side. Whether there was any that was not blank.
    fn say(&mut self, cx: &RunContext, messages: Vec<UserMessage>, source: MessageSource) -> bool {
        let mut any = false;
        for mut message in messages {
            message.content.retain(|part| match part {
                crate::message::UserPart::Text(text) => !text.text.trim().is_empty(),
                crate::message::UserPart::Image(_) => true,
            });
            if message.is_blank() {
                continue;
            }
            any = true;
            let message = MessageRef::new(Message::User(message));
            self.push(message.clone());
            cx.emit(Event::UserMessage { message, source });
        }
        any
    }

    fn has_something_to_answer(&self) -> bool {
        self.messages
            .last()
            .is_some_and(|last| !matches!(&**last, Message::Assistant(_)))
    }

    /// The system prompt's text, shared with the last turn's if it did not change.
    fn system(&mut self, text: String) -> Option<Arc<str>> {
        if text.trim().is_empty() {
            self.system = None;
        } else if self.system.as_deref() != Some(text.as_str()) {
            self.system = Some(text.into());
        }
        self.system.clone()
    }

    /// How many tokens a reply may have, so that it fits the window beside the conversation.
    ///
    /// `None` leaves it to the provider: there is room for all that the model can write.
    fn output_budget(&self, fixed_bytes: usize, wanted: Option<u64>) -> Result<Option<u64>, Error> {
        /// Bytes of a token, on the low side of what code and English take.
        const BYTES_PER_TOKEN: u64 = 3;
        let info = self.model.info();
        let most = match (wanted, info.max_output_tokens) {
            (Some(wanted), Some(cap)) => Some(wanted.min(cap)),
            (wanted, cap) => wanted.or(cap),
        };
        let (Some(window), Some(most)) = (info.context_window, most) else {
            return Ok(wanted);
        };
        let fixed = fixed_bytes as u64 / BYTES_PER_TOKEN;
        if fixed >= window {
            return Err(Error::Config(format!(
                "the system prompt and the tools alone need about {fixed} tokens, and the context \
                 window of {} has {window}",
                info.id
            )));
        }
        let room = window
            .saturating_sub(fixed + self.bytes as u64 / BYTES_PER_TOKEN)
            .max(1);
        Ok(if room < most {
            Some(room)
        } else {
            wanted.map(|_| most)
        })
    }

    fn count(&mut self, reply: &AssistantMessage) {
        if let Some(usage) = &reply.usage {
            self.usage.add(usage);
        }
        // A fallback may have answered, whose prices are not at hand: then the cost is not known.
        let prices = Some(self.model.info()).filter(|info| info.id == reply.model);
        let cost = match (prices.and_then(|info| info.prices), &reply.usage) {
            (Some(prices), Some(usage)) => Some(prices.cost(usage)),
            _ => None,
        };
        self.cost = self.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }

    /// Takes a reply into account, and makes its call ids unique in the conversation.
    fn accept(&mut self, reply: &mut AssistantMessage) {
        self.count(reply);
        for part in &mut reply.content {
            if let AssistantPart::ToolCall(call) = part {
                let given = call.id.clone();
                let mut copy = 1_u32;
                while !self.call_ids.insert(call.id.clone()) {
                    copy += 1;
                    call.id = format!("{given}_{copy}");
                }
            }
        }
    }

    fn take_results(
        &mut self,
        batch: &Batch<'_>,
        outcomes: Vec<ToolOutcome>,
        max_bytes: usize,
    ) -> Arc<ToolResults> {
        let results = batch
            .calls()
            .iter()
            .zip(outcomes)
            .map(|(call, outcome)| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                outcome: Arc::new(crate::batch::bounded(outcome, max_bytes)),
            })
            .collect();
        let results = ToolResults { results };
        self.push(MessageRef::new(Message::ToolResults(results.clone())));
        Arc::new(results)
    }

    fn end(self, cx: &RunContext, status: RunStatus) -> RunOutcome {
        RunOutcome {
            run_id: cx.run_id().to_owned(),
            status,
            history_before: self.before,
            usage: self.usage,
            cost: self.cost,
            turns: self.turns,
            undelivered: Vec::new(),
            history: Arc::unwrap_or_clone(self.messages),
        }
    }
}
