//! Errands that were begun in the background and not told yet, by what the conversation says.

use harness_core::{Message, MessageRef, ToolOutcome, ToolResult, UserPart};

use super::TOOLS;
use super::errand::{Errand, FACTS, is_delivered_by};
use crate::summary_message::CompactionSummary;

/// All errands that a conversation tells of, oldest first.
pub(crate) fn errands(messages: &[MessageRef]) -> Vec<Errand> {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    let told = results.flatten().filter_map(told);
    told.map(|(errand, _)| errand).collect()
}

/// The errand that a result is about, and whether it has its end.
fn told(result: &ToolResult) -> Option<(Errand, bool)> {
    let (ToolOutcome::Done(output) | ToolOutcome::Failed(output)) = &*result.outcome else {
        return None;
    };
    if !TOOLS.contains(&result.name.as_str()) {
        return None;
    }
    let facts = output.details.as_ref()?.get(FACTS)?;
    let errand = serde_json::from_value(facts.clone()).ok()?;
    Some((errand, facts.get("end").is_some()))
}

/// The errands of a conversation that its agent waits for, oldest first.
pub(crate) fn pending(messages: &[MessageRef]) -> Vec<Errand> {
    let mut pending: Vec<Errand> = Vec::new();
    for message in messages {
        match &**message {
            Message::ToolResults(results) => {
                for (errand, has_end) in results.results.iter().filter_map(told) {
                    // A tool that gives the end settles it, whichever gave it.
                    pending.retain(|known| known.call != errand.call);
                    if errand.background && !has_end {
                        pending.push(errand);
                    }
                }
            }
            Message::User(user) => {
                if let Some(summary) = CompactionSummary::of(message) {
                    pending.extend(summary.subagents);
                }
                for part in &user.content {
                    let UserPart::Text(text) = part else { continue };
                    pending.retain(|known| !is_delivered_by(&text.text, &known.call));
                }
            }
            _ => {}
        }
    }
    pending
}
