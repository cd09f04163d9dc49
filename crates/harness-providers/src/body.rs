//! Writing a request's body.
//!
//! A conversation grows by a message or two a turn, and all before them stays as it was. So each
//! message's bytes are made once and kept with the message
//! ([`MessageRef::encoded`](harness_core::MessageRef::encoded)); a body is these pieces, copied one
//! after the other into one buffer.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use harness_core::{AssistantMessage, AssistantPart, Image, ModelInfo, ModelRequest, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::api::Api;
use crate::dialect::Dialect;

/// What the bytes of a message depend on, beside the message.
#[derive(Clone, Copy)]
pub(crate) struct Encoding<'a> {
    pub(crate) info: &'a ModelInfo,
    pub(crate) dialect: &'a Dialect,
    /// Names all of the above, and the API, in the slots where bytes are kept.
    pub(crate) key: u64,
}

/// The key under which bytes are kept.
pub(crate) fn encoding_key(api: Api, dialect: &Dialect, info: &ModelInfo) -> u64 {
    let mut hasher = DefaultHasher::new();
    (api, dialect, &info.id, info.images).hash(&mut hasher);
    hasher.finish()
}

/// A value as JSON.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    // Cannot fail: nothing that is written here has a map with keys other than text.
    serde_json::to_string(value).unwrap_or_default()
}

/// Values as the inside of a JSON list; empty for none.
pub(crate) fn joined<T: Serialize>(values: impl IntoIterator<Item = T>) -> String {
    let mut all = String::new();
    for value in values {
        if !all.is_empty() {
            all.push(',');
        }
        all.push_str(&json(&value));
    }
    all
}

/// A JSON object that is being written.
pub(crate) struct Body(String);

impl Body {
    /// An object that will be about `bytes` long.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        Self(text)
    }

    /// Adds a field.
    pub(crate) fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        let value = json(value);
        self.raw(name).push_str(&value);
    }

    /// Adds a field if there is a value.
    pub(crate) fn optional<T: Serialize>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.field(name, &value);
        }
    }

    /// Adds a field whose value the caller writes.
    pub(crate) fn raw(&mut self, name: &str) -> &mut String {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        &mut self.0
    }

    /// Adds a list, made of the insides of lists.
    pub(crate) fn list<'a>(&mut self, name: &str, pieces: impl IntoIterator<Item = &'a str>) {
        let text = self.raw(name);
        text.push('[');
        let mut first = true;
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            if !first {
                text.push(',');
            }
            first = false;
            text.push_str(piece);
        }
        text.push(']');
    }

    /// The bytes.
    pub(crate) fn finish(mut self) -> Bytes {
        self.0.push('}');
        Bytes::from(self.0)
    }
}

/// The system prompt, unless it is blank.
pub(crate) fn system(request: &ModelRequest) -> Option<&str> {
    request
        .system
        .as_deref()
        .filter(|system| !system.trim().is_empty())
}

/// The temperature, if it is a number. Via its digits: as `f64`, 0.2 would become 0.20000000298.
pub(crate) fn temperature(request: &ModelRequest) -> Option<f32> {
    request
        .temperature
        .filter(|temperature| temperature.is_finite())
}

/// The bound on the reply's tokens: what is asked for, within what the model can.
pub(crate) fn max_tokens(request: &ModelRequest, info: &ModelInfo) -> Option<u64> {
    let asked = request.max_output_tokens?;
    Some(info.max_output_tokens.map_or(asked, |cap| asked.min(cap)))
}

/// The parts of a reply that may go back to the model of `encoding`, and whether there is anything
/// in them that makes a message.
///
/// Thinking goes back only to the model that thought it, and not as the last thing of a message: it
/// would belong to something that was never said, and services refuse it.
pub(crate) fn sendable<'m>(
    reply: &'m AssistantMessage,
    encoding: &Encoding<'_>,
) -> Option<Vec<&'m AssistantPart>> {
    let own = reply.model == encoding.info.id;
    let mut parts: Vec<&AssistantPart> = reply
        .content
        .iter()
        .filter(|part| match part {
            AssistantPart::Text(text) => !text.text.trim().is_empty(),
            AssistantPart::ToolCall(_) => true,
            AssistantPart::Thinking(_) => own,
            _ => false,
        })
        .collect();
    while matches!(parts.last(), Some(AssistantPart::Thinking(_))) {
        parts.pop();
    }
    (!parts.is_empty()).then_some(parts)
}

