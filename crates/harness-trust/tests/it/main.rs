//! The integration tests.
#![cfg(test)]

mod approved;
mod asking;
mod bash;
mod command_lines;
mod corpus;
mod explanation;
mod globs;
mod grants;
mod narrowest_rule;
mod on_record;
mod paths;
mod permissions;
mod properties;
mod rules;
mod soundness;
mod stage;
mod trust_store;
mod verdicts;
mod within;
