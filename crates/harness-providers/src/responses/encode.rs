//! From a request to the body that a Responses service is sent.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use harness_core::{
    AssistantMessage, AssistantPart, Image, Message, ModelRequest, OutputPart, ThinkingLevel,
    ToolChoice, ToolResults, ToolSpecs, UserMessage, UserPart,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::body::{self, Body, Encoding, joined};
use crate::dialect::Dialect;

/// The longest call id that is accepted.
const MAX_CALL_ID: usize = 64;

/// The least that the bound on the reply may be.
const LEAST_MAX_TOKENS: u64 = 16;

/// The body of a request.
pub(crate) fn body(request: &ModelRequest, encoding: &Encoding<'_>) -> Bytes {
    let Encoding { info, dialect, key } = *encoding;
    let items: Vec<Arc<str>> = request
        .messages
        .iter()
        .map(|message| message.encoded(key, |message| encode(message, encoding)))
        .collect();
    let tools = (!request.tools.is_empty()).then(|| {
        request
            .tools
            .encoded(key, |specs| encode_tools(specs, dialect))
    });
    let system = body::system(request);

    let bytes: usize = items.iter().map(|item| item.len() + 1).sum();
    let tool_bytes = tools.as_ref().map_or(0, |tools| tools.len());
    let system_bytes = system.map_or(0, |system| system.len() + system.len() / 16);
    let mut body = Body::with_capacity(bytes + tool_bytes + system_bytes + 512);
    body.field("model", &info.id.name);
    body.field("stream", &true);
    body.field("store", &false);
    if dialect.encrypted_reasoning {
        body.field("include", &["reasoning.encrypted_content"]);
    }
    body.optional(
        "max_output_tokens",
        body::max_tokens(request, info).map(|max| max.max(LEAST_MAX_TOKENS)),
    );
    body.optional("temperature", body::temperature(request));
    let level = info.nearest_thinking(request.thinking);
    if !info.thinking.is_empty() && level != ThinkingLevel::Off {
        let summary = dialect.reasoning_summary.then_some("auto");
        body.field(
            "reasoning",
            &Reasoning {
                effort: level.as_str(),
                summary,
            },
        );
    }
    if dialect.prompt_cache_key {
        body.optional("prompt_cache_key", request.cache_key.as_deref());
    }
    if let Some(tools) = &tools {
        body.optional("parallel_tool_calls", dialect.parallel_tool_calls);
        body.optional("tool_choice", tool_choice(&request.tool_choice));
        body.list("tools", [&**tools]);
    }
    body.optional("instructions", system);
    body.list("input", items.iter().map(|item| &**item));
    body.finish()
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Tool(name) => Some(json!({ "type": "function", "name": name })),
        _ => None,
    }
}

fn encode_tools(specs: &ToolSpecs, dialect: &Dialect) -> String {
    #[derive(Serialize)]
    struct Tool<'a> {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        parameters: &'a Value,
        /// Always said: left out it means `true` here, which few schemas can satisfy.
        strict: bool,
    }

    joined(specs.iter().map(|spec| Tool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.parameters,
        strict: dialect.strict_tools.unwrap_or(false),
    }))
}

/// The items that a service is sent for a message; empty for none.
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
enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output,
    },
    #[serde(untagged)]
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: &'a str },
    InputImage { image_url: String },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output {
    Text(String),
    Parts(Vec<Part<'static>>),
}

fn picture(image: &Image, encoding: &Encoding<'_>) -> Part<'static> {
    if encoding.info.images {
        Part::InputImage {
            image_url: body::data_url(image),
        }
    } else {
        Part::InputText {
            text: body::picture_note(image).into(),
        }
    }
}

fn encode_user(user: &UserMessage, encoding: &Encoding<'_>) -> String {
    let content: Vec<Part<'_>> = user
        .content
        .iter()
        .filter_map(|part| match part {
            UserPart::Text(text) if text.text.trim().is_empty() => None,
            UserPart::Text(text) => Some(Part::InputText {
                text: text.text.as_str().into(),
            }),
            UserPart::Image(image) => Some(picture(image, encoding)),
            _ => None,
        })
        .collect();
    if content.is_empty() {
        return String::new();
    }
    body::json(&Item::Message {
        role: "user",
        content,
    })
}

fn encode_reply(reply: &AssistantMessage, encoding: &Encoding<'_>) -> String {
    let parts = body::sendable(reply, encoding).unwrap_or_default();
    joined(parts.into_iter().filter_map(|part| {
        match part {
            AssistantPart::Text(text) => Some(Item::Message {
                role: "assistant",
                content: vec![Part::OutputText { text: &text.text }],
            }),
            // The item as it came. Without it there is nothing that the service could check.
            AssistantPart::Thinking(thinking) => thinking
                .signature
                .as_deref()
                .and_then(|item| serde_json::from_str::<&RawValue>(item).ok())
                .filter(|item| item.get().starts_with('{'))
                .map(Item::Raw),
            AssistantPart::ToolCall(call) => Some(Item::FunctionCall {
                call_id: body::call_id(&call.id, MAX_CALL_ID),
                name: body::tool_name(&call.name),
                arguments: body::arguments(call),
            }),
            _ => None,
        }
    }))
}

fn encode_results(results: &ToolResults, encoding: &Encoding<'_>) -> String {
    joined(results.results.iter().map(|result| {
        let shown = result.outcome.shown();
        let has_picture = shown
            .iter()
            .any(|part| matches!(part, OutputPart::Image(_)));
        let output = if has_picture {
            let parts = shown.into_iter().filter_map(|part| match part {
                OutputPart::Text(text) => Some(Part::InputText {
                    text: text.text.into(),
                }),
                OutputPart::Image(image) => Some(picture(&image, encoding)),
                _ => None,
            });
            Output::Parts(parts.collect())
        } else {
            Output::Text(result.outcome.shown_text())
        };
        Item::FunctionCallOutput {
            call_id: body::call_id(&result.call_id, MAX_CALL_ID),
            output,
        }
    }))
}
