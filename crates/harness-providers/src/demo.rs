//! The built-in demonstration: no network, no key.

use crate::error::ConfigError;
use crate::scripted::Scripted;

/// A scripted model that finds and mends the bug of `examples/roman-numerals`.
///
/// It wants the tools `ls`, `read`, `bash` and `edit`, which work in a fresh copy of that project,
/// and a Rust toolchain. When a step goes otherwise than the script says, the request fails and tells
/// what differed.
pub fn demo() -> Result<Scripted, ConfigError> {
    Scripted::read(include_str!("demo.json"), "of the demonstration", "demo")
}
