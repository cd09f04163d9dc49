//! Folding the events of a streamed reply into a message.

use std::collections::{HashMap, HashSet};

use crate::error::ModelError;
use crate::message::{AssistantMessage, AssistantPart, StopReason, Text, Thinking, ToolCall};
use crate::model::{ModelEvent, ModelId, ModelResult};
use crate::usage::Usage;

/// The most bytes of one reply: far above what any model writes, far below what hurts.
pub const MAX_REPLY_BYTES: usize = 32 * 1024 * 1024;

/// What a part counts beside its bytes: a stream of empty parts must reach the bound too.
const PART_BYTES: usize = 64;

/// Builds one reply from its events.
///
/// Holds the bounds and the rule that a reply without its [`ModelEvent::Stop`] is no reply.
#[derive(Debug)]
pub struct ReplyBuilder {
    model: ModelId,
    response_id: Option<String>,
    /// The parts in order of appearance.
    parts: Vec<AssistantPart>,
    /// Where each part is, by the number that the client gave it.
    places: HashMap<u32, usize>,
    /// The part that was written to last, which is almost always the next one too.
    last: Option<(u32, usize)>,
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
            places: HashMap::new(),
            last: None,
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
            ModelEvent::Text { block, delta } => self.push_text(block, &delta)?,
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
                self.begin(block, AssistantPart::ToolCall(call))?;
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

    /// [`push`](Self::push) for text, of which most streams consist: the delta can then be given on.
    pub(crate) fn push_text(&mut self, block: u32, delta: &str) -> Result<(), ModelError> {
        self.grow(delta.len())?;
        match self.part(block) {
            Some(AssistantPart::Text(text)) => text.text.push_str(delta),
            Some(_) => return Err(mixed(block)),
            None => {
                let text = delta.to_owned();
                self.begin(block, AssistantPart::Text(Text { text }))?;
            }
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
        Ok(AssistantMessage {
            content: tidy(self.parts),
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

    fn begin(&mut self, block: u32, part: AssistantPart) -> Result<(), ModelError> {
        self.grow(PART_BYTES)?;
        self.places.insert(block, self.parts.len());
        self.parts.push(part);
        Ok(())
    }

    fn part(&mut self, block: u32) -> Option<&mut AssistantPart> {
        let place = match self.last {
            Some((last, place)) if last == block => place,
            _ => *self.places.get(&block)?,
        };
        self.last = Some((block, place));
        self.parts.get_mut(place)
    }

    fn thinking(&mut self, block: u32) -> Result<&mut Thinking, ModelError> {
        if self.part(block).is_none() {
            self.begin(block, AssistantPart::Thinking(Thinking::default()))?;
        }
        match self.part(block) {
            Some(AssistantPart::Thinking(thinking)) => Ok(thinking),
            _ => Err(mixed(block)),
        }
    }
}

/// Leaves out what no service accepts back, and gives each call an id of its own within the reply.
pub(crate) fn tidy(parts: Vec<AssistantPart>) -> Vec<AssistantPart> {
    let mut ids: HashSet<String> = HashSet::new();
    let mut content = Vec::with_capacity(parts.len());
    for mut part in parts {
        if is_blank(&part) {
            continue;
        }
        if let AssistantPart::ToolCall(call) = &mut part {
            if call.id.trim().is_empty() {
                // Made from the place, so that a replay makes the same.
                call.id = format!("call_{}", content.len());
            }
            make_unique(&mut call.id, &mut ids);
        }
        content.push(part);
    }
    content
}

/// Whether a part holds nothing that a service accepts back.
pub(crate) fn is_blank(part: &AssistantPart) -> bool {
    match part {
        AssistantPart::Text(text) => text.text.trim().is_empty(),
        AssistantPart::Thinking(thinking) => {
            thinking.text.is_empty() && thinking.signature.is_none()
        }
        AssistantPart::ToolCall(_) => false,
    }
}

/// Adds `id` to `ids`, with a number behind it if it is there already.
pub(crate) fn make_unique(id: &mut String, ids: &mut HashSet<String>) {
    let given = id.clone();
    let mut copy = 1_u32;
    while !ids.insert(id.clone()) {
        // A reply may hold a great many calls of one id: after a few tries, begin where it is free.
        copy = if copy < 8 {
            copy + 1
        } else {
            copy.max(ids.len() as u32) + 1
        };
        *id = format!("{given}_{copy}");
    }
}

fn mixed(block: u32) -> ModelError {
    ModelError::StreamInvalid {
        message: format!("part {block} of the reply changed its kind"),
    }
}
