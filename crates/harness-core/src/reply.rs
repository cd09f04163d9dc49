//! Folding the events of a streamed reply into a message.

use crate::error::ModelError;
use crate::message::{AssistantMessage, AssistantPart, StopReason, Text, Thinking, ToolCall};
use crate::model::{ModelEvent, ModelId, ModelResult};
use crate::usage::Usage;

/// The most bytes of one reply: far above what any model writes, far below what hurts.
pub const MAX_REPLY_BYTES: usize = 32 * 1024 * 1024;

/// Builds one reply from its events.
///
/// Holds the bounds and the rule that a reply without its [`ModelEvent::Stop`] is no reply.
#[derive(Debug)]
pub struct ReplyBuilder {
    model: ModelId,
    response_id: Option<String>,
    /// The parts in order of appearance, each with the number that the client gave it.
    parts: Vec<(u32, AssistantPart)>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    bytes: usize,
    max_bytes: usize,
}

impl ReplyBuilder {
    /// An empty reply of `model`.
    pub fn new(model: ModelId) -> Self {
        Self {
            model,
            response_id: None,
            parts: Vec::new(),
            usage: None,
            stop: None,
            bytes: 0,
            max_bytes: MAX_REPLY_BYTES,
        }
    }

    /// Sets the bound on the reply's bytes.
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Takes in one event.
    pub fn push(&mut self, event: ModelEvent) -> Result<(), ModelError> {
        match event {
            ModelEvent::Start { response_id } => self.response_id = response_id,
            ModelEvent::Text { block, delta } => {
                self.grow(delta.len())?;
                match self.part(block) {
                    Some(AssistantPart::Text(text)) => text.text.push_str(&delta),
                    Some(_) => return Err(mixed(block)),
                    None => self
                        .parts
                        .push((block, AssistantPart::Text(Text { text: delta }))),
                }
            }
            ModelEvent::Thinking { block, delta } => {
                self.grow(delta.len())?;
                self.thinking(block)?.text.push_str(&delta);
            }
            ModelEvent::ThinkingSignature {
                block,
                signature,
                redacted,
            } => {
                self.grow(signature.len())?;
                let thinking = self.thinking(block)?;
                thinking.signature = Some(signature);
                thinking.redacted = redacted;
            }
            ModelEvent::ToolCall { block, id, name } => {
                self.grow(id.len() + name.len())?;
                if self.part(block).is_some() {
                    return Err(mixed(block));
                }
                let call = ToolCall {
                    id,
                    name,
                    arguments: String::new(),
                };
                self.parts.push((block, AssistantPart::ToolCall(call)));
            }
            ModelEvent::ToolArguments { block, delta } => {
                self.grow(delta.len())?;
                match self.part(block) {
                    Some(AssistantPart::ToolCall(call)) => call.arguments.push_str(&delta),
                    _ => return Err(mixed(block)),
                }
            }
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            ModelEvent::Stop(stop) => self.stop = Some(stop),
        }
        Ok(())
    }

    /// The reply, if it is complete.
    ///
    /// Blank text parts are left out, since no service accepts them back. Calls without an id, or
    /// with one that was used before in this reply, get their own.
    pub fn finish(self) -> ModelResult {
        let Some(stop) = self.stop else {
            return Err(ModelError::StreamCut {
                message: "it ended without saying that it was complete".to_owned(),
            });
        };
        let mut content: Vec<AssistantPart> = Vec::with_capacity(self.parts.len());
        for (_, mut part) in self.parts {
            match &mut part {
                AssistantPart::Text(text) if text.text.trim().is_empty() => continue,
                AssistantPart::Thinking(thinking)
                    if thinking.text.is_empty() && thinking.signature.is_none() =>
                {
                    continue;
                }
                AssistantPart::ToolCall(call) => {
                    let taken = |id: &str| {
                        content.iter().any(|other| {
                            matches!(other, AssistantPart::ToolCall(other) if other.id == id)
                        })
                    };
                    if call.id.trim().is_empty() || taken(&call.id) {
                        // Made from the place, so that a replay makes the same; the loop makes it
                        // unique within the conversation.
                        call.id = format!("call_{}", content.len());
                    }
                }
                _ => {}
            }
            content.push(part);
        }
        Ok(AssistantMessage {
            content,
            model: self.model,
            stop,
            usage: self.usage,
            response_id: self.response_id,
        })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes {
            return Err(ModelError::ReplyTooLarge {
                max_bytes: self.max_bytes,
            });
        }
        Ok(())
    }

    fn part(&mut self, block: u32) -> Option<&mut AssistantPart> {
        // Almost always the last one: streams write part after part.
        self.parts
            .iter_mut()
            .rev()
            .find(|(number, _)| *number == block)
            .map(|(_, part)| part)
    }

    fn thinking(&mut self, block: u32) -> Result<&mut Thinking, ModelError> {
        if self.part(block).is_none() {
            self.parts
                .push((block, AssistantPart::Thinking(Thinking::default())));
        }
        match self.part(block) {
            Some(AssistantPart::Thinking(thinking)) => Ok(thinking),
            _ => Err(mixed(block)),
        }
    }
}

fn mixed(block: u32) -> ModelError {
    ModelError::StreamInvalid {
        message: format!("part {block} of the reply changed its kind"),
    }
}
