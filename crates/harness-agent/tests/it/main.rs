//! The agent, from outside.

#![cfg(test)]

mod agent_declarations;
mod assembly;
#[cfg(feature = "tools")]
mod at_path;
mod branch_summary;
mod compaction;
mod compaction_background;
mod compaction_carried;
mod compaction_runs;
mod compaction_stage;
#[cfg(feature = "tools")]
mod decisions_on_record;
mod examples;
mod extension;
mod full_agent;
mod instruction_files;
mod kill;
mod loaded_skills;
#[cfg(feature = "tools")]
mod permitted;
#[cfg(feature = "tools")]
mod permitted_files;
#[cfg(feature = "tools")]
mod permitted_searches;
mod plan_calls;
mod plan_files;
mod plan_mode;
mod plan_within;
mod secrets;
mod session;
mod skills;
mod strict_model;
#[cfg(feature = "tools")]
mod subagent_crashes;
#[cfg(feature = "tools")]
mod subagent_limits;
mod subagent_stage;
#[cfg(feature = "tools")]
mod subagent_worktrees;
mod subagents;
mod task_list;
#[cfg(feature = "tools")]
mod telemetry;
mod tool_result_eviction;
#[cfg(feature = "tools")]
mod user_hook_calls;
#[cfg(feature = "tools")]
mod user_hook_files;
#[cfg(feature = "tools")]
mod user_hook_names;
#[cfg(feature = "tools")]
mod user_hook_runs;
#[cfg(feature = "tools")]
mod user_hook_stage;
mod user_hook_within;
mod workspace_context;
