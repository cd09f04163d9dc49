//! The tests of harness-skills, in one binary.
#![cfg(test)]

mod git_world;
mod source_safety;
mod sources;
