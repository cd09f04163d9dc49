//! The spans and metrics of an agent harness, which the conventions for generative AI lack.

use crate::semconv::{CONVERSATION_ID, PROVIDER_NAME, REQUEST_MODEL, TOOL_CALL_ID, TOOL_NAME};

crate::schema! {
    /// What a harness does around models and tools.
    pub static HARNESS = "harness", version 1;

    /// A command of the program, from its start to its end.
    span command(Command<'a>) -> CommandEnd = "harness.command {command}" {
        kind: Internal; level: Info; parents: [root];
        start {
            /// Which: `run`.
            command: &'a str = "harness.command", low;
        }
        end {}
    }

    /// A harness is put together.
    span init(Init<'a>) -> InitEnd = "harness.init" {
        kind: Internal; level: Info; parents: [any];
        start {
            /// The harness's version.
            version: &'a str = "harness.version", low;
        }
        end {
            /// How many tools are on offer.
            tools: usize = "harness.init.tools", low;
            /// How many skills are there.
            skills: usize = "harness.init.skills", low;
            /// How many middlewares act.
            middlewares: usize = "harness.init.middlewares", low;
        }
    }

    /// A run, with all that middlewares make of it. The agent itself is `invoke_agent`, inside.
    span run(Run<'a>) -> RunEnd<'a> = "harness.run" {
        kind: Internal; level: Info; parents: [any];
        start {
            /// The run's id.
            run: &'a str = "harness.run.id", high;
        }
        start_optional {
            /// The conversation: the session's id.
            conversation: &'a str = CONVERSATION_ID, high;
            /// Whether it goes on where another one was cut off.
            resumed: bool = "harness.run.resumed", low;
        }
        end {
            /// How it ended: `finished`, `limit`, `stopped`, `cancelled`, `failed`.
            outcome: &'a str = "harness.run.outcome", low;
            /// Turns that were completed.
            turns: u32 = "harness.run.turns", high;
        }
        end_optional<'a> {
            /// What it cost, in US dollars, if the models' prices are known.
            cost: f64 = "harness.cost", high;
            /// Which limit ended it.
            limit: &'a str = "harness.run.limit", low;
            /// How often the conversation was made shorter.
            compactions: u32 = "harness.run.compactions", high;
        }
        events {
            /// The run began.
            started(Started) {}
            /// A turn ended.
            progress(Progress) {
                /// The turn's number, from 1.
                turn: u32 = "harness.turn", high;
            }
        }
        error_when outcome in ["failed"];
    }

    /// A run has begun. It ends at once, and so is seen while the run goes on: a run's own span is exported at its
    /// end.
    span run_started(RunStarted<'a>) -> RunStartedEnd = "harness.run.started" {
        kind: Internal; level: Info; parents: [run];
        start {
            /// The run's id.
            run: &'a str = "harness.run.id", high;
        }
        start_optional {
            /// The conversation: the session's id.
            conversation: &'a str = CONVERSATION_ID, high;
            /// Who serves the model that it begins with.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that it begins with.
            model: &'a str = REQUEST_MODEL, low;
        }
        end {}
    }

    /// One reply and the calls that it asked for.
    span turn(Turn) -> TurnEnd<'a> = "harness.turn" {
        kind: Internal; level: Info; parents: [invoke_agent, hook];
        start {
            /// The turn's number, from 1.
            turn: u32 = "harness.turn", high;
        }
        end {
            /// What came of it: `continues`, `ended`, `cancelled`, `failed`.
            outcome: &'a str = "harness.turn.outcome", low;
        }
        error_when outcome in ["failed"];
    }

    /// The system prompt of a turn is put together.
    span prompt(Prompt) -> PromptEnd<'a> = "harness.prompt" {
        kind: Internal; level: Info; parents: [turn, hook];
        start {}
        end {
            /// How many sections it has.
            sections: usize = "harness.prompt.sections", low;
            /// Its length in bytes.
            bytes: usize = "harness.prompt.bytes", high;
            /// The length of what stays the same from turn to turn, at its beginning.
            prefix_bytes: usize = "harness.prompt.prefix_bytes", high;
            /// A digest of that beginning: as long as it is the same, a provider's cache can hold.
            prefix_hash: &'a str = "harness.prompt.prefix_hash", high;
        }
    }

    /// One attempt at a reply, with all that middlewares make of it. The requests are `chat`, inside.
    span attempt(Attempt) -> AttemptEnd<'a> = "harness.attempt" {
        kind: Internal; level: Info; parents: [turn, plan, hook];
        start {
            /// The attempt's number within the turn, from 1.
            attempt: u32 = "harness.attempt", low;
        }
        end {
            /// How it ended: `succeeded`, `failed`, `cancelled`.
            outcome: &'a str = "harness.attempt.outcome", low;
        }
        error_when outcome in ["failed"];
    }

    /// The wait before the next attempt.
    span retry(Retry<'a>) -> RetryEnd = "harness.retry" {
        kind: Internal; level: Info; parents: [turn, plan, hook];
        start {
            /// The attempt that failed.
            attempt: u32 = "harness.attempt", low;
            /// Which error ended it.
            reason: &'a str = "harness.retry.reason", low;
            /// How long the wait is to be, in seconds.
            delay: f64 = "harness.retry.delay", high;
        }
        end {}
    }

    /// One call, with all that middlewares make of it: refusals, approvals. The tool itself is
    /// `execute_tool`, inside, if it came so far. A run that goes on with open calls makes them before its first
    /// turn; a program may make one outside of runs.
    span tool_call(ToolCall<'a>) -> ToolCallEnd<'a> = "harness.tool_call" {
        kind: Internal; level: Info; parents: [root, turn, invoke_agent, execute_tool, hook];
        start {
            /// The tool's name.
            tool: &'a str = TOOL_NAME, low;
            /// The call's id.
            call_id: &'a str = TOOL_CALL_ID, high;
        }
        end {
            /// How it ended: `done`, `denied`, `failed`, `cancelled`, `interrupted`.
            outcome: &'a str = "harness.tool.outcome", low;
        }
        end_optional<'a> {
            /// Who refused it.
            denied_by: &'a str = "harness.tool.denied_by", low;
        }
        events {
            /// It was decided whether the call may run.
            permission(Permission<'a>) {
                /// What was decided: `allow`, `deny`.
                decision: &'a str = "harness.permission.decision", low;
                /// By whose word: `rule`, `person`, `nobody`, `hook`.
                by: &'a str = "harness.permission.by", low;
                /// Where the rule stands that decided or asked: `built-in`, `user`, …; `none` if there was none.
                layer: &'a str = "harness.permission.layer", low;
                /// How far a person's yes goes: `once`, `run`, `project`; `none` if there was none.
                scope: &'a str = "harness.permission.scope", low;
            }
        }
        error_when outcome in ["denied", "failed", "cancelled", "interrupted"];
    }

    /// One hook of one middleware, with what it is around.
    span hook(Hook<'a>) -> HookEnd<'a> = "harness.hook {middleware}.{hook}" {
        kind: Internal; level: Debug; parents: [any];
        start {
            /// The middleware's name.
            middleware: &'a str = "harness.middleware", low;
            /// The hook's name.
            hook: &'a str = "harness.hook", low;
        }
        end {
            /// How it ended: `done`, `failed`.
            outcome: &'a str = "harness.hook.outcome", low;
        }
        error_when outcome in ["failed"];
    }

    /// A summary is written that is to stand for a part of the conversation.
    span compaction(Compaction<'a>) -> CompactionEnd<'a> = "harness.compaction" {
        kind: Internal; level: Info; parents: [any];
        start {
            /// Why: `threshold`, `overflow`, `manual`, `branch`.
            reason: &'a str = "harness.compaction.reason", low;
            /// Whether the run goes on meanwhile.
            background: bool = "harness.compaction.background", low;
        }
        start_optional {
            /// Tokens of the request before, as far as they are known.
            tokens_before: u64 = "harness.compaction.tokens_before", high;
        }
        end {
            /// What came of it: `summarised`, `failed`, `cancelled`.
            outcome: &'a str = "harness.compaction.outcome", low;
            /// How many messages the summary was to stand for.
            messages: usize = "harness.compaction.messages", high;
        }
        error_when outcome in ["failed"];
    }

    /// Entries are added to a session.
    span session_write(SessionWrite<'a>) -> SessionWriteEnd = "harness.session.write" {
        kind: Internal; level: Info; parents: [any];
        start {
            /// What is written: the kind of the entry.
            entry: &'a str = "harness.session.entry", low;
        }
        end {}
    }

    /// A skill is loaded.
    span skill(Skill<'a>) -> SkillEnd<'a> = "harness.skill {skill}" {
        kind: Internal; level: Info; parents: [any];
        start {
            /// The skill's name.
            skill: &'a str = "harness.skill.name", low;
            /// Who asked: `model`, `user`.
            by: &'a str = "harness.skill.by", low;
        }
        end {
            /// How it ended: `loaded`, `again` (it is there already), `failed`.
            outcome: &'a str = "harness.skill.outcome", low;
        }
        end_optional<'a> {
            /// The layer that it came from.
            layer: &'a str = "harness.skill.layer", low;
            /// A digest of its text.
            digest: &'a str = "harness.skill.digest", high;
        }
        error_when outcome in ["failed"];
    }

    metrics {
        /// What requests cost, where the models' prices are known.
        cost(Cost<'a>) = "harness.cost", Counter, "{USD}", [] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// How often a request was made again.
        retries(Retries<'a>) = "harness.retries", Counter, "{retry}", [] {
            /// The error that was before it.
            reason: &'a str = "harness.retry.reason", low;
        }

        /// Which part of a request's tokens came from the provider's cache.
        cache_hit_ratio(CacheHitRatio<'a>) = "harness.cache.hit_ratio", Histogram, "1",
            [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// How long runs take.
        run_duration(RunDuration<'a>) = "harness.run.duration", Histogram, "s",
            [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2, 3600.0] {
            /// How they ended.
            outcome: &'a str = "harness.run.outcome", low;
        }
    }
}
