//! What the compiler must hold: what can cross threads, and what can be a trait object.

use harness_core::{
    ActiveCall, AssistantMessage, Attributes, Caller, CancellationToken, Clock, Entropy, Error,
    Event, HookSet, Journal, JournalError, Limits, LoopConfig, LoopConfigBuilder, MemoryJournal,
    Message, MessageRef, Middleware, Model, ModelError, ModelEvent, ModelInfo, ModelRequest,
    ModelStream, NextActing, NextAgent, NextModel, NextReasoning, NextTool, Record, ReplyBuilder,
    RetryPolicy, RunContext, RunControl, RunError, RunHandle, RunInput, RunOptions, RunOutcome,
    SystemPrompt, ToolContext, ToolOutcome, ToolRef, ToolSpecs, TurnDecision, TurnReport,
    UserMessage,
};

macro_rules! assert_all {
    ($($type:ty),* $(,)? : $($bound:tt)+) => {
        const _: () = {
            const fn holds<T: ?Sized + $($bound)+>() {}
            $(holds::<$type>();)*
        };
    };
}

assert_all!(
    ActiveCall, AssistantMessage, Attributes, Caller, CancellationToken, Error, Event, HookSet,
    JournalError, Limits, LoopConfig, LoopConfigBuilder, MemoryJournal, Message, MessageRef,
    ModelError, ModelEvent, ModelInfo, ModelRequest, Record, ReplyBuilder, RetryPolicy, RunContext,
    RunControl, RunError, RunInput, RunOutcome, SystemPrompt, ToolContext, ToolOutcome, ToolRef,
    ToolSpecs, TurnDecision, TurnReport, UserMessage: Send + Sync + 'static
);
assert_all!(RunHandle<'static>, ModelStream: Send + 'static);
assert_all!(
    RunOptions<'static>, NextActing<'static>, NextAgent<'static>, NextModel<'static>,
    NextReasoning<'static>, NextTool<'static>: Send + Sync
);
assert_all!(
    dyn Model, dyn Middleware, dyn Clock, dyn Entropy, dyn Journal: Send + Sync
);
// A handle can be moved between two polls.
assert_all!(RunHandle<'static>: Unpin);
// What middlewares pass on can be passed on twice.
assert_all!(
    NextActing<'static>, NextAgent<'static>, NextModel<'static>, NextReasoning<'static>,
    NextTool<'static>, ModelRequest, ActiveCall, RunInput, RunContext: Clone
);