/// A picture as a `data:` URL.
pub(crate) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

/// What stands for a picture that the model cannot be sent.
pub(crate) fn picture_note(image: &Image) -> String {
    format!(
        "[A picture ({}) was left out: this model is not sent pictures.]",
        image.media_type
    )
}

/// The arguments of a call as JSON that every service accepts back.
pub(crate) fn arguments(call: &ToolCall) -> &str {
    let text = call.arguments_or_empty();
    // An escape like `\ud800` is JSON by the grammar but no text; strict readers refuse it.
    let suspicious = text.contains("\\ud") || text.contains("\\uD");
    if suspicious && serde_json::from_str::<serde_json::Value>(text).is_err() {
        "{}"
    } else {
        text
    }
}

/// The arguments of a call as a value to write as it is.
pub(crate) fn raw_arguments(call: &ToolCall) -> &RawValue {
    serde_json::from_str(arguments(call)).unwrap_or(RawValue::NULL)
}

/// A tool's name in a call that goes back: as the model wrote it, unless no service accepts that.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(is_fine) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .take(64)
        .map(|c| if is_fine(c) { c } else { '_' })
        .collect();
    Cow::Owned(if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    })
}

/// A call's id for services that accept letters, digits, `-` and `_`: as it is where that will do,
/// else one made from it, the same for the call and its result.
pub(crate) fn call_id(id: &str, max: usize) -> Cow<'_, str> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=max).contains(&id.len()) && id.chars().all(is_fine) {
        return Cow::Borrowed(id);
    }
    let start: String = id
        .chars()
        .filter(|c| is_fine(*c))
        .take(max.saturating_sub(17))
        .collect();
    Cow::Owned(format!("{start}_{:016x}", stable_hash(id)))
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A call's id of exactly nine letters and digits.
pub(crate) fn short_call_id(id: &str) -> Cow<'_, str> {
    if id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let mut rest = stable_hash(id);
    let short = (0..9).map(|_| {
        let digit = DIGITS[(rest % 36) as usize];
        rest /= 36;
        char::from(digit)
    });
    Cow::Owned(short.collect())
}

/// FNV-1a: the same in every process and version, since it ends up in conversations that go on.
fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_kept_or_replaced_the_same_way() {
        assert_eq!(call_id("call_1", 40), "call_1");
        assert_eq!(
            call_id("functions.read:0", 40),
            call_id("functions.read:0", 40)
        );
        assert_ne!(
            call_id("functions.read:0", 40),
            call_id("functions.read:1", 40)
        );
        let long = "x".repeat(100);
        assert_eq!(call_id(&long, 40).len(), 40);
        assert_eq!(call_id("", 40).len(), 17);
        assert_eq!(short_call_id("abcDEF123"), "abcDEF123");
        assert_eq!(short_call_id("call_1").len(), 9);
        assert_eq!(tool_name("read"), "read");
        assert_eq!(tool_name("read file!"), "read_file_");
        assert_eq!(tool_name(""), "unnamed");
    }

    #[test]
    fn arguments_that_go_back_are_text_that_every_reader_accepts() {
        let call = |arguments: &str| ToolCall {
            id: "1".into(),
            name: "t".into(),
            arguments: arguments.into(),
        };
        assert_eq!(arguments(&call(r#"{"a":"\u00e9"}"#)), r#"{"a":"\u00e9"}"#);
        assert_eq!(arguments(&call(r#"{"a":"\ud800"}"#)), "{}");
        assert_eq!(
            arguments(&call(r#"{"a":"\ud83d\ude00"}"#)),
            r#"{"a":"\ud83d\ude00"}"#
        );
        assert_eq!(arguments(&call(r#"{"a"#)), "{}");
    }
}
