//! The integration tests.
#![cfg(test)]

mod asking;
mod bash;
mod command_lines;
mod corpus;
mod explanation;
mod paths;
mod properties;
mod rules;
mod soundness;
