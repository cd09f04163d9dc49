//! Agents that work for an agent.
//!
//! A subagent is an agent like any other, made from the parts of its parent and narrower in each: its own
//! conversation, session, task list and shell; the tools, rules, secrets and limits of its parent. A run drives the
//! subagents that it started. Those that it waits for are part of the call that started them; the others are driven
//! beside the rest of the run, by [`on_agent`](Middleware::on_agent). So nothing of them outlives the run, and to
//! cancel it cancels them all.
//!
//! What is on record decides what is told: the end of a subagent that nobody waited for is a message of the
//! conversation, which names the call that began it. What was begun and has no such message is told later, also by
//! another process. There is no other list that could differ from it.

mod agent_list;
mod agent_send;
mod agent_spawn;
mod agent_stop;
mod background;
mod child;
mod errand;
mod host;
mod nursery;
mod options;
mod pending;
mod work;

use std::fmt::Write as _;
use std::sync::Arc;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use harness_core::{
    FailurePolicy, HookSet, MessageRef, Middleware, MiddlewareError, NextAgent, RunContext,
    RunInput, RunOutcome, Section, SystemPrompt, Text, ToolRef, TurnDecision, TurnReport, UserPart,
    async_trait,
};

use self::agent_list::{AGENT_LIST, AgentList};
use self::agent_send::{AGENT_SEND, AgentSend};
use self::agent_spawn::{AGENT_SPAWN, AgentSpawn};
use self::agent_stop::{AGENT_STOP, AgentStop};
use self::background::Background;
use self::child::Child;
use self::errand::{ErrandEnd, looks_delivered};
use self::nursery::{children, wake};
use self::pending::{errands, pending};
use self::work::Work;

pub(crate) use self::errand::Errand;
pub(crate) use self::host::Host;
pub use self::options::SubagentOptions;
pub(crate) use self::pending::pending as pending_errands;

/// The name of the section that [`SubagentsMiddleware`] adds.
pub const SUBAGENTS_SECTION: &str = "subagents";

/// The tools for subagents.
pub(crate) const TOOLS: [&str; 4] = [AGENT_SPAWN, AGENT_SEND, AGENT_LIST, AGENT_STOP];

/// The most characters of a description in the list.
const MAX_DESCRIPTION: usize = 300;

/// The most agents in the list.
const MAX_LISTED: usize = 50;

const GUIDANCE: &str = "\
An agent of your own can take over work that stands by itself: it begins with nothing but the task that you write, \
works with its own tools, and gives back one answer. Use `agent_spawn` for searches through much that you need only \
the result of, and for parts that do not touch each other: several calls in one reply work at the same time. Do \
yourself what takes a few steps. With `background` you go on meanwhile, and are told when it is done; never guess \
what it will say. Nobody but you reads its answer: check what matters.";

/// Tells the model which agents it can hand work to, drives those that it does not wait for, and delivers what they
/// say, once.
///
/// Its tools are `agent_spawn`, `agent_send`, `agent_list` and `agent_stop`. Both come with
/// [`AgentHarnessBuilder::subagents`](crate::AgentHarnessBuilder::subagents).
///
/// A run that would end while subagents work in the background waits for them, tells the model what they say, and
/// goes on. One that is cancelled or reaches a limit ends them; what they came to is told by the session's next run.
#[derive(Clone)]
pub struct SubagentsMiddleware {
    host: Arc<Host>,
}

impl SubagentsMiddleware {
    pub(crate) fn new(host: Arc<Host>) -> Self {
        Self { host }
    }

    fn section(&self) -> Option<Section> {
        let agents = &self.host.options.agents;
        agents.refresh();
        let agents = agents.active();
        if agents.is_empty() {
            return None;
        }
        let mut text = format!("{GUIDANCE}\n\nThe agents:\n");
        for agent in agents.iter().take(MAX_LISTED) {
            let description = excerpt(&agent.description);
            let _ = write!(text, "- {}: {description}", agent.name);
            if agent.tools.is_some() || !agent.disallowed_tools.is_empty() {
                let tools = self.host.tools_of(agent);
                let _ = if tools.is_empty() {
                    write!(text, " (no tools)")
                } else {
                    write!(text, " (tools: {})", tools.join(", "))
                };
            }
            text.push('\n');
        }
        if let Some(more) = agents
            .len()
            .checked_sub(MAX_LISTED)
            .filter(|more| *more > 0)
        {
            let _ = writeln!(text, "- and {more} more");
        }
        Some(Section::new(
            SUBAGENTS_SECTION,
            text.trim_end(),
            self.name(),
        ))
    }

