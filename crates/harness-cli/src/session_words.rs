//! What the entries of a session say, for people.

use std::sync::Arc;

use harness_core::{
    AssistantMessage, AssistantPart, Message, ToolOutcome, ToolResult, ToolResults, UserMessage,
    UserPart,
};
use harness_session::{Body, Entry, Error, Intent, Log, ResultsBody, Settled};

use crate::session_decision::decision_line;
use crate::short_ids::ShortIds;
use crate::terminal::excerpt;

/// The most characters of what an entry says in one line.
const LINE: usize = 90;

/// The same, where it is who decided what: rules and hooks have long names.
const DECISION: usize = 200;

/// An entry in one line: its kind, and what it says.
pub(crate) fn line(log: &dyn Log, entry: &Entry, ids: &ShortIds) -> Result<String, Error> {
    let text = match &entry.body {
        Body::Message(body) => match &*body.message {
            Message::User(user) => format!("user: {}", user_text(user)),
            Message::Assistant(reply) => format!("assistant: {}", reply_line(reply)),
            Message::ToolResults(results) => format!("results: {}", results_line(results)),
            _ => "message".to_owned(),
        },
        Body::Results(body) => format!("results: {}", results_line(&results(log, body)?)),
        Body::CustomMessage(body) => format!("{}: {}", body.kind, user_text(&body.message)),
        Body::Compaction(body) => format!(
            "compaction ({}): {}",
            body.reason,
            body.messages
                .first()
                .map(|message| said(message))
                .unwrap_or_default()
        ),
        Body::BranchSummary(body) => format!("branch summary: {}", said(&body.message)),
        Body::ModelChange(body) => format!("model: {}", body.model),
        Body::ThinkingChange(body) => format!("thinking: {}", body.thinking.as_str()),
        Body::Leaf(_) => "goes on here".to_owned(),
        Body::Label(body) => match &body.label {
            Some(label) => format!("label of {}: {label}", ids.short(&body.target)),
            None => format!("no label any more: {}", ids.short(&body.target)),
        },
        Body::Name(body) => match &body.name {
            Some(name) => format!("name: {name}"),
            None => "no name any more".to_owned(),
        },
        Body::Custom(body) => format!("{} (of a program)", body.kind),
        Body::Decision(body) => return Ok(excerpt(&decision_line(log, entry, body)?, DECISION)),
        Body::Usage(body) => format!("usage for {}: {} tokens", body.purpose, body.usage.total()),
        Body::Queued(body) => format!("queued: {}", user_text(&body.message)),
        Body::Intent(intent) => match intent {
            Intent::Run { model, .. } => format!("run begins with {model}"),
            Intent::Model { step, .. } => format!("request {step}"),
            Intent::Tool {
                step,
                name,
                arguments,
                ..
            } => format!("call {step}: {name} {arguments}"),
            _ => "intent".to_owned(),
        },
        Body::Settlement(settlement) => settled_line(&settlement.what),
        Body::Unknown(body) => format!("{} (not known to this version)", body.kind),
        _ => entry.body.kind().to_owned(),
    };
    Ok(excerpt(text.trim_start(), LINE))
}

fn settled_line(settled: &Settled) -> String {
    match settled {
        Settled::Run { outcome, .. } => format!("run ended: {outcome}"),
        Settled::Model {
            error: Some(error), ..
        } => format!("request failed: {error}"),
        Settled::Model { usage, .. } => {
            let tokens = usage.map(|usage| usage.total()).unwrap_or_default();
            format!("request ended: {tokens} tokens")
        }
        Settled::Tool {
            outcome, elapsed, ..
        } => format!(
            "call ended: {} after {} ms",
            word(outcome),
            elapsed.as_millis()
        ),
        _ => "settled".to_owned(),
    }
}

/// The text of a user's message; pictures by a word.
pub(crate) fn user_text(user: &UserMessage) -> String {
    let parts = user.content.iter().map(|part| match part {
        UserPart::Text(text) => text.text.as_str(),
        _ => "(a picture)",
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn reply_line(reply: &AssistantMessage) -> String {
    let mut parts = vec![reply.text().trim().to_owned()];
    parts.extend(reply.tool_calls().map(|call| format!("[{}]", call.name)));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn results_line(results: &ToolResults) -> String {
    let results = results.results.iter();
    let results = results.map(|result| format!("{} {}", result.name, word(&result.outcome)));
    results.collect::<Vec<_>>().join(", ")
}

fn said(message: &Message) -> String {
    match message {
        Message::User(user) => user_text(user),
        Message::Assistant(reply) => reply_line(reply),
        Message::ToolResults(results) => results_line(results),
        _ => String::new(),
    }
}

/// How a call ended.
pub(crate) fn word(outcome: &ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Done(_) => "done",
        ToolOutcome::Denied { .. } => "denied",
        ToolOutcome::Cancelled => "cancelled",
        ToolOutcome::Interrupted => "interrupted",
        // Whatever else there will be, it is not known to have been done.
        _ => "failed",
    }
}

/// Results, with the outcomes that their settlements say.
pub(crate) fn results(log: &dyn Log, body: &ResultsBody) -> Result<ToolResults, Error> {
    let mut results = Vec::with_capacity(body.results.len());
    for stored in &body.results {
        let mut outcome = stored.outcome.clone();
        if outcome.is_none()
            && let Some(settlement) = stored.settlement
            && let Some(number) = log.find(settlement)?
            && let Ok(entry) = log.read(number)
            && let Body::Settlement(settlement) = entry.body
            && let Settled::Tool { outcome: known, .. } = settlement.what
        {
            outcome = Some(known);
        }
        results.push(ToolResult {
            call_id: stored.call_id.clone(),
            name: stored.name.clone(),
            outcome: outcome.unwrap_or_else(|| Arc::new(ToolOutcome::Interrupted)),
        });
    }
    Ok(ToolResults { results })
}

/// The messages that an entry brings into the conversation.
pub(crate) fn messages(log: &dyn Log, entry: &Entry) -> Result<Vec<Message>, Error> {
    Ok(match &entry.body {
        Body::Message(body) => vec![Message::clone(&body.message)],
        Body::Results(body) => vec![Message::ToolResults(results(log, body)?)],
        Body::CustomMessage(body) => vec![Message::User(body.message.clone())],
        Body::BranchSummary(body) => vec![Message::clone(&body.message)],
        Body::Compaction(body) => body.messages.iter().map(|it| Message::clone(it)).collect(),
        _ => Vec::new(),
    })
}

/// A reply as a person reads it: its text, and a line for each call.
pub(crate) fn reply_text(reply: &AssistantMessage, most: usize) -> String {
    let mut text = String::new();
    for part in &reply.content {
        match part {
            AssistantPart::Text(part) => text.push_str(part.text.trim_end()),
            AssistantPart::ToolCall(call) => {
                let call = format!("{} {}", call.name, call.arguments);
                text.push_str("-> ");
                text.push_str(&excerpt(&call, most));
            }
            _ => continue,
        }
        text.push('\n');
    }
    text
}
