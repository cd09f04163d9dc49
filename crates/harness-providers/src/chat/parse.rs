//! From the chunks of a chat service to the events of a reply.

use std::borrow::Cow;

use harness_core::{ModelEvent, StopReason};
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{CallDelta, Choice, Chunk, Delta, tally};
use crate::parse::{Blocks, Failure, Found, Parse, Tally, stop_reason};
use crate::refusal::Refusal;
use crate::sse;

/// Reads one reply.
#[derive(Debug, Default)]
pub(crate) struct ChatParser {
    started: bool,
    blocks: Blocks,
    /// The part of text or thinking that is being written.
    open: Option<(Kind, u32)>,
    calls: Vec<Call>,
    tally: Tally,
    finish: Option<String>,
    refused: bool,
    stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

/// A call that is being streamed.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Its part, once it was announced: when its first argument comes, since a name may come in
    /// pieces, or be said again.
    block: Option<u32>,
}

impl Parse for ChatParser {
    fn event(&mut self, event: sse::Event<'_>, found: &mut Found) -> Result<(), Failure> {
        let data = event.data.trim();
        if data.is_empty() || self.stopped {
            return Ok(());
        }
        if data == "[DONE]" {
            self.stop(found);
            return Ok(());
        }
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            // Some servers write a bare text after `event: error` or `data: error`.
            Err(_) if event.name == "error" => return Err(refusal(data)),
            Err(error) => return Err(Failure::undecodable(&error, data)),
        };
        if chunk.error.is_some() || chunk.object.as_str() == "error" || event.name == "error" {
            return Err(refusal(data));
        }
        self.chunk(chunk, found)
    }

    fn whole(&mut self, json: &str, found: &mut Found) -> Result<bool, Failure> {
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(json) else {
            return Ok(false);
        };
        if chunk.choices.0.is_none() {
            return Ok(false);
        }
        self.chunk(chunk, found)?;
        self.stop(found);
        Ok(true)
    }

    fn end(&mut self, found: &mut Found) -> bool {
        // Some servers send no `[DONE]`; the reason for stopping is their mark.
        if self.finish.is_some() {
            self.stop(found);
        } else if !self.stopped {
            self.report_usage(found);
        }
        self.stopped
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn is_stopped(&self) -> bool {
        self.stopped
    }
}

