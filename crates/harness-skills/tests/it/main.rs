//! The tests of harness-skills, in one binary.
#![cfg(test)]

mod format;
mod full_format;
mod git_world;
mod source_safety;
mod sources;
