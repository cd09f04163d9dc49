//! The agent, from outside.

#![cfg(test)]

mod assembly;
mod examples;
mod plan_calls;
mod plan_files;
mod plan_mode;
mod session;
mod task_list;
