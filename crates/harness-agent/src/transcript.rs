//! A conversation as text, for a model that is to summarise it.

use std::fmt::Write as _;

use harness_core::{AssistantPart, Message, MessageRef, OutputPart, UserPart};
use harness_prompt::{Keep, cut_to_tokens};

use crate::measure::Measure;

/// The most bytes of the whole. What is older is left out.
const MAX_BYTES: usize = 2 * 1024 * 1024;

const LEFT_OUT: &str = "[what came before is left out]\n";
const LEFT_OUT_BETWEEN: &str = "[what came between is left out]\n";

/// How much of each thing is written, in tokens.
#[derive(Clone, Copy)]
struct Detail {
    result: usize,
    arguments: usize,
    text: usize,
}

/// What a summary needs of everything.
const USUAL: Detail = Detail {
    result: 500,
    arguments: 500,
    text: usize::MAX,
};

/// What gives way where there is less room: results, then arguments, then what was said.
const LESS: [Detail; 4] = [
    Detail {
        result: 150,
        ..USUAL
    },
    Detail {
        result: 60,
        arguments: 60,
        ..USUAL
    },
    Detail {
        result: 30,
        arguments: 30,
        text: 300,
    },
    Detail {
        result: 15,
        arguments: 15,
        text: 80,
    },
];

/// The conversation, message after message. Thinking is left out, and long results are cut in the
/// middle of nothing: at lines, with a marker.
pub(crate) fn transcript(messages: &[MessageRef]) -> String {
    let mut bytes = 0;
    let mut units = Vec::new();
    for unit in units_of(messages, USUAL).into_iter().rev() {
        bytes += unit.len();
        if bytes > MAX_BYTES {
            units.push(LEFT_OUT.to_owned());
            break;
        }
        units.push(unit);
    }
    units.reverse();
    enclosed(&units)
}

/// The same in at most so many tokens. Results are shortened first, then arguments, then what was said;
/// then the oldest is left out, but for the beginning of what the user said first. A reply and its results
/// stay together.
pub(crate) fn transcript_within(messages: &[MessageRef], tokens: u64, measure: &Measure) -> String {
    let whole = transcript(messages);
    if measure.text(&whole) <= tokens {
        return whole;
    }
    for detail in LESS {
        let shorter = enclosed(&units_of(messages, detail));
        if measure.text(&shorter) <= tokens {
            return shorter;
        }
    }
    newest(messages, tokens, measure)
}

/// What the user said first, and the newest that there is room for.
fn newest(messages: &[MessageRef], tokens: u64, measure: &Measure) -> String {
    let [.., least] = LESS;
    let units = units_of(messages, least);
    let goal = messages
        .iter()
        .find(|message| matches!(&***message, Message::User(_)))
        .map(|message| cut_to(&write(message, least), tokens / 4, measure))
        .unwrap_or_default();
    let marker = if goal.is_empty() {
        LEFT_OUT
    } else {
        LEFT_OUT_BETWEEN
    };
    let around = measure.text(&goal) + measure.text(marker) + 2;
    let mut left = tokens.saturating_sub(around);
    let mut written = Vec::new();
    for unit in units.iter().rev() {
        // Behind each stands a line break.
        let needs = measure.text(unit) + 1;
        if needs > left {
            // The last turn is never left out altogether.
            if written.is_empty() {
                written.push(cut_to(unit, left, measure));
            }
            break;
        }
        left -= needs;
        written.push(unit.clone());
    }
    written.push(marker.to_owned());
    if !goal.is_empty() {
        written.push(goal);
    }
    written.reverse();
    enclosed(&written)
}

/// The beginning of a text, in so many tokens; empty if there is no room for any of it.
fn cut_to(text: &str, tokens: u64, measure: &Measure) -> String {
    if measure.text(text) <= tokens {
        return text.to_owned();
    }
    let mut most = tokens as usize;
    while most > 0 {
        let cut = cut_to_tokens(text, most, Keep::Start, cut_marker);
        let cut = cut.map_or_else(|| text.to_owned(), |cut| cut.text);
        if measure.text(&cut) <= tokens {
            return cut;
        }
        most = most * 3 / 4;
    }
    String::new()
}

