//! Commands in the sandbox of the kernel that the tests run on. Where it cannot confine, the tests say so and
//! check that nothing is started.
#![cfg(all(test, target_os = "linux"))]
#![expect(clippy::expect_used, reason = "what a test sets up must be there")]

mod cage;
mod everyday;
mod files;
mod network;
mod others;
mod policy;
