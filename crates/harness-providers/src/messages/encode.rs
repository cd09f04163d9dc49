//! From a request to the body that a Messages service is sent.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use harness_core::{
    AssistantMessage, AssistantPart, Image, Message, MessageRef, ModelInfo, ModelRequest,
    OutputPart, ThinkingLevel, ToolChoice, ToolResults, ToolSpecs, UserMessage, UserPart,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::body::{self, Body, Encoding, joined};
use crate::dialect::ThinkingStyle;

/// The bound on the reply, without the thinking, for a model of which none is known. The API wants
/// one always; every model of the last years can write this much.
const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// The least thinking that the API accepts.
const LEAST_BUDGET: u64 = 1_024;

/// The longest call id that is accepted.
const MAX_CALL_ID: usize = 64;

/// What marks the end of a prefix to be cached.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}}"#;

/// The body of a request.
pub(crate) fn body(request: &ModelRequest, encoding: &Encoding<'_>) -> Bytes {
    let Encoding { info, dialect, key } = *encoding;
    let turns = turns(&request.messages, encoding);
    let tools = (!request.tools.is_empty()).then(|| request.tools.encoded(key, encode_tools));
    let system = body::system(request);

    let bytes: usize = turns.iter().map(Turn::bytes).sum();
    let tool_bytes = tools.as_ref().map_or(0, |tools| tools.len());
    let system_bytes = system.map_or(0, |system| system.len() + system.len() / 16);
    let mut body = Body::with_capacity(bytes + tool_bytes + system_bytes + 512);
    body.field("model", &info.id.name);
    body.field("stream", &true);
    limits(&mut body, request, encoding);
    if let Some(tools) = &tools {
        body.optional("tool_choice", tool_choice(&request.tool_choice));
        let text = body.raw("tools");
        text.push('[');
        push_marked(text, tools, dialect.cache_control);
        text.push(']');
    }
    if let Some(system) = system {
        let block = body::json(&Block::Text {
            text: system.into(),
        });
        let text = body.raw("system");
        text.push('[');
        push_marked(text, &block, dialect.cache_control);
        text.push(']');
    }
    // What this request has in common with the last one, and with the next one.
    let marked: Vec<usize> = turns
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, turn)| turn.role == "user" && dialect.cache_control)
        .take(2)
        .map(|(at, _)| at)
        .collect();
    let text = body.raw("messages");
    text.push('[');
    for (at, turn) in turns.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        turn.write(text, marked.contains(&at));
    }
    text.push(']');
    body.finish()
}

/// Bounds, thinking and temperature, which depend on each other.
fn limits(body: &mut Body, request: &ModelRequest, encoding: &Encoding<'_>) {
    let Encoding { info, dialect, .. } = *encoding;
    let asked = body::max_tokens(request, info).or(info.max_output_tokens);
    let level = thinking_level(request, encoding);
    match (level, dialect.thinking_style) {
        (ThinkingLevel::Off, _) => {
            body.field("max_tokens", &asked.unwrap_or(DEFAULT_MAX_TOKENS));
            body.optional("temperature", body::temperature(request));
        }
        (level, ThinkingStyle::Adaptive) => {
            body.field(
                "max_tokens",
                &asked.unwrap_or(DEFAULT_MAX_TOKENS + budget(level)),
            );
            body.field("thinking", &json!({ "type": "adaptive" }));
            body.field("output_config", &json!({ "effort": effort(level) }));
        }
        (level, ThinkingStyle::Budget) => {
            let max = asked.unwrap_or(DEFAULT_MAX_TOKENS + budget(level));
            body.field("max_tokens", &max);
            // The budget is a part of the bound, and must leave room for the answer.
            let room = max.saturating_sub(LEAST_BUDGET);
            if room >= LEAST_BUDGET {
                let budget = budget(level).min(room);
                body.field(
                    "thinking",
                    &json!({ "type": "enabled", "budget_tokens": budget }),
                );
            } else {
                body.optional("temperature", body::temperature(request));
            }
        }
    }
}

/// How much to think, within what the API allows for this request.
fn thinking_level(request: &ModelRequest, encoding: &Encoding<'_>) -> ThinkingLevel {
    let Encoding { info, dialect, .. } = *encoding;
    if info.thinking.is_empty() {
        return ThinkingLevel::Off;
    }
    let forced = matches!(
        request.tool_choice,
        ToolChoice::Required | ToolChoice::Tool(_)
    );
    // A batch of calls that began without this model's thinking cannot go on with it, and thinking
    // is never made up: it waits for the next message of the user.
    let begun_without = dialect.thinking_style == ThinkingStyle::Budget
        && open_turn_lacks_thinking(&request.messages, info);
    if (forced && !request.tools.is_empty()) || begun_without {
        return ThinkingLevel::Off;
    }
    info.nearest_thinking(request.thinking)
}

fn open_turn_lacks_thinking(messages: &[MessageRef], info: &ModelInfo) -> bool {
    if !matches!(
        messages.last().map(|message| &**message),
        Some(Message::ToolResults(_))
    ) {
        return false;
    }
    let start = messages
        .iter()
        .rposition(|message| matches!(**message, Message::User(_)));
    let first_reply = messages
        .iter()
        .skip(start.map_or(0, |at| at + 1))
        .find_map(|message| match &**message {
            Message::Assistant(reply) => Some(reply),
            _ => None,
        });
    first_reply.is_some_and(|reply| {
        let signed = matches!(
            reply.content.first(),
            Some(AssistantPart::Thinking(thinking)) if thinking.signature.is_some()
        );
        reply.model != info.id || !signed
    })
}

