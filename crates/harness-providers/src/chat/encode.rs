//! From a request to the body that a chat service is sent.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use harness_core::{
    AssistantMessage, AssistantPart, Image, Message, ModelRequest, OutputPart, ThinkingLevel,
    ToolChoice, ToolResults, ToolSpecs, UserMessage, UserPart,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::body::{self, Body, Encoding, joined};
use crate::dialect::{
    CallIds, Dialect, EmptyContent, MaxTokensField, ReasoningControl, ReasoningEcho, SystemRole,
};

/// The body of a request.
pub(crate) fn body(request: &ModelRequest, encoding: &Encoding<'_>) -> Bytes {
    let Encoding { info, dialect, key } = *encoding;
    let system = body::system(request).map(|system| {
        let role = match dialect.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        body::json(&Plain {
            role,
            content: system,
        })
    });
    let messages: Vec<Arc<str>> = request
        .messages
        .iter()
        .map(|message| message.encoded(key, |message| encode(message, encoding)))
        .collect();
    let tools = (!request.tools.is_empty()).then(|| {
        request
            .tools
            .encoded(key, |specs| encode_tools(specs, dialect))
    });

    let bytes: usize = messages.iter().map(|message| message.len() + 1).sum();
    let tool_bytes = tools.as_ref().map_or(0, |tools| tools.len());
    let system_bytes = system.as_ref().map_or(0, String::len);
    let mut body = Body::with_capacity(bytes + tool_bytes + system_bytes + 512);
    body.field("model", &info.id.name);
    body.field("stream", &true);
    if dialect.stream_usage {
        body.field("stream_options", &json!({ "include_usage": true }));
    }
    let max_tokens = match dialect.max_tokens_field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    body.optional(max_tokens, body::max_tokens(request, info));
    body.optional("temperature", body::temperature(request));
    if !info.thinking.is_empty() {
        reasoning(
            &mut body,
            dialect.reasoning_control,
            info.nearest_thinking(request.thinking),
        );
    }
    body.optional("store", dialect.store);
    if dialect.prompt_cache_key {
        body.optional("prompt_cache_key", request.cache_key.as_deref());
    }
    if let Some(tools) = &tools {
        body.optional("parallel_tool_calls", dialect.parallel_tool_calls);
        body.optional("tool_choice", tool_choice(&request.tool_choice));
        body.list("tools", [&**tools]);
    }
    body.list(
        "messages",
        system
            .as_deref()
            .into_iter()
            .chain(messages.iter().map(|message| &**message)),
    );
    body.finish()
}

fn reasoning(body: &mut Body, control: ReasoningControl, level: ThinkingLevel) {
    let on = level != ThinkingLevel::Off;
    match control {
        ReasoningControl::Effort if on => body.field("reasoning_effort", level.as_str()),
        // Not every model knows how not to think; what it does then is its own default.
        ReasoningControl::Effort | ReasoningControl::None => {}
        ReasoningControl::EffortObject if on => {
            body.field("reasoning", &json!({ "effort": level.as_str() }));
        }
        ReasoningControl::EffortObject => body.field("reasoning", &json!({ "enabled": false })),
        ReasoningControl::EnableThinking => body.field("enable_thinking", &on),
        ReasoningControl::ThinkingType => {
            let word = if on { "enabled" } else { "disabled" };
            body.field("thinking", &json!({ "type": word }));
        }
        ReasoningControl::TemplateArguments => {
            body.field("chat_template_kwargs", &json!({ "enable_thinking": on }));
        }
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Tool(name) => Some(json!({ "type": "function", "function": { "name": name } })),
        _ => None,
    }
}

fn encode_tools(specs: &ToolSpecs, dialect: &Dialect) -> String {
    #[derive(Serialize)]
    struct Tool<'a> {
        r#type: &'static str,
        function: Function<'a>,
    }

    #[derive(Serialize)]
    struct Function<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        parameters: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    }

    joined(specs.iter().map(|spec| Tool {
        r#type: "function",
        function: Function {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.parameters,
            strict: dialect.strict_tools,
        },
    }))
}

/// The messages that a service is sent for one of ours; empty for none.
fn encode(message: &Message, encoding: &Encoding<'_>) -> String {
    match message {
        Message::User(user) => encode_user(user, encoding),
        Message::Assistant(reply) => encode_reply(reply, encoding),
        Message::ToolResults(results) => encode_results(results, encoding),
        _ => String::new(),
    }
}

