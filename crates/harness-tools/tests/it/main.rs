//! The tools, called as an agent calls them. Tests that come from a known failure elsewhere carry its
//! id.

mod bash;
mod bed;
mod edit;
mod list;
mod policy;
mod read;
mod search;
mod specs;
mod write;
