//! The integration tests.
#![cfg(test)]

mod changed_by_others;
mod damaged_lines;
mod files;
mod full_disk;
mod index;
mod list;
mod lock;
mod place;
mod process;
mod properties;
mod suite;
mod torn_tail;