#[derive(Serialize)]
struct Plain<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct Parts<'a> {
    role: &'a str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

fn picture(image: &Image, encoding: &Encoding<'_>) -> Part<'static> {
    if encoding.info.images {
        Part::ImageUrl {
            image_url: ImageUrl {
                url: body::data_url(image),
            },
        }
    } else {
        Part::Text {
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
            UserPart::Text(text) => Some(Part::Text {
                text: text.text.as_str().into(),
            }),
            UserPart::Image(image) => Some(picture(image, encoding)),
            _ => None,
        })
        .collect();
    match content.as_slice() {
        [] => String::new(),
        [Part::Text { text }] => body::json(&Plain {
            role: "user",
            content: text,
        }),
        _ => body::json(&Parts {
            role: "user",
            content,
        }),
    }
}

#[derive(Serialize)]
struct Reply<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

fn encode_reply(reply: &AssistantMessage, encoding: &Encoding<'_>) -> String {
    let Some(parts) = body::sendable(reply, encoding) else {
        return String::new();
    };
    let (mut text, mut thinking, mut tool_calls) = (String::new(), String::new(), Vec::new());
    for part in parts {
        match part {
            AssistantPart::Text(part) => text.push_str(&part.text),
            AssistantPart::Thinking(part) => thinking.push_str(&part.text),
            AssistantPart::ToolCall(call) => tool_calls.push(Call {
                id: call_id(&call.id, encoding.dialect),
                r#type: "function",
                function: Called {
                    name: body::tool_name(&call.name),
                    arguments: body::arguments(call),
                },
            }),
            _ => {}
        }
    }
    let content = match encoding.dialect.empty_content {
        _ if !text.is_empty() => Some(Value::String(text)),
        EmptyContent::Null => Some(Value::Null),
        EmptyContent::Omit => None,
        EmptyContent::Empty => Some(Value::String(text)),
    };
    let thinking = Some(thinking.as_str()).filter(|thinking| !thinking.is_empty());
    let echo = encoding.dialect.reasoning_echo;
    let under = |name: ReasoningEcho| thinking.filter(|_| echo == name);
    body::json(&Reply {
        role: "assistant",
        content,
        reasoning_content: under(ReasoningEcho::ReasoningContent),
        reasoning: under(ReasoningEcho::Reasoning),
        tool_calls,
    })
}

fn call_id<'a>(id: &'a str, dialect: &Dialect) -> Cow<'a, str> {
    match dialect.call_ids {
        CallIds::Any => Cow::Borrowed(id),
        CallIds::UpTo40 => body::call_id(id, 40),
        CallIds::Exactly9 => body::short_call_id(id),
    }
}

#[derive(Serialize)]
struct ToolReply<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    content: String,
}

/// The results, and after them one user's message with their pictures: the role `tool` takes text
/// only.
fn encode_results(results: &ToolResults, encoding: &Encoding<'_>) -> String {
    let dialect = encoding.dialect;
    let mut pictures: Vec<Part<'static>> = Vec::new();
    let mut all = joined(results.results.iter().map(|result| {
        let id = call_id(&result.call_id, dialect);
        let mut content = String::new();
        for part in result.outcome.shown() {
            let text = match part {
                OutputPart::Text(text) => text.text,
                OutputPart::Image(image) if encoding.info.images => {
                    let text = format!("The picture of the call {id}:");
                    pictures.push(Part::Text { text: text.into() });
                    pictures.push(picture(&image, encoding));
                    "(The picture follows in the next message.)".to_owned()
                }
                OutputPart::Image(image) => body::picture_note(&image),
                _ => continue,
            };
            if !content.is_empty() {
                content.push('\n');
            }
            content.push_str(&text);
        }
        let name = dialect
            .tool_result_name
            .then(|| body::tool_name(&result.name));
        ToolReply {
            role: "tool",
            tool_call_id: id,
            name,
            content,
        }
    }));
    let follow_up = if !pictures.is_empty() {
        body::json(&Parts {
            role: "user",
            content: pictures,
        })
    } else if dialect.user_after_tools {
        body::json(&Plain {
            role: "user",
            content: "Continue.",
        })
    } else {
        return all;
    };
    all.push(',');
    all.push_str(&follow_up);
    all
}