fn budget(level: ThinkingLevel) -> u64 {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => LEAST_BUDGET,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High => 16_384,
        ThinkingLevel::XHigh => 32_768,
        ThinkingLevel::Max => 65_536,
    }
}

fn effort(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::XHigh => "xhigh",
        ThinkingLevel::Max => "max",
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!({ "type": "none" })),
        ToolChoice::Required => Some(json!({ "type": "any" })),
        ToolChoice::Tool(name) => Some(json!({ "type": "tool", "name": name })),
        _ => None,
    }
}

fn encode_tools(specs: &ToolSpecs) -> String {
    #[derive(Serialize)]
    struct Tool<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        input_schema: &'a Value,
    }

    joined(specs.iter().map(|spec| Tool {
        name: &spec.name,
        description: &spec.description,
        input_schema: &spec.parameters,
    }))
}

/// A message as the API sees it: all that one side says before the other answers.
struct Turn {
    role: &'static str,
    /// The insides of lists of blocks.
    pieces: Vec<Arc<str>>,
}

impl Turn {
    fn bytes(&self) -> usize {
        48 + MARK.len()
            + self
                .pieces
                .iter()
                .map(|piece| piece.len() + 1)
                .sum::<usize>()
    }

    fn write(&self, text: &mut String, marked: bool) {
        text.push_str(r#"{"role":""#);
        text.push_str(self.role);
        text.push_str(r#"","content":["#);
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            push_marked(text, piece, marked && at + 1 == self.pieces.len());
        }
        text.push_str("]}");
    }
}

/// Adds the inside of a list of objects, the last of them marked. The kept bytes stay as they are.
fn push_marked(text: &mut String, objects: &str, marked: bool) {
    match objects.strip_suffix('}') {
        Some(open) if marked => {
            text.push_str(open);
            text.push_str(MARK);
        }
        _ => text.push_str(objects),
    }
}

/// The conversation, neighbours of the same role joined: the API wants the roles to alternate.
fn turns(messages: &[MessageRef], encoding: &Encoding<'_>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages {
        let role = match &**message {
            Message::Assistant(_) => "assistant",
            _ => "user",
        };
        let piece = message.encoded(encoding.key, |message| encode(message, encoding));
        if piece.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.pieces.push(piece),
            _ => turns.push(Turn {
                role,
                pieces: vec![piece],
            }),
        }
    }
    turns
}

/// The blocks that a service is sent for a message; empty for none.
fn encode(message: &Message, encoding: &Encoding<'_>) -> String {
    match message {
        Message::User(user) => encode_user(user, encoding),
        Message::Assistant(reply) => encode_reply(reply, encoding),
        Message::ToolResults(results) => encode_results(results, encoding),
        _ => String::new(),
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'static>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source {
    r#type: &'static str,
    media_type: String,
    data: Arc<str>,
}

fn picture(image: &Image, encoding: &Encoding<'_>) -> Block<'static> {
    if encoding.info.images {
        let (media_type, data) = (image.media_type.clone(), Arc::clone(&image.data));
        Block::Image {
            source: Source {
                r#type: "base64",
                media_type,
                data,
            },
        }
    } else {
        Block::Text {
            text: body::picture_note(image).into(),
        }
    }
}

fn encode_user(user: &UserMessage, encoding: &Encoding<'_>) -> String {
    joined(user.content.iter().filter_map(|part| match part {
        UserPart::Text(text) if text.text.trim().is_empty() => None,
        UserPart::Text(text) => Some(Block::Text {
            text: text.text.as_str().into(),
        }),
        UserPart::Image(image) => Some(picture(image, encoding)),
        _ => None,
    }))
}

fn encode_reply(reply: &AssistantMessage, encoding: &Encoding<'_>) -> String {
    let parts = body::sendable(reply, encoding).unwrap_or_default();
    joined(parts.into_iter().filter_map(|part| match part {
        AssistantPart::Text(text) => Some(Block::Text {
            text: text.text.as_str().into(),
        }),
        // Without its signature it would be refused, and the text alone proves nothing.
        AssistantPart::Thinking(thinking) => {
            let signature = thinking.signature.as_deref()?;
            Some(if thinking.redacted {
                Block::RedactedThinking { data: signature }
            } else {
                Block::Thinking {
                    thinking: &thinking.text,
                    signature,
                }
            })
        }
        AssistantPart::ToolCall(call) => Some(Block::ToolUse {
            id: body::call_id(&call.id, MAX_CALL_ID),
            name: body::tool_name(&call.name),
            input: body::raw_arguments(call),
        }),
        _ => None,
    }))
}

fn encode_results(results: &ToolResults, encoding: &Encoding<'_>) -> String {
    joined(results.results.iter().map(|result| {
        let content = result
            .outcome
            .shown()
            .into_iter()
            .filter_map(|part| match part {
                OutputPart::Text(text) => Some(Block::Text {
                    text: text.text.into(),
                }),
                OutputPart::Image(image) => Some(picture(&image, encoding)),
                _ => None,
            });
        Block::ToolResult {
            tool_use_id: body::call_id(&result.call_id, MAX_CALL_ID),
            content: content.collect(),
            is_error: result.outcome.is_error(),
        }
    }))
}
