//! The rules that every conversation sent to a model keeps.
//!
//! Services refuse a conversation that breaks them, often for good: the same broken history is sent
//! again on every later turn. The loop keeps them by construction; the fakes of `test-support` and the
//! scripted provider check them on every request.

use std::collections::HashSet;
use std::sync::Arc;

use crate::message::{
    AssistantMessage, AssistantPart, Message, MessageRef, ToolCall, ToolResult, ToolResults,
    UserPart,
};
use crate::model::ModelRequest;
use crate::outcome::{OutputPart, ToolOutcome};
use crate::reply::{is_blank, make_unique, tidy};

/// Checks a request. The error names the message and the rule.
pub fn check_request(request: &ModelRequest) -> Result<(), String> {
    check_messages(&request.messages)
}

/// Checks a conversation that is about to be sent.
///
/// - It is not empty, and its last message is not the model's.
/// - The calls of a reply are followed at once by exactly one result each, in call order; a result
///   answers a call; no call id is used twice.
/// - No message is empty, no text block is blank, no block of thinking is empty.
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
                if user.content.iter().any(UserPart::is_blank) {
                    return fail("a user text is blank".to_owned());
                }
            }
            Message::Assistant(reply) => {
                if reply.is_empty() {
                    return fail("an assistant message is empty".to_owned());
                }
                for part in &reply.content {
                    match part {
                        AssistantPart::Text(_) if is_blank(part) => {
                            return fail("an assistant text is blank".to_owned());
                        }
                        AssistantPart::Thinking(_) if is_blank(part) => {
                            return fail("an assistant's thinking is empty".to_owned());
                        }
                        AssistantPart::ToolCall(call) => {
                            if call.id.trim().is_empty() {
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
                if results.results.is_empty() {
                    return fail("there are no results in it".to_owned());
                }
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
/// - A call without a result gets [`ToolOutcome::Interrupted`]; a result without a call and a second
///   result for one call are left out.
/// - Results that came late, behind a user's message, move up to their calls.
/// - A call without an id, or with one that an earlier call has, gets its own, and so does its result.
/// - Empty messages and blank parts are left out.
///
/// Nothing else is touched, and a sound conversation comes back as it is.
pub fn repair(messages: Vec<MessageRef>) -> Vec<MessageRef> {
    if is_sound(&messages) {
        return messages;
    }
    let mut repaired: Vec<MessageRef> = Vec::with_capacity(messages.len() + 1);
    let mut ids = HashSet::new();
    let mut queue = messages.into_iter().peekable();
    while let Some(message) = queue.next() {
        match &*message {
            Message::User(_) => repaired.extend(without_blanks(message)),
            Message::Assistant(reply) if reply.is_empty() => {}
            Message::Assistant(reply) => {
                let called: Vec<&ToolCall> = reply.tool_calls().collect();
                let sound = sound_reply(reply, &mut ids);
                // All that was said before the next reply: results and, behind them, the user's side.
                let mut found: Vec<ToolResult> = Vec::new();
                let mut original = None;
                let mut said = Vec::new();
                while let Some(next) =
                    queue.next_if(|next| !matches!(&**next, Message::Assistant(_)))
                {
                    match &*next {
                        Message::ToolResults(results) => {
                            found.extend(results.results.iter().cloned());
                            original = Some(next);
                        }
                        _ => said.extend(without_blanks(next)),
                    }
                }
                let results: Vec<ToolResult> = called
                    .iter()
                    .zip(sound.tool_calls())
                    .map(|(called, sound)| answer(called, sound, &mut found))
                    .collect();
                let unchanged = sound == *reply;
                repaired.push(if unchanged {
                    message.clone()
                } else {
                    Message::Assistant(sound).into()
                });
                if !results.is_empty() {
                    let results = Message::ToolResults(ToolResults { results });
                    repaired.push(match original {
                        Some(original) if *original == results => original,
                        _ => results.into(),
                    });
                }
                repaired.append(&mut said);
            }
            // Results whose calls are not there.
            Message::ToolResults(_) => {}
        }
    }
    repaired
}

/// Whether a conversation can be sent as it is, or once somebody has said something more.
fn is_sound(messages: &[MessageRef]) -> bool {
    let mut sent = messages;
    while let Some((last, before)) = sent.split_last()
        && let Message::Assistant(reply) = &**last
        && reply.tool_calls().next().is_none()
        && !reply.is_empty()
        && !reply.content.iter().any(is_blank)
    {
        sent = before;
    }
    sent.is_empty() || check_messages(sent).is_ok()
}

/// A user's message without its blank parts, if anything is left.
fn without_blanks(message: MessageRef) -> Option<MessageRef> {
    let Message::User(user) = &*message else {
        return None;
    };
    if user.is_blank() {
        return None;
    }
    if !user.content.iter().any(UserPart::is_blank) {
        return Some(message);
    }
    let mut user = user.clone();
    user.content.retain(|part| !part.is_blank());
    Some(Message::User(user).into())
}

/// A reply without blank parts, whose call ids are not among `ids`; they are then.
pub(crate) fn sound_reply(reply: &AssistantMessage, ids: &mut HashSet<String>) -> AssistantMessage {
    let mut sound = reply.clone();
    sound.content = tidy(sound.content);
    for part in &mut sound.content {
        if let AssistantPart::ToolCall(call) = part {
            make_unique(&mut call.id, ids);
        }
    }
    sound
}

/// The result for a call, taken out of `found`, under the call's sound id.
fn answer(called: &ToolCall, sound: &ToolCall, found: &mut Vec<ToolResult>) -> ToolResult {
    let place = found.iter().position(|result| result.call_id == called.id);
    match place {
        Some(place) => ToolResult {
            call_id: sound.id.clone(),
            ..found.remove(place)
        },
        None => ToolResult {
            call_id: sound.id.clone(),
            name: sound.name.clone(),
            outcome: Arc::new(ToolOutcome::Interrupted),
        },
    }
}
