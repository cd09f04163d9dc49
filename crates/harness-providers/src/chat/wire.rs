//! What a chat service sends.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::parse::Tally;
use crate::wire::{Content, Count, First, Word};

/// One chunk of a stream, or a whole completion: the same but for `message` instead of `delta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) choices: First<Choice<'a>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) object: Word<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// Only in a completion that was not streamed; boxed, so that the many deltas stay small.
    #[serde(borrow)]
    pub(super) message: Option<Box<Delta<'a>>>,
    #[serde(borrow)]
    pub(super) finish_reason: Word<'a>,
    /// Moonshot reports usage here.
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    /// OpenRouter reports errors here.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Content<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Word<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Word<'a>,
    #[serde(borrow)]
    pub(super) refusal: Word<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Count,
    #[serde(borrow)]
    pub(super) id: Word<'a>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Word<'a>,
    /// A string of JSON; some servers send the object itself.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage<'a> {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_cache_hit_tokens: Count,
    cached_tokens: Count,
    #[serde(borrow)]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens_details: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct Details {
    cached_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
}

impl Details {
    fn read(raw: Option<&RawValue>) -> Self {
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }
}

/// Usage in any of the forms that services give it; what cannot be read is not known.
pub(super) fn tally(raw: &RawValue) -> Tally {
    let usage: Usage<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let input = Details::read(usage.prompt_tokens_details);
    let output = Details::read(usage.completion_tokens_details);
    Tally {
        input: usage.prompt_tokens.0,
        output: usage.completion_tokens.0,
        cache_read: input
            .cached_tokens
            .0
            .or(usage.prompt_cache_hit_tokens.0)
            .or(usage.cached_tokens.0),
        cache_write: input.cache_write_tokens.0,
        reasoning: output.reasoning_tokens.0,
    }
}
