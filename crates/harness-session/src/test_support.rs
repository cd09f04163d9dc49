//! What every store has to keep, as checks, and what tests need beside.
//!
//! The checks panic, and name the rule that was broken.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails is to fail the test"
)]

mod author;
mod log_suite;
mod store_suite;

pub use author::Author;
pub use store_suite::check_store;
