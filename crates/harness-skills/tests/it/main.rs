//! The tests of harness-skills, in one binary. Tests that come from a list of cases carry their ids.
#![cfg(test)]

mod activation;
mod addresses;
mod agents;
mod case;
mod corpus;
mod delimiters;
mod discovery;
mod docs;
mod fields;
mod format;
mod full_format;
mod git_world;
mod names;
mod precedence;
mod random_trees;
mod refresh;
mod safety;
mod source_safety;
mod sources;
mod tree;
mod yaml;
