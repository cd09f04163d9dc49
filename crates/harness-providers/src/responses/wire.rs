//! What a Responses service sends.

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
    #[serde(borrow)]
    pub(super) delta: Word<'a>,
    #[serde(borrow)]
    pub(super) text: Word<'a>,
    #[serde(borrow)]
    pub(super) refusal: Word<'a>,
    #[serde(borrow)]
    pub(super) arguments: Word<'a>,
    pub(super) output_index: Count,
    pub(super) content_index: Count,
    pub(super) summary_index: Count,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
}

/// An item of the output. Its JSON is kept beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Word<'a>,
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) call_id: Word<'a>,
    #[serde(borrow)]
    pub(super) name: Word<'a>,
    #[serde(borrow)]
    pub(super) arguments: Word<'a>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub(super) summary: Option<Vec<Part<'a>>>,
}

/// A part of a message or of a summary.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Word<'a>,
    #[serde(borrow)]
    pub(super) refusal: Word<'a>,
}

/// The response as a whole, at its start and its end.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) object: Word<'a>,
    #[serde(borrow)]
    pub(super) status: Word<'a>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(super) reason: Word<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    input_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct Details {
    cached_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
}

pub(super) fn tally(raw: &RawValue) -> Tally {
    let usage: Usage = serde_json::from_str(raw.get()).unwrap_or_default();
    let input = usage.input_tokens_details.unwrap_or_default();
    let output = usage.output_tokens_details.unwrap_or_default();
    Tally {
        input: usage.input_tokens.0,
        output: usage.output_tokens.0,
        cache_read: input.cached_tokens.0,
        cache_write: input.cache_write_tokens.0,
        reasoning: output.reasoning_tokens.0,
    }
}
