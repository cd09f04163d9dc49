//! The tools, called as an agent calls them. Tests that come from a known failure elsewhere carry its
//! id.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what a test sets up must be there"
)]

mod background;
mod bash;
mod bed;
mod corpus;
mod documented;
mod edit;
mod files;
mod list;
mod names;
mod policy;
mod read;
mod sandbox;
mod scripted_processes;
mod search;
mod secrets;
mod specs;
mod survivors;
mod working_folder;
mod write;
