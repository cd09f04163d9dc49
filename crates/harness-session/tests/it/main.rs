//! The integration tests.
#![cfg(test)]

mod suite;
