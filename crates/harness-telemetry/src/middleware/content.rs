//! Content in spans: what is recorded of prompts, replies, arguments and results once that is switched on.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use harness_core::{
    AssistantMessage, AssistantPart, Message, MessageRef, ModelRequest, OutputPart, ToolOutcome,
    UserPart,
};
use serde_json::{Value, json};

use super::inner::finish_reason;
use super::secret_shapes::SecretShapes;

/// The most bytes of one attribute, by default.
const MAX_BYTES: usize = 16 * 1024;

/// How content is recorded: in the attributes of the conventions, as JSON, bounded, with secrets masked.
///
/// Two things must be switched on: this, and [`content`](crate::export::ExporterBuilder::content) of an exporter,
/// which else takes such attributes out.
#[derive(Clone)]
pub struct ContentCapture {
    max_bytes: usize,
    redactor: Arc<dyn Redactor>,
}

/// Takes out of content what nobody may see.
pub trait Redactor: Send + Sync {
    /// The text without it. Called for each piece of text alone, before it becomes JSON.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;

    /// Whether the value of an argument of this name is masked as a whole.
    fn is_secret_name(&self, name: &str) -> bool {
        let _ = name;
        false
    }
}

/// What is recorded of a request.
pub(super) struct RequestContent {
    pub(super) system: Option<String>,
    pub(super) messages: String,
    pub(super) tools: Option<String>,
}

impl ContentCapture {
    /// At most 16 KiB in one attribute, without what looks like a [secret](SecretShapes).
    pub fn new() -> Self {
        Self {
            max_bytes: MAX_BYTES,
            redactor: Arc::new(SecretShapes::new()),
        }
    }

    /// Sets the most bytes of one attribute. What is more is left out: of a conversation, the oldest messages.
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Takes out what this one takes out, instead.
    pub fn redactor(mut self, redactor: impl Redactor + 'static) -> Self {
        self.redactor = Arc::new(redactor);
        self
    }

    pub(super) fn request(&self, request: &ModelRequest) -> RequestContent {
        let system = request
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty());
        let system = system.map(|text| json!([{"type": "text", "content": self.text(text)}]));
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|spec| json!({"type": "function", "name": spec.name, "description": spec.description}))
            .collect();
        RequestContent {
            system: system.map(|system| system.to_string()),
            messages: self.messages(&request.messages),
            tools: (!tools.is_empty()).then(|| self.bounded(tools)),
        }
    }

    pub(super) fn reply(&self, reply: &AssistantMessage) -> String {
        let mut message = self.assistant(reply);
        message["finish_reason"] = json!(finish_reason(&reply.stop));
        self.bounded(vec![message])
    }

    pub(super) fn arguments(&self, arguments: &Value) -> String {
        self.whole(&self.masked(arguments))
    }

    pub(super) fn result(&self, outcome: &ToolOutcome) -> String {
        self.whole(&json!(self.shown(outcome)))
    }

    fn shown(&self, outcome: &ToolOutcome) -> Vec<Value> {
        outcome
            .shown()
            .iter()
            .map(|part| match part {
                OutputPart::Text(text) => json!({"type": "text", "content": self.text(&text.text)}),
                OutputPart::Image(image) => json!({"type": "blob", "mime_type": image.media_type}),
                _ => other(),
            })
            .collect()
    }

    /// The newest messages that find room.
    fn messages(&self, messages: &[MessageRef]) -> String {
        let mut room = self.max_bytes;
        let mut shown = Vec::new();
        for message in messages.iter().rev() {
            let value = self.message(message);
            let bytes = value.to_string().len() + 1;
            if bytes > room && !shown.is_empty() {
                break;
            }
            room = room.saturating_sub(bytes);
            shown.push(value);
        }
        let omitted = messages.len() - shown.len();
        if omitted > 0 {
            shown.push(json!({"role": "system", "parts": [], "omitted_messages": omitted}));
        }
        shown.reverse();
        self.bounded(shown)
    }

    fn message(&self, message: &Message) -> Value {
        match message {
            Message::User(user) => {
                let parts = user.content.iter().map(|part| match part {
                    UserPart::Text(text) => {
                        json!({"type": "text", "content": self.text(&text.text)})
                    }
                    UserPart::Image(image) => {
                        json!({"type": "blob", "mime_type": image.media_type})
                    }
                    _ => other(),
                });
                json!({"role": "user", "parts": parts.collect::<Vec<_>>()})
            }
            Message::Assistant(reply) => self.assistant(reply),
            Message::ToolResults(results) => {
                let parts = results.results.iter().map(|result| {
                    json!({
                        "type": "tool_call_response",
                        "id": result.call_id,
                        "response": self.shown(&result.outcome),
                    })
                });
                json!({"role": "tool", "parts": parts.collect::<Vec<_>>()})
            }
            _ => json!({"role": "other", "parts": []}),
        }
    }

    fn assistant(&self, reply: &AssistantMessage) -> Value {
        let parts = reply.content.iter().map(|part| match part {
            AssistantPart::Text(text) => json!({"type": "text", "content": self.text(&text.text)}),
            AssistantPart::Thinking(thinking) => {
                json!({"type": "reasoning", "content": self.text(&thinking.text)})
            }
            AssistantPart::ToolCall(call) => {
                let arguments = match serde_json::from_str::<Value>(&call.arguments) {
                    Ok(arguments) => self.masked(&arguments),
                    Err(_) => json!(self.text(&call.arguments)),
                };
                json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
            }
            _ => other(),
        });
        json!({"role": "assistant", "parts": parts.collect::<Vec<_>>()})
    }

    /// A text without secrets, cut to what an attribute may have.
    fn text(&self, text: &str) -> String {
        // Looked at whole: a cut could hide half of a secret from the redactor.
        let text = self.redactor.redact(text);
        // Room for what is around it, and for the escapes of JSON.
        let room = self.max_bytes.saturating_sub(256).max(64) / 2;
        if text.len() <= room {
            return text.into_owned();
        }
        let mut end = room;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}… [{} bytes left out]", &text[..end], text.len() - end)
    }

    /// Arguments without secrets.
    fn masked(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(all) => all.iter().map(|value| self.masked(value)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| {
                    let masked = if self.redactor.is_secret_name(name) && !value.is_number() {
                        json!("[redacted]")
                    } else {
                        self.masked(value)
                    };
                    (self.redactor.redact(name).into_owned(), masked)
                })
                .collect(),
            other => other.clone(),
        }
    }

    /// A list that fits, with its newest elements.
    fn bounded(&self, mut all: Vec<Value>) -> String {
        loop {
            let text = Value::Array(all.clone()).to_string();
            if text.len() <= self.max_bytes || all.is_empty() {
                return text;
            }
            all.remove(0);
        }
    }

    /// A value that fits, or how large it is.
    fn whole(&self, value: &Value) -> String {
        let text = value.to_string();
        if text.len() <= self.max_bytes {
            return text;
        }
        json!({"omitted_bytes": text.len()}).to_string()
    }
}

impl Default for ContentCapture {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ContentCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentCapture")
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// A part of a kind that this crate does not know.
fn other() -> Value {
    json!({"type": "other"})
}
