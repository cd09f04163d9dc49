//! The tests of harness-skills, in one binary. Tests that come from a list of cases carry their ids.
#![cfg(test)]

mod case;
mod delimiters;
mod fields;
mod format;
mod full_format;
mod names;
mod tree;
mod yaml;
