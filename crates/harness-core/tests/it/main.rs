//! The integration tests of `harness-core`: the loop, its middlewares, its journal, its messages.
//!
//! Everything runs on the fakes of `test_support`, which check each request against the rules of
//! `protocol`, and on the public surface only.

#![cfg(test)]

mod children;
mod compaction;
mod event;
mod from_fn;
mod handle;
mod hook_set;
mod journal;
mod limits;
mod loop_cases;
mod loop_cases_more;
mod message;
mod middleware;
mod middleware_failure;
mod onion;
mod prompt;
mod protocol;
mod reply;
mod resume;
mod retry;
mod rules;
mod secrets;
mod stage;
mod tool;
mod trace_context;
mod turn_layer;
mod types;
