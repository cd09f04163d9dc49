//! What a Messages service sends.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::parse::Tally;
use crate::wire::{Count, Word};

/// One event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    pub(super) index: Count,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<Block<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// A delta of a part, or of the message as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) text: Word<'a>,
    #[serde(borrow)]
    pub(super) thinking: Word<'a>,
    #[serde(borrow)]
    pub(super) signature: Word<'a>,
    #[serde(borrow)]
    pub(super) partial_json: Word<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Word<'a>,
}

/// A part of the content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) text: Word<'a>,
    #[serde(borrow)]
    pub(super) thinking: Word<'a>,
    #[serde(borrow)]
    pub(super) signature: Word<'a>,
    #[serde(borrow)]
    pub(super) data: Word<'a>,
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) name: Word<'a>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// The message, at the start of a stream or as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<Block<'a>>>,
    #[serde(borrow)]
    pub(super) stop_reason: Word<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// Usage; the input counts only what was neither read from nor written to the cache.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

/// What a report says; `input` is still without the cache.
pub(super) fn tally(raw: &RawValue) -> Tally {
    let usage: Usage = serde_json::from_str(raw.get()).unwrap_or_default();
    Tally {
        input: usage.input_tokens.0,
        output: usage.output_tokens.0,
        cache_read: usage.cache_read_input_tokens.0,
        cache_write: usage.cache_creation_input_tokens.0,
        reasoning: None,
    }
}
