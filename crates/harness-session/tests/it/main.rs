//! The integration tests.
#![cfg(test)]
