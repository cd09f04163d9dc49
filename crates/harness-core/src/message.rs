//! What a conversation is made of.
//!
//! A conversation is a list of [`MessageRef`]s: a user's message, the model's reply, the results of
//! the calls in that reply, and so on. The results of one batch are *one* message, so "every call
//! has exactly one result, in call order" is a property of a single value.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::ModelId;
use crate::outcome::ToolOutcome;
use crate::usage::Usage;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What a person, or the program on a person's behalf, said.
    User(UserMessage),
    /// One reply of a model.
    Assistant(AssistantMessage),
    /// The results of all calls of the reply before it, in call order.
    ToolResults(ToolResults),
}

impl Message {
    /// A user's message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage::text(text))
    }

    /// A rough count of the bytes that a model is sent for this message.
    pub fn approximate_bytes(&self) -> usize {
        match self {
            Self::User(user) => user.content.iter().map(UserPart::approximate_bytes).sum(),
            Self::Assistant(reply) => reply
                .content
                .iter()
                .map(AssistantPart::approximate_bytes)
                .sum(),
            Self::ToolResults(results) => results
                .results
                .iter()
                .map(|r| r.outcome.approximate_bytes() + 32)
                .sum(),
        }
    }
}

/// A user's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its parts, in order.
    pub content: Vec<UserPart>,
}

impl UserMessage {
    /// A message of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![UserPart::Text(Text { text: text.into() })],
        }
    }

    /// Whether there is nothing in it that a model could be sent.
    pub fn is_blank(&self) -> bool {
        self.content.iter().all(UserPart::is_blank)
    }
}

impl<T: Into<String>> From<T> for UserMessage {
    fn from(text: T) -> Self {
        Self::text(text)
    }
}

/// A part of a user's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserPart {
    /// Text.
    Text(Text),
    /// A picture.
    Image(Image),
}

impl UserPart {
    /// Whether it holds nothing that a service accepts.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.text.trim().is_empty(),
            Self::Image(_) => false,
        }
    }

    fn approximate_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.text.len(),
            Self::Image(_) => Image::APPROXIMATE_BYTES,
        }
    }
}

/// Some text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
}

/// A picture, as the bytes of a file that a model can read.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The file, in standard base64 with padding.
    pub data: Arc<str>,
}

impl Image {
    /// What a picture weighs in estimates: models count pictures by their size in pixels, not by
    /// the length of their base64.
    pub const APPROXIMATE_BYTES: usize = 4_800;
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image")
            .field("media_type", &self.media_type)
            .field("base64_bytes", &self.data.len())
            .finish()
    }
}

/// One reply of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Its parts, in the order in which the model said them.
    pub content: Vec<AssistantPart>,
    /// The model that said it; thinking goes back to this model only.
    pub model: ModelId,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What the provider reported; `None` when it said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The provider's name for this reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl AssistantMessage {
    /// All text parts, joined as the model sent them.
    pub fn text(&self) -> String {
        let mut all = String::new();
        for part in &self.content {
            if let AssistantPart::Text(text) = part {
                all.push_str(&text.text);
            }
        }
        all
    }

    /// The calls that the reply asks for, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether it holds neither text nor calls. A reply that is only thinking is empty too: there is
    /// nothing in it to act on or to show.
    pub fn is_empty(&self) -> bool {
        !self.content.iter().any(|part| match part {
            AssistantPart::Text(text) => !text.text.trim().is_empty(),
            AssistantPart::ToolCall(_) => true,
            AssistantPart::Thinking(_) => false,
        })
    }
}

/// A part of a model's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AssistantPart {
    /// Text meant for the user.
    Text(Text),
    /// What the model thought. Goes back unchanged, to the same model, or not at all.
    Thinking(Thinking),
    /// A call that the model asks for.
    ToolCall(ToolCall),
}

impl AssistantPart {
    fn approximate_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.text.len(),
            Self::Thinking(thinking) => {
                thinking.text.len() + thinking.signature.as_ref().map_or(0, String::len)
            }
            Self::ToolCall(call) => call.name.len() + call.arguments.len() + 32,
        }
    }
}

/// A block of thinking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// The readable text; may be empty when the provider hides it.
    pub text: String,
    /// What the provider needs to accept the block again: a signature, or its own encrypted form.
    /// Opaque to everyone but the provider that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Whether the provider withheld the text, so that `signature` is all there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// A call that a model asks for, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the conversation.
    pub id: String,
    /// The tool's name, as the model wrote it; no such tool may exist.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them; may be cut or no JSON at all.
    pub arguments: String,
}

