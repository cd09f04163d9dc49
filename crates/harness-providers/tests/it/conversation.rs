//! One conversation with everything in it, for all protocols.

use std::sync::Arc;

use harness_core::{
    AssistantMessage, AssistantPart, Execution, Image, Message, MessageRef, ModelId, Replay,
    StopReason, Text, Thinking, ToolCall, ToolOutcome, ToolOutput, ToolResult, ToolResults,
    ToolSpec, ToolSpecs, UserMessage, UserPart,
};
use serde_json::json;

pub(crate) fn text(text: &str) -> AssistantPart {
    AssistantPart::Text(Text {
        text: text.to_owned(),
    })
}

pub(crate) fn thinking(text: &str, signature: Option<&str>, redacted: bool) -> AssistantPart {
    let signature = signature.map(str::to_owned);
    AssistantPart::Thinking(Thinking {
        text: text.to_owned(),
        signature,
        redacted,
    })
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

pub(crate) fn said(model: &ModelId, content: Vec<AssistantPart>) -> MessageRef {
    let calls = content
        .iter()
        .any(|part| matches!(part, AssistantPart::ToolCall(_)));
    Message::Assistant(AssistantMessage {
        content,
        model: model.clone(),
        stop: if calls {
            StopReason::ToolCalls
        } else {
            StopReason::EndTurn
        },
        usage: None,
        response_id: None,
    })
    .into()
}

pub(crate) fn results(results: Vec<(&str, &str, ToolOutcome)>) -> MessageRef {
    let results = results
        .into_iter()
        .map(|(call_id, name, outcome)| ToolResult {
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            outcome: Arc::new(outcome),
        })
        .collect();
    Message::ToolResults(ToolResults { results }).into()
}

pub(crate) fn picture() -> Image {
    Image {
        media_type: "image/png".to_owned(),
        data: "iVBORw0KGgo=".into(),
    }
}

/// A user's text and picture; thinking, text and two calls; an error and a picture as results; an
/// answer; a last question.
pub(crate) fn everything(model: &ModelId, signature: &str) -> Vec<MessageRef> {
    let look = UserMessage {
        content: vec![
            UserPart::Text(Text {
                text: "What is on \"it\"?\u{0}\n".to_owned(),
            }),
            UserPart::Image(picture()),
            UserPart::Text(Text {
                text: " \n".to_owned(),
            }),
        ],
    };
    vec![
        Message::User(look).into(),
        said(
            model,
            vec![
                thinking("I should look.", Some(signature), false),
                text("Looking."),
                call("call_1", "read", r#"{"path": "a.png"}"#),
                call("call_2", "ls", "{\"path\": \"b"),
            ],
        ),
        results(vec![
            (
                "call_1",
                "read",
                ToolOutcome::Done(ToolOutput::text("A file.").with_image(picture())),
            ),
            (
                "call_2",
                "ls",
                ToolOutcome::failed("The arguments are no JSON."),
            ),
        ]),
        said(model, vec![text("It is a cat.")]),
        Message::user("Thanks. And now?").into(),
    ]
}

pub(crate) fn tools() -> Arc<ToolSpecs> {
    let spec = |name: &str, description: &str| {
        Arc::new(ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "path": { "type": "string" } },
                "required": ["path"],
            }),
            execution: Execution::Parallel,
            replay: Replay::Safe,
        })
    };
    Arc::new(ToolSpecs::new(vec![
        spec("read", "Reads a file."),
        spec("ls", "Lists a folder."),
    ]))
}
