//! The built-in middlewares, one file each.

#[cfg(feature = "tools")]
mod at_path;
mod compaction;
#[cfg(feature = "tools")]
mod plan_mode;
mod skills;
mod slash_commands;
mod subagents;
mod task_list;
mod tool_result_eviction;
#[cfg(feature = "tools")]
mod user_hooks;
mod workspace_context;

#[cfg(feature = "tools")]
pub use at_path::{AtPathLimits, AtPathMiddleware};
pub(crate) use compaction::{Bounds, Compactor, NoPlan, UNKNOWN_WINDOW};
pub use compaction::{CompactionMiddleware, CompactionOptions, CompactionRequests};
#[cfg(feature = "tools")]
pub(crate) use plan_mode::PLAN_TOOLS;
#[cfg(feature = "tools")]
pub use plan_mode::{
    PLAN_SECTION, PlanApproval, PlanApprover, PlanCommand, PlanDecision, PlanMode,
    PlanModeMiddleware, PlanState, ProposedPlan,
};
pub use skills::{SKILLS_SECTION, SkillsMiddleware};
pub(crate) use skills::{SkillAccess, tools as skill_tools};
pub use slash_commands::SlashCommandsMiddleware;
pub(crate) use subagents::{
    Errand, Host as SubagentHost, TOOLS as SUBAGENT_TOOLS, pending_errands, tools as subagent_tools,
};
pub use subagents::{SUBAGENTS_SECTION, SubagentOptions, SubagentsMiddleware};
pub(crate) use task_list::TODO_WRITE;
pub use task_list::{
    TASKS_SECTION, TaskItem, TaskList, TaskListMiddleware, TaskStatus, restored_tasks,
};
pub use tool_result_eviction::{EvictionOptions, ToolResultEvictionMiddleware};
#[cfg(feature = "tools")]
pub(crate) use user_hooks::{BeforeCompaction, is_hook_context};
#[cfg(feature = "tools")]
pub use user_hooks::{
    Hook, HookDiagnostic, HookEvent, HookFile, Hooks, OnHookFailure, TranscriptPath,
    UserHooksMiddleware,
};
pub use workspace_context::{
    WORKSPACE_SECTION, WorkspaceContextMiddleware, WorkspaceContextOptions,
};