fn enclosed(units: &[String]) -> String {
    // It stands in an element of that name.
    units
        .join("\n")
        .replace("</conversation>", "<\\/conversation>")
}

/// The messages as texts; a reply and the results of its calls are one.
fn units_of(messages: &[MessageRef], detail: Detail) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for message in messages {
        let text = write(message, detail);
        match (&**message, units.last_mut()) {
            (Message::ToolResults(_), Some(reply)) => {
                reply.push('\n');
                reply.push_str(&text);
            }
            _ => units.push(text),
        }
    }
    units
}

fn write(message: &MessageRef, detail: Detail) -> String {
    let mut text = String::new();
    match &**message {
        Message::User(user) => {
            text.push_str("User:\n");
            for part in &user.content {
                match part {
                    UserPart::Text(part) => text.push_str(&short(part.text.trim(), detail.text)),
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
                        text.push_str(&short(part.text.trim(), detail.text));
                        text.push('\n');
                    }
                    AssistantPart::ToolCall(call) => {
                        let arguments = short(&call.arguments, detail.arguments);
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
                        OutputPart::Text(part) => {
                            text.push_str(&short(part.text.trim(), detail.result));
                        }
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

fn short(text: &str, tokens: usize) -> String {
    let cut = cut_to_tokens(text, tokens, Keep::Start, cut_marker);
    cut.map_or_else(|| text.to_owned(), |cut| cut.text)
}

fn cut_marker(kept: usize, all: usize) -> String {
    format!("[cut: {kept} of {all} bytes]")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use harness_core::{
        AssistantMessage, ModelId, StopReason, Text, ToolCall, ToolOutcome, ToolResult, ToolResults,
    };

    use super::*;

    fn batch(calls: usize, bytes: usize) -> [MessageRef; 2] {
        let content = (0..calls).map(|number| {
            AssistantPart::ToolCall(ToolCall {
                id: format!("c{number}"),
                name: format!("tool{number}"),
                arguments: format!("{{\"a\":\"{}\"}}", "x".repeat(bytes)),
            })
        });
        let text = AssistantPart::Text(Text {
            text: "I look.".to_owned(),
        });
        let reply = Message::Assistant(AssistantMessage {
            content: std::iter::once(text).chain(content).collect(),
            model: ModelId::default(),
            stop: StopReason::ToolCalls,
            usage: None,
            response_id: None,
        });
        let results = (0..calls).map(|number| ToolResult {
            call_id: format!("c{number}"),
            name: format!("tool{number}"),
            outcome: Arc::new(ToolOutcome::done("line of a result\n".repeat(bytes / 16))),
        });
        let results = results.collect();
        let results = Message::ToolResults(ToolResults { results });
        [reply.into(), results.into()]
    }

    #[test]
    fn it_fits_whatever_the_room() {
        let measure = Measure::unknown(None);
        let mut messages: Vec<MessageRef> = vec![Message::user("GOAL: mend the build").into()];
        for _ in 0..20 {
            messages.extend(batch(4, 3_000));
            messages.push(Message::user("and go on ".repeat(40)).into());
        }
        messages.extend(batch(2, 500));
        for tokens in [60, 100, 200, 500, 1_000, 3_000, 10_000, 50_000, 200_000] {
            let text = transcript_within(&messages, tokens, &measure);
            assert!(measure.text(&text) <= tokens, "{tokens}: {text}");
            if tokens >= 100 {
                assert!(text.contains("GOAL"), "{tokens}: {text}");
            }
            // Results are never there without the reply that asked for them.
            let results = text.find("result of tool");
            let reply = text.find("[calls tool");
            assert!(results.is_none() || reply < results, "{tokens}: {text}");
        }
    }
}
