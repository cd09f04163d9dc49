//! The agent, from outside.

#![cfg(test)]

mod assembly;
mod examples;
mod session;
mod workspace_context;
