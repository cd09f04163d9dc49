//! A conversation as text, for a model that is to summarise it.

use std::fmt::Write as _;

use harness_core::{AssistantPart, Message, MessageRef, OutputPart, UserPart};
use harness_prompt::{Keep, cut_to_tokens};

/// The most tokens of one tool result, or of one call's arguments: what a summary needs of it.
const MAX_RESULT_TOKENS: usize = 500;

/// The most bytes of the whole. What is older is left out.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// The conversation, message after message. Thinking is left out, and long results are cut in the
/// middle of nothing: at lines, with a marker.
pub(crate) fn transcript(messages: &[MessageRef]) -> String {
    let mut written: Vec<String> = Vec::new();
    let mut bytes = 0;
    for message in messages.iter().rev() {
        let text = write(message);
        bytes += text.len();
        if bytes > MAX_BYTES {
            written.push("[what came before is left out]\n".to_owned());
            break;
        }
        written.push(text);
    }
    written.reverse();
    // It stands in an element of that name.
    written
        .join("\n")
        .replace("</conversation>", "<\\/conversation>")
}

fn write(message: &MessageRef) -> String {
    let mut text = String::new();
    match &**message {
        Message::User(user) => {
            text.push_str("User:\n");
            for part in &user.content {
                match part {
                    UserPart::Text(part) => text.push_str(part.text.trim()),
                    _ => text.push_str("[a picture]"),
                }
                text.push('\n');
            }
        }
        Message::Assistant(reply) => {
            text.push_str("Assistant:\n");
            for part in &reply.content {
                match part {
                    AssistantPart::Text(part) => {
                        text.push_str(part.text.trim());
                        text.push('\n');
                    }
                    AssistantPart::ToolCall(call) => {
                        let arguments = short(&call.arguments);
                        let _ = writeln!(text, "[calls {} {arguments}]", call.name);
                    }
                    _ => {}
                }
            }
        }
        Message::ToolResults(results) => {
            for result in &results.results {
                let kind = if result.outcome.is_error() {
                    "error"
                } else {
                    "result"
                };
                let _ = writeln!(text, "{kind} of {}:", result.name);
                for part in result.outcome.shown() {
                    match part {
                        OutputPart::Text(part) => text.push_str(&short(part.text.trim())),
                        _ => text.push_str("[a picture]"),
                    }
                    text.push('\n');
                }
            }
        }
        _ => {}
    }
    text
}

fn short(text: &str) -> String {
    let marker = |kept, all| format!("[cut: {kept} of {all} bytes]");
    let cut = cut_to_tokens(text, MAX_RESULT_TOKENS, Keep::Start, marker);
    cut.map_or_else(|| text.to_owned(), |cut| cut.text)
}
