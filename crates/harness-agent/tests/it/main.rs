//! The agent, from outside.

#![cfg(test)]

mod assembly;
#[cfg(feature = "tools")]
mod at_path;
mod examples;
mod session;
mod tool_result_eviction;
mod workspace_context;
