//! The integration tests.
#![cfg(test)]

mod browser;
mod changed_by_others;
mod damaged_lines;
mod export;
mod files;
mod full_disk;
mod html_in_browser;
mod index;
mod journal;
mod journal_again;
mod kept;
mod list;
mod lock;
mod place;
mod process;
mod properties;
#[cfg(feature = "sqlite")]
mod sqlite;
mod suite;
mod torn_tail;
mod tree;
