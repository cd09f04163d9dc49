//! The agent, from outside.

#![cfg(test)]

mod assembly;
mod examples;
mod session;
