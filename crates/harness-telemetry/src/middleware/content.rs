//! Content in spans: what is recorded of prompts, replies, arguments and results once that is switched on.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use harness_core::{
    AssistantMessage, AssistantPart, Message, MessageRef, ModelRequest, OutputPart, Secrets,
    ToolOutcome, UserPart,
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
    secrets: Secrets,
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
            secrets: Secrets::new(),
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

    /// Masks these, too, whatever they look like and whatever the [redactor](Self::redactor) does; beside those that
    /// it was given before.
    pub fn secrets(mut self, secrets: &Secrets) -> Self {
        self.secrets = self.secrets.with(secrets);
        self
    }

    /// A text without what nobody may see.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.secrets.mask(text) {
            Cow::Borrowed(text) => self.redactor.redact(text),
            Cow::Owned(masked) => Cow::Owned(self.redactor.redact(&masked).into_owned()),
        }
    }

    pub(super) fn request(&self, request: &ModelRequest) -> RequestContent {
        let system = request
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty());
        let system = system.map(|text| json!([{"type": "text", "content": self.text(text)}]));
        RequestContent {
            system: system.map(|system| self.fitted(system)),
            messages: self.messages(&request.messages),
            tools: (!request.tools.is_empty()).then(|| self.tools(request)),
        }
    }

    pub(super) fn reply(&self, reply: &AssistantMessage) -> String {
        let mut message = self.assistant(reply);
        message["finish_reason"] = json!(finish_reason(&reply.stop));
        self.fitted(json!([message]))
    }

    pub(super) fn arguments(&self, arguments: &Value) -> String {
        self.fitted(self.masked(arguments))
    }

    pub(super) fn result(&self, outcome: &ToolOutcome) -> String {
        self.fitted(json!(self.shown(outcome)))
    }

    /// The first tools that find room: with what they are for, if that is room for all.
    fn tools(&self, request: &ModelRequest) -> String {
        for described in [true, false] {
            let mut list = BoundedList::new(self.max_bytes);
            let all = request.tools.iter().all(|spec| {
                let mut tool = json!({"type": "function", "name": self.text(&spec.name)});
                if described {
                    tool["description"] = json!(self.text(&spec.description));
                }
                list.push(tool.to_string())
            });
            if all || !described {
                return list.text();
            }
        }
        "[]".to_owned()
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

    /// The newest messages that find room; the last one at least in part.
    fn messages(&self, messages: &[MessageRef]) -> String {
        // Room for telling how many there were before.
        let mut list = BoundedList::new(self.max_bytes.saturating_sub(80));
        let mut omitted = messages.len();
        for message in messages.iter().rev() {
            let mut value = self.message(message);
            let text = if list.is_empty() {
                fit(&mut value, list.room).unwrap_or_default()
            } else {
                value.to_string()
            };
            if text.is_empty() || !list.push(text) {
                break;
            }
            omitted -= 1;
        }
        if omitted > 0 {
            list.limit(self.max_bytes);
            let told = json!({"role": "system", "parts": [], "omitted_messages": omitted});
            list.push(told.to_string());
        }
        list.items.reverse();
        list.text()
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
                        "id": self.text(&result.call_id),
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
                json!({
                    "type": "tool_call",
                    "id": self.text(&call.id),
                    "name": self.text(&call.name),
                    "arguments": arguments,
                })
            }
            _ => other(),
        });
        json!({"role": "assistant", "parts": parts.collect::<Vec<_>>()})
    }

    /// A text without secrets, cut to what an attribute may have.
    fn text(&self, text: &str) -> String {
        // Looked at whole: a cut could hide half of a secret from the redactor.
        let text = self.redact(text);
        // Room for what is around it.
        let room = self.max_bytes / 2;
        if text.len() <= room {
            return text.into_owned();
        }
        let end = text.floor_char_boundary(room);
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
                    (self.redact(name).into_owned(), masked)
                })
                .collect(),
            other => other.clone(),
        }
    }

    /// A value that fits: with shorter texts, if it must be, or only how large it is.
    fn fitted(&self, mut value: Value) -> String {
        if let Some(text) = fit(&mut value, self.max_bytes) {
            return text;
        }
        let omitted = json!({"omitted_bytes": value.to_string().len()});
        let (told, nothing) = match value {
            Value::Array(_) => (json!([omitted]), "[]"),
            _ => (omitted, "{}"),
        };
        Some(told.to_string())
            .filter(|told| told.len() <= self.max_bytes)
            .unwrap_or_else(|| nothing.to_owned())
    }
}

/// The shortest that texts are cut to, in bytes.
const SHORTEST: usize = 32;

/// The JSON of a value, if it finds room when its texts are cut. What is cut has no secrets any more.
fn fit(value: &mut Value, max: usize) -> Option<String> {
    let mut room = max;
    loop {
        let text = value.to_string();
        if text.len() <= max {
            return Some(text);
        }
        // Escapes can make a text six times as long.
        room /= 4;
        if room < SHORTEST {
            return None;
        }
        shorten(value, room);
    }
}

fn shorten(value: &mut Value, room: usize) {
    match value {
        Value::String(text) if text.len() > room => {
            text.truncate(text.floor_char_boundary(room));
            text.push('…');
        }
        Value::Array(all) => all.iter_mut().for_each(|value| shorten(value, room)),
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(_, value)| shorten(value, room)),
        _ => {}
    }
}

/// A list of JSON that is no longer than it may be.
struct BoundedList {
    items: Vec<String>,
    /// How many bytes there is room for, with the commas.
    room: usize,
    used: usize,
}

impl BoundedList {
    fn new(max_bytes: usize) -> Self {
        Self {
            items: Vec::new(),
            room: max_bytes.saturating_sub(2),
            used: 0,
        }
    }

    fn limit(&mut self, max_bytes: usize) {
        self.room = max_bytes.saturating_sub(2);
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds an item, if it finds room.
    fn push(&mut self, item: String) -> bool {
        let used = self.used + item.len() + usize::from(!self.items.is_empty());
        if used > self.room {
            return false;
        }
        self.used = used;
        self.items.push(item);
        true
    }

    fn text(&self) -> String {
        format!("[{}]", self.items.join(","))
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
