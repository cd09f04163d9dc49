//! An agent, assembled: prompt, tools, middlewares and bounds.
//!
//! The main type is [`AgentHarness`]. Its builder takes the parts; [`AgentHarness::prompt`] runs one
//! task, and [`AgentHarness::session`] keeps a conversation. Everything that a run needs is put
//! together in one place, [`AgentHarness::build_loop_config`], and handed to the loop of
//! `harness-core`; this crate adds no second loop and no second way to call a tool.
//!
//! The system prompt starts as the sections of the default template (or a text of your own), passes
//! through your middlewares, and then through the built-in ones of [`middlewares`]: yours see the bare
//! prompt first. It is assembled anew before every turn. The price is a little work each turn; the
//! gain is that what changed counts from the next turn on, without a restart.
//!
//! ```
//! # async fn example(model: impl harness_core::Model) -> Result<(), Box<dyn std::error::Error>> {
//! use harness_agent::AgentHarness;
//! use harness_core::Event;
//!
//! let agent = AgentHarness::builder().model(model).build()?;
//! let mut run = agent.prompt("Say hello.");
//! while let Some(event) = run.next().await {
//!     if let Event::TextDelta(text) = event {
//!         print!("{text}");
//!     }
//! }
//! let outcome = run.outcome().await?;
//! assert_eq!(outcome.answer(), "Hello.");
//! # Ok(())
//! # }
//! # use harness_core::test_support::{Reply, ScriptedModel};
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(example(ScriptedModel::new([Reply::text("Hello.")]))).unwrap();
//! ```

mod agent_declaration;
mod agent_view;
mod assembly;
#[cfg(feature = "tokenizer")]
mod bpe_tokens;
mod branch_summary;
mod compaction_span;
mod context_budget;
mod context_files;
mod declared_fields;
#[cfg(feature = "tools")]
mod default_harness;
mod element;
mod error;
mod evicted_results;
mod extension;
mod file_lists;
#[cfg_attr(
    not(feature = "tools"),
    expect(
        dead_code,
        reason = "only hooks turn calls around, and they come with the tools"
    )
)]
mod foreign_tool;
mod harness;
mod harness_builder;
mod history_summary;
mod instruction_files;
mod loaded_skills;
mod measure;
#[cfg(feature = "tools")]
mod mention;
pub mod middlewares;
mod model_source;
mod notes;
mod result_folder;
mod session;
mod session_branch;
mod session_control;
mod skill_command;
mod skill_span;
mod skill_view;
mod summariser;
mod summary;
mod summary_message;
mod system_prompt;
mod today;
mod tool_decision;
mod transcript;
mod watch;
#[cfg(feature = "tools")]
mod worktree;

pub use agent_declaration::{AgentDeclaration, Isolation};
pub use agent_view::{AgentLookupError, Agents, built_in_agents};
pub use assembly::{Assembly, BatchDecision, LoopDraft};
#[cfg(feature = "tokenizer")]
pub use bpe_tokens::BpeTokens;
pub use branch_summary::BranchSummary;
#[cfg(feature = "tools")]
pub use default_harness::{DefaultOptions, default_harness};
pub use error::Error;
pub use extension::{Extension, ExtensionResult};
pub use harness::{AgentHarness, LoopContext, ShownPrompt};
pub use harness_builder::AgentHarnessBuilder;
pub use harness_core as core;
pub use harness_prompt as prompt;
pub use harness_session as sessions;
pub use harness_skills as skills;
pub use harness_telemetry as telemetry;
#[cfg(feature = "tools")]
pub use harness_tools::{Workspace, default_tools};
pub use loaded_skills::{LoadedSkill, loaded_skills};
pub use model_source::ModelSource;
pub use session::{AgentSession, SessionRun};
pub use session_branch::LeftBehind;
pub use session_control::SessionControl;
pub use skill_command::SkillCommand;
pub use summary::{SummaryDraft, SummaryKind, SummaryRequest};
pub use summary_message::{BranchSummaryText, CompactionSummary};
pub use system_prompt::SystemPromptSource;
pub use tool_decision::{ToolDecision, Withheld};
