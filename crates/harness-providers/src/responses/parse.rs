//! From the events of a Responses service to those of a reply.

use harness_core::{ModelEvent, StopReason};
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Item, Response, StreamEvent, tally};
use crate::parse::{Blocks, Failure, Found, Parse, Tally, stop_reason};
use crate::refusal::Refusal;
use crate::sse;

/// Reads one reply.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one reply"
)]
pub(crate) struct ResponsesParser {
    blocks: Blocks,
    parts: Vec<Part>,
    tally: Tally,
    has_calls: bool,
    refused: bool,
    started: bool,
    stopped: bool,
}

/// A part of the reply: one content part of an item, or an item.
#[derive(Debug)]
struct Part {
    item: u64,
    /// The content part of a message; 0 for other items.
    content: u64,
    block: u32,
    /// How much of it came as deltas.
    bytes: usize,
    /// The part of a summary that was written last.
    summary: u64,
}

impl Parse for ResponsesParser {
    fn event(&mut self, event: sse::Event<'_>, found: &mut Found) -> Result<(), Failure> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" || self.stopped {
            return Ok(());
        }
        let event: StreamEvent<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return Err(Failure::undecodable(&error, data)),
        };
        let item = event.output_index.0.unwrap_or(0);
        let content = event.content_index.0.unwrap_or(0);
        match event.kind.as_str() {
            "response.output_text.delta" => self.text(item, content, event.delta.0, found),
            "response.output_text.done" => self.rest_of_text(item, content, event.text.0, found),
            "response.refusal.delta" => {
                self.refused = true;
                self.text(item, content, event.delta.0, found);
            }
            "response.refusal.done" => {
                self.refused = true;
                self.rest_of_text(item, content, event.refusal.0, found);
            }
            "response.function_call_arguments.delta" => {
                self.arguments(item, event.delta.0, found);
            }
            "response.function_call_arguments.done" => {
                self.rest_of_arguments(item, event.arguments.as_str(), found);
            }
            "response.reasoning_summary_text.delta" => {
                self.thinking(item, event.summary_index.0, event.delta.0, found);
            }
            "response.reasoning_text.delta" => {
                self.thinking(item, event.content_index.0, event.delta.0, found);
            }
            "response.output_item.added" => {
                if let Some(raw) = event.item {
                    self.item_added(item, raw, found);
                }
            }
            "response.output_item.done" => {
                if let Some(raw) = event.item {
                    self.item_done(item, raw, found);
                }
            }
            "response.created" | "response.in_progress" => {
                if let Some(raw) = event.response {
                    let response = serde_json::from_str(raw.get()).unwrap_or_default();
                    self.start(&response, found);
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                return match event.response {
                    Some(raw) => self.complete(raw, found),
                    None => Err(Failure::Invalid(
                        "the last event holds no response".to_owned(),
                    )),
                };
            }
            "response.failed" | "response.cancelled" => {
                return Err(refused(event.response.map_or(data, RawValue::get)));
            }
            "error" => return Err(refused(data)),
            // An error object without a type, as gateways write it.
            "" => {
                let value: Value = serde_json::from_str(data).unwrap_or_default();
                if Refusal::is_in(&value) {
                    return Err(refused(data));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, json: &str, found: &mut Found) -> Result<bool, Failure> {
        let Ok(raw) = serde_json::from_str::<&RawValue>(json) else {
            return Ok(false);
        };
        let Ok(response) = serde_json::from_str::<Response<'_>>(json) else {
            return Ok(false);
        };
        if response.object.as_str() != "response" && response.output.is_none() {
            return Ok(false);
        }
        self.complete(raw, found)?;
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

impl ResponsesParser {
    fn start(&mut self, response: &Response<'_>, found: &mut Found) {
        if !self.started {
            self.started = true;
            let id = response.id.as_str();
            let response_id = (!id.is_empty()).then(|| id.to_owned());
            found.push_back(ModelEvent::Start { response_id });
        }
    }

    /// The part for an item's content, made when it is first seen.
    fn part(&mut self, item: u64, content: u64) -> &mut Part {
        let is_it = |part: &Part| part.item == item && part.content == content;
        let at = self.parts.iter().rposition(is_it).unwrap_or_else(|| {
            let block = self.blocks.next();
            self.parts.push(Part {
                item,
                content,
                block,
                bytes: 0,
                summary: 0,
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    fn known(&mut self, item: u64) -> Option<&mut Part> {
        self.parts.iter_mut().rfind(|part| part.item == item)
    }

    fn text<'a>(
        &mut self,
        item: u64,
        content: u64,
        delta: impl Into<std::borrow::Cow<'a, str>>,
        found: &mut Found,
    ) {
        let delta = delta.into().into_owned();
        if delta.is_empty() {
            return;
        }
        let part = self.part(item, content);
        part.bytes += delta.len();
        found.push_back(ModelEvent::Text {
            block: part.block,
            delta,
        });
    }

    /// The whole text, of which only what no delta brought is new.
    fn rest_of_text<'a>(
        &mut self,
        item: u64,
        content: u64,
        whole: impl Into<std::borrow::Cow<'a, str>>,
        found: &mut Found,
    ) {
        let whole = whole.into();
        if !whole.is_empty() && self.part(item, content).bytes == 0 {
            self.text(item, content, whole, found);
        }
    }

    fn arguments<'a>(
        &mut self,
        item: u64,
        delta: impl Into<std::borrow::Cow<'a, str>>,
        found: &mut Found,
    ) {
        let delta = delta.into().into_owned();
        if let Some(part) = self.known(item)
            && !delta.is_empty()
        {
            part.bytes += delta.len();
            found.push_back(ModelEvent::ToolArguments {
                block: part.block,
                delta,
            });
        }
    }

    fn rest_of_arguments(&mut self, item: u64, whole: &str, found: &mut Found) {
        if self.known(item).is_some_and(|part| part.bytes == 0) {
            self.arguments(item, whole, found);
        }
    }

    fn thinking<'a>(
        &mut self,
        item: u64,
        paragraph: Option<u64>,
        delta: impl Into<std::borrow::Cow<'a, str>>,
        found: &mut Found,
    ) {
        let mut delta = delta.into().into_owned();
        if delta.is_empty() {
            return;
        }
        let part = self.part(item, 0);
        let paragraph = paragraph.unwrap_or(part.summary);
        if part.bytes > 0 && part.summary != paragraph {
            delta.insert_str(0, "\n\n");
        }
        part.summary = paragraph;
        part.bytes += delta.len();
        found.push_back(ModelEvent::Thinking {
            block: part.block,
            delta,
        });
    }

    fn item_added(&mut self, at: u64, raw: &RawValue, found: &mut Found) {
        let item: Item<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        match item.kind.as_str() {
            "function_call" if self.known(at).is_none() => {
                self.has_calls = true;
                let block = self.part(at, 0).block;
                // Servers that know no `call_id` use the item's id.
                let id = if item.call_id.is_empty() {
                    item.id
                } else {
                    item.call_id
                };
                let (id, name) = (id.0.into_owned(), item.name.0.into_owned());
                found.push_back(ModelEvent::ToolCall { block, id, name });
            }
            // Its place is here, even if its text or signature comes later.
            "reasoning" => {
                let block = self.part(at, 0).block;
                found.push_back(ModelEvent::Thinking {
                    block,
                    delta: String::new(),
                });
            }
            _ => {}
        }
    }

    fn item_done(&mut self, at: u64, raw: &RawValue, found: &mut Found) {
        let item: Item<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        match item.kind.as_str() {
            "function_call" => {
                self.item_added(at, raw, found);
                self.rest_of_arguments(at, item.arguments.as_str(), found);
            }
            "message" => {
                for (content, part) in item.content.into_iter().flatten().enumerate() {
                    self.refused |= !part.refusal.is_empty();
                    self.rest_of_text(at, content as u64, part.text.0, found);
                    self.rest_of_text(at, content as u64, part.refusal.0, found);
                }
            }
            "reasoning" => {
                let block = self.part(at, 0).block;
                if self.part(at, 0).bytes == 0 {
                    let paragraphs = item.summary.into_iter().flatten();
                    let paragraphs = paragraphs.chain(item.content.into_iter().flatten());
                    for (paragraph, part) in paragraphs.enumerate() {
                        self.thinking(at, Some(paragraph as u64), part.text.0, found);
                    }
                }
                // The item goes back as it came: only the provider knows what in it matters.
                found.push_back(ModelEvent::ThinkingSignature {
                    block,
                    signature: raw.get().to_owned(),
                    redacted: false,
                });
            }
            _ => {}
        }
    }

    fn complete(&mut self, raw: &RawValue, found: &mut Found) -> Result<(), Failure> {
        let response: Response<'_> = serde_json::from_str(raw.get())
            .map_err(|error| Failure::undecodable(&error, raw.get()))?;
        if matches!(response.status.as_str(), "failed" | "cancelled") {
            return Err(refused(raw.get()));
        }
        self.start(&response, found);
        // A reply that did not come in pieces is here as a whole.
        if self.blocks.is_empty() {
            for (at, item) in response.output.iter().flatten().enumerate() {
                self.item_done(at as u64, item, found);
            }
        }
        if let Some(usage) = response.usage {
            self.tally.merge(&tally(usage));
        }
        if let Some(usage) = self.tally.usage() {
            found.push_back(ModelEvent::Usage(usage));
        }
        let reason = response
            .incomplete_details
            .map(|details| details.reason.0.into_owned());
        let stop = match (response.status.as_str(), reason) {
            ("incomplete", Some(reason)) if !reason.is_empty() => {
                stop_reason(&reason, self.has_calls)
            }
            ("incomplete", _) => StopReason::Length,
            _ if self.refused => StopReason::ContentFilter,
            _ => stop_reason("completed", self.has_calls),
        };
        self.stopped = true;
        found.push_back(ModelEvent::Stop(stop));
        Ok(())
    }
}

fn refused(json: &str) -> Failure {
    Failure::Refused(Refusal::from_json(
        &serde_json::from_str(json).unwrap_or_default(),
    ))
}
