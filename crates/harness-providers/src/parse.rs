//! From the events of a service to those of the core: what the three protocols share.

use std::collections::VecDeque;

use harness_core::{ModelError, ModelEvent, StopReason, Usage};

use crate::api::Api;
use crate::chat::ChatParser;
use crate::messages::MessagesParser;
use crate::refusal::Refusal;
use crate::responses::ResponsesParser;
use crate::sse;

/// Where parsers put what they find.
pub(crate) type Found = VecDeque<ModelEvent>;

/// Why an event could not be taken in.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The service reports an error.
    Refused(Refusal),
    /// The event makes no sense.
    Invalid(String),
}

impl Failure {
    /// An event that is not the JSON that it should be.
    pub(crate) fn undecodable(error: &serde_json::Error, data: &str) -> Self {
        Self::Invalid(format!(
            "an event is not valid ({error}): {}",
            crate::wire::excerpt(data)
        ))
    }
}

impl From<sse::DecodeError> for Failure {
    fn from(error: sse::DecodeError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// What reads the events of one reply.
pub(crate) trait Parse: Send {
    /// Takes in one event of the stream.
    fn event(&mut self, event: sse::Event<'_>, found: &mut Found) -> Result<(), Failure>;

    /// Takes in a reply that came as one JSON document. `false`: it is none.
    fn whole(&mut self, json: &str, found: &mut Found) -> Result<bool, Failure>;

    /// The stream has ended. `false`: before the reply was complete.
    fn end(&mut self, found: &mut Found) -> bool;

    /// Whether the provider said that the reply is complete, so that what is still missing, such as
    /// the usage, is not worth waiting long for.
    fn is_complete(&self) -> bool;

    /// Whether [`ModelEvent::Stop`] was found.
    fn is_stopped(&self) -> bool;
}

/// A parser for a reply of `api`.
pub(crate) fn parser(api: Api) -> Box<dyn Parse> {
    match api {
        Api::OpenAiChat => Box::new(ChatParser::default()),
        Api::OpenAiResponses => Box::new(ResponsesParser::default()),
        Api::Anthropic => Box::new(MessagesParser::default()),
    }
}

/// Gives out the numbers of a reply's parts, in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Blocks(u32);

impl Blocks {
    pub(crate) fn next(&mut self) -> u32 {
        let block = self.0;
        self.0 += 1;
        block
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

/// The providers' words for why a model stopped. One table for all: no word means two things.
pub(crate) fn stop_reason(word: &str, has_calls: bool) -> StopReason {
    match word {
        // Several services say `stop` although there are calls.
        "stop" | "end_turn" | "stop_sequence" | "eos" | "completed" if has_calls => {
            StopReason::ToolCalls
        }
        "stop" | "end_turn" | "stop_sequence" | "eos" | "completed" => StopReason::EndTurn,
        "tool_calls" | "tool_use" | "function_call" => StopReason::ToolCalls,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => StopReason::Length,
        "content_filter" | "refusal" | "safety" | "sensitive" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Usage as the services report it, bit by bit: what is known stays known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) reasoning: Option<u64>,
}

impl Tally {
    /// Takes over what a later report knows. A zero never replaces a number.
    pub(crate) fn merge(&mut self, later: &Self) {
        let newer = |known: &mut Option<u64>, later: Option<u64>| {
            if later.is_some_and(|later| later > 0 || known.is_none()) {
                *known = later;
            }
        };
        newer(&mut self.input, later.input);
        newer(&mut self.output, later.output);
        newer(&mut self.cache_read, later.cache_read);
        newer(&mut self.cache_write, later.cache_write);
        newer(&mut self.reasoning, later.reasoning);
    }

    /// The usage; `None` when nothing is known.
    pub(crate) fn usage(&self) -> Option<Usage> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        Some(Usage {
            input_tokens: self.input.unwrap_or(0),
            output_tokens: self.output.unwrap_or(0),
            cache_read_tokens: self.cache_read.unwrap_or(0),
            cache_write_tokens: self.cache_write.unwrap_or(0),
            reasoning_tokens: self.reasoning.unwrap_or(0),
        })
    }
}

/// The error for a stream that ended too early.
pub(crate) fn cut(what: &str) -> ModelError {
    ModelError::StreamCut {
        message: what.to_owned(),
    }
}