impl ChatParser {
    fn chunk(&mut self, chunk: Chunk<'_>, found: &mut Found) -> Result<(), Failure> {
        if !self.started {
            self.started = true;
            let id = Some(chunk.id.0.into_owned()).filter(|id| !id.is_empty());
            found.push_back(ModelEvent::Start { response_id: id });
        }
        if let Some(usage) = chunk.usage {
            self.tally.merge(&tally(usage));
        } else if let Some(usage) = chunk.x_groq.and_then(|raw| {
            #[derive(serde::Deserialize)]
            struct Groq<'a> {
                #[serde(borrow)]
                usage: Option<&'a RawValue>,
            }
            serde_json::from_str::<Groq<'_>>(raw.get()).ok()?.usage
        }) {
            self.tally.merge(&tally(usage));
        }
        match chunk.choices.0 {
            Some(choice) => self.choice(choice, found),
            None => Ok(()),
        }
    }

    fn choice(&mut self, choice: Choice<'_>, found: &mut Found) -> Result<(), Failure> {
        if let Some(error) = choice.error {
            return Err(refusal(error.get()));
        }
        if let Some(usage) = choice.usage {
            self.tally.merge(&tally(usage));
        }
        if let Some(delta) = choice.delta.or(choice.message.map(|message| *message)) {
            self.delta(delta, found);
        }
        let finish = choice.finish_reason;
        if matches!(finish.as_str(), "error" | "network_error") {
            return Err(Failure::Refused(Refusal {
                message: format!("the reply ended with `{}`", finish.as_str()),
                ..Refusal::default()
            }));
        }
        if !finish.is_empty() {
            self.finish = Some(finish.0.into_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, found: &mut Found) {
        // Services that send both send the same text twice.
        let thinking = if delta.reasoning_content.is_empty() {
            delta.reasoning.0
        } else {
            delta.reasoning_content.0
        };
        if !thinking.is_empty() {
            let block = self.open(Kind::Thinking);
            found.push_back(ModelEvent::Thinking {
                block,
                delta: thinking.into_owned(),
            });
        }
        if !delta.content.0.is_empty() {
            let block = self.open(Kind::Text);
            found.push_back(ModelEvent::Text {
                block,
                delta: delta.content.0.into_owned(),
            });
        }
        if !delta.refusal.is_empty() {
            self.refused = true;
            let block = self.open(Kind::Text);
            found.push_back(ModelEvent::Text {
                block,
                delta: delta.refusal.0.into_owned(),
            });
        }
        let mut last = None;
        for call in delta.tool_calls.into_iter().flatten() {
            last = self.call(&call, last, found).or(last);
        }
    }

    fn open(&mut self, kind: Kind) -> u32 {
        match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                let block = self.blocks.next();
                self.open = Some((kind, block));
                block
            }
        }
    }

    /// Takes in a fragment of a call; `last` is the call of the fragment before it in the same
    /// chunk. Gives back the call it belonged to.
    fn call(
        &mut self,
        delta: &CallDelta<'_>,
        last: Option<usize>,
        found: &mut Found,
    ) -> Option<usize> {
        let none = super::wire::FunctionDelta::default();
        let function = delta.function.as_ref().unwrap_or(&none);
        let (id, name) = (delta.id.as_str(), function.name.as_str());
        let arguments = function.arguments.map(argument_text).unwrap_or_default();
        let at = match self.find(delta.index.0, id, name, &arguments, last) {
            Some(at) => at,
            // Nothing in it: no call, whatever its index says.
            None if id.is_empty() && name.is_empty() && arguments.is_empty() => return None,
            None => {
                self.announce_all(found);
                self.open = None;
                self.calls.push(Call {
                    index: delta.index.0,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let call = self.calls.get_mut(at)?;
        if call.block.is_none() {
            if call.id.is_empty() {
                id.clone_into(&mut call.id);
            }
            // A name may come in pieces; one that is said again is not a piece.
            if call.name != name {
                call.name.push_str(name);
            }
        }
        if !arguments.is_empty() {
            call.announce(&mut self.blocks, found);
            call.arguments.push_str(&arguments);
            if let Some(block) = call.block {
                found.push_back(ModelEvent::ToolArguments {
                    block,
                    delta: arguments.into_owned(),
                });
            }
        }
        Some(at)
    }

    /// The running call that a fragment belongs to.
    fn find(
        &self,
        index: Option<u64>,
        id: &str,
        name: &str,
        arguments: &str,
        last: Option<usize>,
    ) -> Option<usize> {
        let by_index = || self.calls.iter().rposition(|call| call.index == index);
        let by_id = || self.calls.iter().rposition(|call| call.id == id);
        if index.is_some() {
            let at = by_index()?;
            let call = &self.calls[at];
            // Some servers send whole calls, each under the same index.
            let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
            let again = !name.is_empty()
                && (other_id || (id.is_empty() && arguments.starts_with('{') && call.is_whole()));
            return (!again).then_some(at);
        }
        if !id.is_empty() {
            let unnamed = || self.calls.iter().rposition(|call| call.id.is_empty());
            return by_id().or_else(|| if name.is_empty() { unnamed() } else { None });
        }
        let at = self.calls.len().checked_sub(1)?;
        let call = &self.calls[at];
        let runs_on =
            name.is_empty() || (call.name == name && !call.is_whole() && last != Some(at));
        runs_on.then_some(at)
    }

    fn announce_all(&mut self, found: &mut Found) {
        for call in &mut self.calls {
            call.announce(&mut self.blocks, found);
        }
    }

    fn report_usage(&self, found: &mut Found) {
        if let Some(usage) = self.tally.usage() {
            found.push_back(ModelEvent::Usage(usage));
        }
    }

    fn stop(&mut self, found: &mut Found) {
        if self.stopped {
            return;
        }
        self.stopped = true;
        self.announce_all(found);
        self.report_usage(found);
        let word = self.finish.as_deref().unwrap_or("stop");
        let stop = match stop_reason(word, !self.calls.is_empty()) {
            StopReason::EndTurn if self.refused => StopReason::ContentFilter,
            stop => stop,
        };
        found.push_back(ModelEvent::Stop(stop));
    }
}

impl Call {
    fn announce(&mut self, blocks: &mut Blocks, found: &mut Found) {
        if self.block.is_none() {
            let block = blocks.next();
            self.block = Some(block);
            let (id, name) = (self.id.clone(), self.name.clone());
            found.push_back(ModelEvent::ToolCall { block, id, name });
        }
    }

    /// Whether its arguments are a whole JSON value.
    fn is_whole(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

/// The JSON text of arguments, whether they came as a string of it or as it.
fn argument_text(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    if json.starts_with('"') {
        return serde_json::from_str::<crate::wire::Word<'_>>(json)
            .map(|word| word.0)
            .unwrap_or_default();
    }
    if json == "null" {
        Cow::Borrowed("")
    } else {
        Cow::Borrowed(json)
    }
}

fn refusal(data: &str) -> Failure {
    Failure::Refused(match serde_json::from_str::<Value>(data) {
        Ok(Value::String(text)) => Refusal {
            message: crate::refusal::one_line(&text),
            ..Refusal::default()
        },
        Ok(value) => Refusal::from_json(&value),
        Err(_) => Refusal {
            message: crate::refusal::one_line(data),
            ..Refusal::default()
        },
    })
}