impl ToolCall {
    /// The arguments as text that is certain to be one JSON object, for sending a call back.
    ///
    /// What does not parse as an object becomes `{}`: servers refuse a conversation in which a
    /// call's arguments do not parse, and the call's result already tells the model what was wrong.
    pub fn arguments_or_empty(&self) -> &str {
        match serde_json::from_str(&self.arguments) {
            Ok(serde_json::Value::Object(_)) => &self.arguments,
            _ => "{}",
        }
    }
}

/// Why a model stopped. As JSON, its word: `"end_turn"`, or whatever the provider wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said what it wanted to say: `end_turn`.
    EndTurn,
    /// It waits for the results of its calls: `tool_calls`.
    ToolCalls,
    /// The output cap cut it off: `length`.
    Length,
    /// The provider's filter cut it off, or the model refused: `content_filter`.
    ContentFilter,
    /// A word that this crate does not know, kept as the provider wrote it.
    Other(String),
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::EndTurn => "end_turn",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        })
    }
}

impl From<String> for StopReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "end_turn" => Self::EndTurn,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other(word),
        }
    }
}

impl From<StopReason> for String {
    fn from(stop: StopReason) -> Self {
        match stop {
            StopReason::Other(word) => word,
            known => known.to_string(),
        }
    }
}

/// The results of one batch: one for each call of the reply before, in call order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResults {
    /// The results.
    pub results: Vec<ToolResult>,
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The [`ToolCall::id`] that this answers.
    pub call_id: String,
    /// The [`ToolCall::name`] that this answers.
    pub name: String,
    /// How the call ended.
    pub outcome: Arc<ToolOutcome>,
}

/// A shared message, with room for the bytes that a model's client made of it.
///
/// Histories are cloned for every turn and every middleware, so a message is shared, never copied.
/// A client that serialises history for the wire keeps its bytes here with
/// [`encoded`](Self::encoded): a long conversation is then not serialised anew on each turn.
#[derive(Clone)]
pub struct MessageRef(Arc<Stored>);

struct Stored {
    message: Message,
    encoded: EncodedSlot,
}

impl MessageRef {
    /// Shares a message.
    pub fn new(message: Message) -> Self {
        Self(Arc::new(Stored {
            message,
            encoded: EncodedSlot::default(),
        }))
    }

    /// Whether both are the same message in memory.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The bytes made of this message under `key`, made now if they are not there.
    ///
    /// See [`EncodedSlot::get_or_encode`].
    pub fn encoded(&self, key: u64, encode: impl FnOnce(&Message) -> String) -> Arc<str> {
        self.0
            .encoded
            .get_or_encode(key, || encode(&self.0.message))
    }
}

impl Deref for MessageRef {
    type Target = Message;
    fn deref(&self) -> &Message {
        &self.0.message
    }
}

impl From<Message> for MessageRef {
    fn from(message: Message) -> Self {
        Self::new(message)
    }
}

impl std::fmt::Debug for MessageRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.message.fmt(f)
    }
}

impl PartialEq for MessageRef {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || self.0.message == other.0.message
    }
}

impl Serialize for MessageRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.message.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessageRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Message::deserialize(deserializer).map(Self::new)
    }
}

/// Room for one encoded form of an immutable value.
///
/// The first encoder to come keeps its bytes; another one (a fallback model with another wire
/// format) encodes anew each time, which is correct and only slower.
#[derive(Default)]
pub struct EncodedSlot(OnceLock<(u64, Arc<str>)>);

impl EncodedSlot {
    /// The bytes kept under `key`; else what `encode` makes, kept if the slot is free.
    ///
    /// `key` must name everything that the bytes depend on besides the value itself: the wire
    /// format, its options, the model.
    pub fn get_or_encode(&self, key: u64, encode: impl FnOnce() -> String) -> Arc<str> {
        if let Some((kept, bytes)) = self.0.get() {
            if *kept == key {
                return Arc::clone(bytes);
            }
            return Arc::from(encode());
        }
        let bytes: Arc<str> = Arc::from(encode());
        // Losing a race costs one more encoding later; the bytes returned are right either way.
        let _ = self.0.set((key, Arc::clone(&bytes)));
        bytes
    }
}

impl std::fmt::Debug for EncodedSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "EncodedSlot({} bytes)",
            self.0.get().map_or(0, |(_, bytes)| bytes.len())
        )
    }
}
