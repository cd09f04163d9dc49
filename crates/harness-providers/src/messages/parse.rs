//! From the events of a Messages service to those of a reply.

use harness_core::ModelEvent;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Block, Delta, Message, StreamEvent, tally};
use crate::parse::{Blocks, Failure, Found, Parse, Tally, stop_reason};
use crate::refusal::Refusal;
use crate::sse;

/// Reads one reply.
#[derive(Debug, Default)]
pub(crate) struct MessagesParser {
    blocks: Blocks,
    parts: Vec<Part>,
    tally: Tally,
    stop: Option<String>,
    has_calls: bool,
    stopped: bool,
}

#[derive(Debug)]
struct Part {
    index: u64,
    block: u32,
    /// The input of a call that came with its start, until it is clear whether deltas follow.
    input: Option<String>,
}

impl Parse for MessagesParser {
    fn event(&mut self, event: sse::Event<'_>, found: &mut Found) -> Result<(), Failure> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" || self.stopped {
            return Ok(());
        }
        let name = event.name;
        let event: StreamEvent<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(_) if name == "error" => return Err(refused(data)),
            Err(error) => return Err(Failure::undecodable(&error, data)),
        };
        let index = event.index.0.unwrap_or(0);
        match event.kind.as_str() {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(index, delta, found);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.block(index, block, found);
                }
            }
            "content_block_stop" => self.give_input(index, found),
            "message_start" => {
                let message = event.message.unwrap_or_default();
                start(&message, found);
                self.usage(message.usage, found);
            }
            "message_delta" => {
                if let Some(delta) = event.delta
                    && !delta.stop_reason.is_empty()
                {
                    self.stop = Some(delta.stop_reason.0.into_owned());
                }
                self.usage(event.usage, found);
            }
            "message_stop" => self.finish(found),
            "error" => return Err(refused(data)),
            "" => {
                let value: Value = serde_json::from_str(data).unwrap_or_default();
                if Refusal::is_in(&value) || name == "error" {
                    return Err(Failure::Refused(Refusal::from_json(&value)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, json: &str, found: &mut Found) -> Result<bool, Failure> {
        let Ok(message) = serde_json::from_str::<Message<'_>>(json) else {
            return Ok(false);
        };
        if message.kind.as_str() != "message" && message.content.is_none() {
            return Ok(false);
        }
        start(&message, found);
        self.usage(message.usage, found);
        for (index, block) in message.content.into_iter().flatten().enumerate() {
            self.block(index as u64, block, found);
            self.give_input(index as u64, found);
        }
        self.stop = Some(message.stop_reason.0.into_owned()).filter(|stop| !stop.is_empty());
        self.finish(found);
        Ok(true)
    }

    fn end(&mut self, _: &mut Found) -> bool {
        self.stopped
    }

    fn is_complete(&self) -> bool {
        self.stopped
    }

    fn is_stopped(&self) -> bool {
        self.stopped
    }
}

impl MessagesParser {
    fn known(&mut self, index: u64) -> Option<&mut Part> {
        self.parts.iter_mut().rfind(|part| part.index == index)
    }

    fn part(&mut self, index: u64) -> u32 {
        if let Some(part) = self.known(index) {
            return part.block;
        }
        let block = self.blocks.next();
        self.parts.push(Part {
            index,
            block,
            input: None,
        });
        block
    }

    fn block(&mut self, index: u64, start: Block<'_>, found: &mut Found) {
        match start.kind.as_str() {
            "text" => {
                let block = self.part(index);
                let delta = start.text.0.into_owned();
                if !delta.is_empty() {
                    found.push_back(ModelEvent::Text { block, delta });
                }
            }
            "thinking" => {
                let block = self.part(index);
                let delta = start.thinking.0.into_owned();
                found.push_back(ModelEvent::Thinking { block, delta });
                sign(block, start.signature.0.into_owned(), false, found);
            }
            "redacted_thinking" => {
                let block = self.part(index);
                sign(block, start.data.0.into_owned(), true, found);
            }
            "tool_use" if self.known(index).is_none() => {
                self.has_calls = true;
                let block = self.part(index);
                let (id, name) = (start.id.0.into_owned(), start.name.0.into_owned());
                found.push_back(ModelEvent::ToolCall { block, id, name });
                // Usually `{}`, with the input to follow in deltas.
                let input = start
                    .input
                    .map(RawValue::get)
                    .filter(|input| !is_empty(input));
                if let Some(part) = self.known(index) {
                    part.input = input.map(str::to_owned);
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: Delta<'_>, found: &mut Found) {
        match delta.kind.as_str() {
            "text_delta" => {
                let block = self.part(index);
                found.push_back(ModelEvent::Text {
                    block,
                    delta: delta.text.0.into_owned(),
                });
            }
            "thinking_delta" => {
                let block = self.part(index);
                let delta = delta.thinking.0.into_owned();
                found.push_back(ModelEvent::Thinking { block, delta });
            }
            "signature_delta" => {
                let block = self.part(index);
                sign(block, delta.signature.0.into_owned(), false, found);
            }
            "input_json_delta" => {
                if let Some(part) = self.known(index)
                    && !delta.partial_json.is_empty()
                {
                    part.input = None;
                    let (block, delta) = (part.block, delta.partial_json.0.into_owned());
                    found.push_back(ModelEvent::ToolArguments { block, delta });
                }
            }
            _ => {}
        }
    }

    /// Gives out an input that came with the call's start and was not followed by deltas.
    fn give_input(&mut self, index: u64, found: &mut Found) {
        if let Some(part) = self.known(index)
            && let Some(delta) = part.input.take()
        {
            found.push_back(ModelEvent::ToolArguments {
                block: part.block,
                delta,
            });
        }
    }

    fn usage(&mut self, raw: Option<&RawValue>, found: &mut Found) {
        let Some(raw) = raw else { return };
        self.tally.merge(&tally(raw));
        if let Some(mut usage) = self.tally.usage() {
            usage.input_tokens = usage
                .input_tokens
                .saturating_add(usage.cache_read_tokens)
                .saturating_add(usage.cache_write_tokens);
            found.push_back(ModelEvent::Usage(usage));
        }
    }

    fn finish(&mut self, found: &mut Found) {
        let waiting: Vec<u64> = self.parts.iter().map(|part| part.index).collect();
        for index in waiting {
            self.give_input(index, found);
        }
        self.stopped = true;
        let word = self.stop.as_deref().unwrap_or("end_turn");
        found.push_back(ModelEvent::Stop(stop_reason(word, self.has_calls)));
    }
}

fn start(message: &Message<'_>, found: &mut Found) {
    let id = message.id.as_str();
    let response_id = (!id.is_empty()).then(|| id.to_owned());
    found.push_back(ModelEvent::Start { response_id });
}

fn sign(block: u32, signature: String, redacted: bool, found: &mut Found) {
    if !signature.is_empty() {
        found.push_back(ModelEvent::ThinkingSignature {
            block,
            signature,
            redacted,
        });
    }
}

fn is_empty(input: &str) -> bool {
    matches!(input.trim(), "null" | "\"\"")
        || input
            .trim()
            .strip_prefix('{')
            .is_some_and(|rest| rest.trim() == "}")
}

fn refused(data: &str) -> Failure {
    Failure::Refused(match serde_json::from_str::<Value>(data) {
        Ok(value) => Refusal::from_json(&value),
        Err(_) => Refusal {
            message: crate::refusal::one_line(data),
            ..Refusal::default()
        },
    })
}
