//! Anthropic Messages.

mod encode;
mod parse;
mod wire;

pub(crate) use encode::body;
pub(crate) use parse::MessagesParser;
