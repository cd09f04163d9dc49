//! The rules that every conversation sent to a model keeps.
//!
//! Services refuse a conversation that breaks them, often for good: the same broken history is sent
//! again on every later turn. The loop keeps them by construction; the fakes of `test-support` and the
//! scripted provider check them on every request.

use std::collections::HashSet;
use std::sync::Arc;

use crate::message::{AssistantPart, Message, MessageRef, ToolResult, ToolResults};
use crate::model::ModelRequest;
use crate::outcome::{OutputPart, ToolOutcome};

/// Checks a request. The error names the message and the rule.
pub fn check_request(request: &ModelRequest) -> Result<(), String> {
    check_messages(&request.messages)
}

/// Checks a conversation that is about to be sent.
///
/// - It is not empty, and its last message is not the model's.
/// - The calls of a reply are followed at once by exactly one result each, in call order; a result
///   answers a call; no call id is used twice.
/// - No message is empty, no text block is blank.
pub fn check_messages(messages: &[MessageRef]) -> Result<(), String> {
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let fail = |rule: String| Err(format!("message {index}: {rule}"));
        if !open.is_empty() && !matches!(&**message, Message::ToolResults(_)) {
            return fail(format!("the calls {open:?} have no results"));
        }
        match &**message {
            Message::User(user) => {
                if user.is_blank() {
                    return fail("a user message is blank".to_owned());
                }
            }
            Message::Assistant(reply) => {
                if reply.is_empty() {
                    return fail("an assistant message is empty".to_owned());
                }
                for part in &reply.content {
                    match part {
                        AssistantPart::Text(text) if text.text.trim().is_empty() => {
                            return fail("an assistant text is blank".to_owned());
                        }
                        AssistantPart::ToolCall(call) => {
                            if call.id.is_empty() {
                                return fail(format!("a call of `{}` has no id", call.name));
                            }
                            if !ids.insert(call.id.as_str()) {
                                return fail(format!("the call id `{}` is used twice", call.id));
                            }
                            open.push(&call.id);
                        }
                        _ => {}
                    }
                }
            }
            Message::ToolResults(results) => {
                let answered: Vec<&str> = results
                    .results
                    .iter()
                    .map(|result| result.call_id.as_str())
                    .collect();
                if answered != open {
                    return fail(format!("the results {answered:?} do not answer {open:?}"));
                }
                open.clear();
                for result in &results.results {
                    let blank = result.outcome.shown().iter().all(|part| match part {
                        OutputPart::Text(text) => text.text.trim().is_empty(),
                        OutputPart::Image(_) => false,
                    });
                    if blank {
                        return fail(format!("the result of `{}` is blank", result.call_id));
                    }
                }
            }
        }
    }
    if !open.is_empty() {
        return Err(format!("the calls {open:?} have no results"));
    }
    match messages.last().map(|last| &**last) {
        None => Err("there are no messages".to_owned()),
        Some(Message::Assistant(_)) => Err("the last message is the model's own".to_owned()),
        Some(_) => Ok(()),
    }
}

/// Makes a conversation that came from elsewhere fit to go on with.
///
/// A call without a result gets [`ToolOutcome::Interrupted`]; a result without a call, a second result
/// for one call, and empty messages are left out. Nothing else is touched, and a sound conversation
/// comes back as it is.
pub fn repair(messages: Vec<MessageRef>) -> Vec<MessageRef> {
    let sound = match check_messages(&messages) {
        Ok(()) => true,
        Err(_) => {
            matches!(messages.last().map(|last| &**last), Some(Message::Assistant(reply))
            if reply.tool_calls().next().is_none() && !reply.is_empty())
                && check_messages(&messages[..messages.len() - 1]).is_ok()
        }
    };
    if sound {
        return messages;
    }
    let mut repaired: Vec<MessageRef> = Vec::with_capacity(messages.len() + 1);
    let mut queue = messages.into_iter().peekable();
    while let Some(message) = queue.next() {
        match &*message {
            Message::User(user) if user.is_blank() => {}
            Message::User(_) => repaired.push(message),
            Message::Assistant(reply) if reply.is_empty() => {}
            Message::Assistant(reply) => {
                let calls: Vec<(String, String)> = reply
                    .tool_calls()
                    .map(|call| (call.id.clone(), call.name.clone()))
                    .collect();
                repaired.push(message);
                if calls.is_empty() {
                    continue;
                }
                let mut found: Vec<ToolResult> = Vec::new();
                let mut original = None;
                while let Some(next) =
                    queue.next_if(|next| matches!(&**next, Message::ToolResults(_)))
                {
                    if let Message::ToolResults(results) = &*next {
                        found.extend(results.results.iter().cloned());
                    }
                    original = Some(next);
                }
                let results: Vec<ToolResult> = calls
                    .into_iter()
                    .map(|(call_id, name)| {
                        found
                            .iter()
                            .find(|result| result.call_id == call_id)
                            .cloned()
                            .unwrap_or(ToolResult {
                                call_id,
                                name,
                                outcome: Arc::new(ToolOutcome::Interrupted),
                            })
                    })
                    .collect();
                let results = Message::ToolResults(ToolResults { results });
                repaired.push(match original {
                    Some(original) if *original == results => original,
                    _ => results.into(),
                });
            }
            // A result whose call is not there.
            Message::ToolResults(_) => {}
        }
    }
    repaired
}
