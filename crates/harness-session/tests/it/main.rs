//! The integration tests.
#![cfg(test)]

mod browser;
mod export;
mod html_in_browser;
mod kept;
#[cfg(feature = "sqlite")]
mod sqlite;
