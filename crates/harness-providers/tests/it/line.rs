//! The line between a test and a model: asking, and writing down what came.

use std::fmt::Write as _;
use std::sync::Arc;

use futures::StreamExt;
use harness_core::{
    AssistantMessage, CancellationToken, Message, Model, ModelError, ModelEvent, ModelRequest,
    ReplyBuilder,
};
use harness_providers::{Anthropic, HttpModel, OpenAi};

use crate::server::{Answer, Server};

/// Runs a future on a runtime of its own.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

pub(crate) fn chat(server: &Server) -> HttpModel {
    OpenAi::chat("m", "sk-test-key").base_url(server.url())
}

pub(crate) fn responses(server: &Server) -> HttpModel {
    OpenAi::responses("m", "sk-test-key").base_url(server.url())
}

pub(crate) fn anthropic(server: &Server) -> HttpModel {
    Anthropic::messages("m", "sk-test-key").base_url(server.url())
}

pub(crate) fn hello(model: impl Model) -> ModelRequest {
    let model: Arc<dyn Model> = Arc::new(model);
    ModelRequest::new(model, vec![Message::user("Hello").into()])
}

pub(crate) async fn events(request: ModelRequest) -> Result<Vec<ModelEvent>, ModelError> {
    let model = Arc::clone(&request.model);
    let mut stream = model.stream(request, CancellationToken::new()).await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event?);
    }
    Ok(events)
}

pub(crate) async fn complete(request: ModelRequest) -> Result<AssistantMessage, ModelError> {
    let model = Arc::clone(&request.model);
    model.complete(request, CancellationToken::new()).await
}

/// The reply to one request that is answered like this.
pub(crate) fn reply(
    model: impl Fn(&Server) -> HttpModel,
    answer: Answer,
) -> Result<AssistantMessage, ModelError> {
    let server = Server::start(vec![answer]);
    run(complete(hello(model(&server))))
}

/// The reply, as one line: its parts, its usage, why it stopped; or the error.
pub(crate) fn line(reply: &Result<AssistantMessage, ModelError>) -> String {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return format!("{}: {error}", error.word()),
    };
    let mut line = String::new();
    for part in &reply.content {
        use harness_core::AssistantPart::{Text, Thinking, ToolCall};
        let _ = match part {
            Text(part) => write!(line, "text {:?} | ", part.text),
            Thinking(part) => {
                let redacted = if part.redacted { " redacted" } else { "" };
                write!(
                    line,
                    "thinking{redacted} {:?} {:?} | ",
                    part.text, part.signature
                )
            }
            ToolCall(call) => write!(line, "{}#{} {} | ", call.name, call.id, call.arguments),
            _ => Ok(()),
        };
    }
    let usage = reply.usage.map_or_else(String::new, |usage| {
        format!(
            " in {} (read {}, written {}) out {} (thinking {})",
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
            usage.reasoning_tokens
        )
    });
    let _ = write!(line, "{}{usage}", reply.stop);
    line
}

/// Folds events, as the loop does.
pub(crate) fn fold(events: Vec<ModelEvent>) -> Result<AssistantMessage, ModelError> {
    let mut builder = ReplyBuilder::new(harness_core::ModelId::new("p", "m"));
    for event in events {
        builder.push(event)?;
    }
    builder.finish()
}
