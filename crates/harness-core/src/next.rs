//! The chains that middlewares form, one for each hook.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::context::RunContext;
use crate::middleware::{ActiveCall, HookSet, Middleware, RunInput};
use crate::model::{ModelRequest, ModelResult};
use crate::outcome::{RunOutcome, ToolOutcome};
use crate::turn_end::TurnEnd;

/// The middlewares of a configuration, sorted once, and for each hook only those that implement it.
#[derive(Clone, Default)]
pub(crate) struct Chains {
    pub(crate) all: Arc<[Arc<dyn Middleware>]>,
    pub(crate) system_prompt: Arc<[Arc<dyn Middleware>]>,
    pub(crate) context: Arc<[Arc<dyn Middleware>]>,
    pub(crate) agent: Arc<[Arc<dyn Middleware>]>,
    pub(crate) turn: Arc<[Arc<dyn Middleware>]>,
    pub(crate) reasoning: Arc<[Arc<dyn Middleware>]>,
    pub(crate) model_call: Arc<[Arc<dyn Middleware>]>,
    pub(crate) acting: Arc<[Arc<dyn Middleware>]>,
    pub(crate) tool_call: Arc<[Arc<dyn Middleware>]>,
    pub(crate) after_turn: Arc<[Arc<dyn Middleware>]>,
    pub(crate) event: Arc<[Arc<dyn Middleware>]>,
    pub(crate) compaction: Arc<[Arc<dyn Middleware>]>,
}

impl Chains {
    pub(crate) fn new(mut middlewares: Vec<Arc<dyn Middleware>>) -> Self {
        // Stable, so ties keep the order of registration.
        middlewares.sort_by_key(|middleware| std::cmp::Reverse(middleware.order()));
        let with = |hook: HookSet| -> Arc<[Arc<dyn Middleware>]> {
            middlewares
                .iter()
                .filter(|m| m.hooks().contains(hook))
                .cloned()
                .collect()
        };
        Self {
            system_prompt: with(HookSet::SYSTEM_PROMPT),
            context: with(HookSet::CONTEXT),
            agent: with(HookSet::AGENT),
            turn: with(HookSet::TURN),
            reasoning: with(HookSet::REASONING),
            model_call: with(HookSet::MODEL_CALL),
            acting: with(HookSet::ACTING),
            tool_call: with(HookSet::TOOL_CALL),
            after_turn: with(HookSet::AFTER_TURN),
            event: with(HookSet::EVENT),
            compaction: with(HookSet::COMPACTION),
            all: middlewares.into(),
        }
    }
}

macro_rules! next {
    ($(#[$doc:meta])* $next:ident, $end:ident $(: $more:ident)?, $hook:ident, $input:ty => $output:ty) => {
        /// The innermost layer of a chain: what the middlewares are around.
        pub(crate) trait $end: $($more +)? Send + Sync {
            fn run<'f>(&'f self, cx: &'f RunContext, input: $input) -> BoxFuture<'f, $output>;
        }

        $(#[$doc])*
        ///
        /// Used up by [`run`](Self::run); clone it first to run it more than once.
        #[derive(Clone)]
        pub struct $next<'a> {
            chain: &'a [Arc<dyn Middleware>],
            end: &'a dyn $end,
        }

        impl<'a> $next<'a> {
            pub(crate) fn new(chain: &'a [Arc<dyn Middleware>], end: &'a dyn $end) -> Self {
                Self { chain, end }
            }

            /// Runs the layers inside.
            pub fn run<'f>(self, cx: &'f RunContext, input: $input) -> BoxFuture<'f, $output>
            where
                'a: 'f,
            {
                match self.chain.split_first() {
                    Some((outer, chain)) => outer.$hook(cx, input, Self { chain, end: self.end }),
                    None => self.end.run(cx, input),
                }
            }
        }

        impl std::fmt::Debug for $next<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($next), "({} layers inside)"), self.chain.len())
            }
        }
    };
}

next! {
    /// The rest of a run.
    NextAgent, AgentEnd, on_agent, RunInput => RunOutcome
}
next! {
    /// The rest of one turn. It is made once: running it again gives how it ended.
    NextTurn, TurnLayer, on_turn, u32 => TurnEnd
}
next! {
    /// The rest of one turn's reply, retries included.
    NextReasoning, ReasoningEnd, on_reasoning, ModelRequest => ModelResult
}
next! {
    /// The rest of one attempt.
    NextModel, ModelEnd, on_model_call, ModelRequest => ModelResult
}
next! {
    /// The rest of one batch.
    NextActing, ActingEnd, on_acting, Vec<ActiveCall> => Vec<ToolOutcome>
}
next! {
    /// The rest of one call.
    NextTool, ToolEnd: OnRecord, on_tool_call, ActiveCall => ToolOutcome
}

/// What can be put on record beside a call.
pub(crate) trait OnRecord {
    fn decide<'f>(
        &'f self,
        call: &'f ActiveCall,
        kind: &'f str,
        decide: BoxFuture<'f, Value>,
    ) -> BoxFuture<'f, Option<Value>>;
}

impl NextTool<'_> {
    /// Passes a decision about the call through the journal: it is made by `decide`, unless it is on record
    /// already, because the run is one that was cut off or is replayed. `kind` is a word for it, the same each
    /// time: `permission`.
    ///
    /// So what a person was asked once is not asked again, and what was decided is in the session. `None` if
    /// the journal failed: the run ends, and the call must not be made.
    pub async fn decide(
        &self,
        call: &ActiveCall,
        kind: &str,
        decide: BoxFuture<'_, Value>,
    ) -> Option<Value> {
        self.end.decide(call, kind, decide).await
    }
}
