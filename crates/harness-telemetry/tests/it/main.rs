//! The integration tests of `harness-telemetry`.

#![cfg(test)]

mod content;
mod runs;
mod schemas;
mod starters;