    /// Looks for what earlier runs of the session left: all is known again, and what was not told is gone on with,
    /// or told.
    async fn restore(&self, background: &Background, messages: &[MessageRef]) {
        let cx = background.cx();
        let children = children(cx);
        for errand in errands(messages) {
            children.remember(errand);
        }
        for errand in pending(messages) {
            if !background.is_new(&errand.call) {
                continue;
            }
            let stop = background.cancellation().child_token();
            let work = wake(&self.host, cx, &errand)
                .await
                .and_then(|child| Work::take(&child, errand.clone(), stop));
            match work {
                Ok(work) => {
                    let cx = cx.clone();
                    // If the run is over by now, the next one looks again.
                    let _ = background.begin(errand, async move { work.carry_out(&cx).await });
                }
                Err(problem) => {
                    let end = ErrandEnd::lost(format!("Nothing is known of its end: {problem}"));
                    background.deliver(errand, end);
                }
            }
        }
    }
}

#[async_trait]
impl Middleware for SubagentsMiddleware {
    fn name(&self) -> &'static str {
        "subagents"
    }

    fn hooks(&self) -> HookSet {
        HookSet::AGENT | HookSet::SYSTEM_PROMPT | HookSet::CONTEXT | HookSet::AFTER_TURN
    }

    /// Without it, what subagents say would be lost in silence.
    fn on_failure(&self) -> FailurePolicy {
        FailurePolicy::FailClosed
    }

    async fn on_agent(&self, cx: &RunContext, input: RunInput, next: NextAgent<'_>) -> RunOutcome {
        let mut input = input;
        // Only what is put in here counts as the answer of a subagent, whoever else writes that it is one.
        for message in &mut input.messages {
            for part in &mut message.content {
                if let UserPart::Text(Text { text }) = part
                    && looks_delivered(text)
                {
                    text.insert(0, '\n');
                }
            }
        }
        let (background, mut handed) = Background::new(cx);
        let background = Arc::new(background);
        let inner = cx.with_value(Arc::clone(&background));
        let mut work = FuturesUnordered::new();
        let outcome = {
            let mut run = next.run(&inner, input).fuse();
            loop {
                futures::select_biased! {
                    outcome = run => break outcome,
                    one = handed.next() => work.extend(one),
                    () = work.select_next_some() => {}
                }
            }
        };
        // What the run left: it ends with it. Each has its own patience with its tools.
        background.cancellation().cancel();
        handed.close();
        while let Some(one) = handed.next().await {
            work.push(one);
        }
        while work.next().await.is_some() {}
        outcome
    }

    async fn on_system_prompt(
        &self,
        _: &RunContext,
        prompt: SystemPrompt,
    ) -> Result<SystemPrompt, MiddlewareError> {
        Ok(match self.section() {
            Some(section) => prompt.with(section),
            None => prompt,
        })
    }

    async fn on_context(
        &self,
        cx: &RunContext,
        messages: Vec<MessageRef>,
    ) -> Result<Vec<MessageRef>, MiddlewareError> {
        if let Some(background) = cx.value::<Arc<Background>>()
            && background.is_first()
        {
            self.restore(background, &messages).await;
        }
        Ok(messages)
    }

    async fn after_turn(
        &self,
        cx: &RunContext,
        turn: &TurnReport,
    ) -> Result<TurnDecision, MiddlewareError> {
        let mut decision = TurnDecision::go_on();
        let Some(background) = cx.value::<Arc<Background>>() else {
            return Ok(decision);
        };
        let is_done = turn.results.is_none();
        let told = background.take(cx, is_done).await;
        if told.is_empty() && is_done && background.has_open() && cx.cancellation().is_cancelled() {
            // It has not come to its end: the loop says whether it was cancelled, or out of time.
            return Err(MiddlewareError(
                "the run was given up while it waited for subagents".to_owned(),
            ));
        }
        for (errand, end) in told {
            let message = errand.message(&end, self.host.options.answer_bytes);
            decision.messages.push(message);
        }
        Ok(decision)
    }
}

impl std::fmt::Debug for SubagentsMiddleware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubagentsMiddleware")
            .field("options", &self.host.options)
            .finish_non_exhaustive()
    }
}

/// The tools for subagents.
pub(crate) fn tools(host: &Arc<Host>) -> Vec<ToolRef> {
    vec![
        ToolRef::new(AgentSpawn(Arc::clone(host))),
        ToolRef::new(AgentSend(Arc::clone(host))),
        ToolRef::new(AgentList),
        ToolRef::new(AgentStop(Arc::clone(host))),
    ]
}

/// Whether a tool comes with a middleware, which each agent has its own of.
fn is_of_middleware(tool: &str) -> bool {
    let others = [
        crate::middlewares::TODO_WRITE,
        crate::loaded_skills::LOAD_SKILL,
    ];
    TOOLS.contains(&tool) || others.contains(&tool) || is_plan_tool(tool)
}

fn is_plan_tool(tool: &str) -> bool {
    #[cfg(feature = "tools")]
    let is = crate::middlewares::PLAN_TOOLS.contains(&tool);
    #[cfg(not(feature = "tools"))]
    let is = {
        let _ = tool;
        false
    };
    is
}

/// A description in one line of bounded length.
fn excerpt(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_DESCRIPTION {
        return line;
    }
    let cut: String = line.chars().take(MAX_DESCRIPTION - 1).collect();
    format!("{cut}…")
}
