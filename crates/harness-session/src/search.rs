//! Looking for words in entries.

use std::collections::HashSet;
use std::fmt::Write as _;

use harness_core::{AssistantPart, Message, OutputPart, UserMessage, UserPart};

use crate::entry::{Body, Entry, Settled};
use crate::id::{EntryId, SessionId};
use crate::store::Hit;

/// The most bytes of an excerpt before and behind what was found.
const AROUND: usize = 60;

/// Words that are all looked for, whatever their case, as parts of an entry's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    words: Vec<String>,
}

impl Query {
    /// The words of a text; `None` if there are none.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    /// The words, in lower case.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The entry as a hit, if it has all words.
    pub(crate) fn hit(&self, session: SessionId, entry: &Entry) -> Option<Hit> {
        let (role, text) = text_of(entry)?;
        let lower = text.to_lowercase();
        let mut first = None;
        for word in &self.words {
            let at = lower.find(word.as_str())?;
            first = Some(first.map_or(at, |first: usize| first.min(at)));
        }
        // Lower case may have another length; where it begins is then only about right.
        let at = text.floor_char_boundary(first.unwrap_or_default().min(text.len()));
        Some(Hit::new(session, entry, role, excerpt(&text, at)))
    }
}

/// What a search found so far. An entry that forks have in common is there once: in the session that was
/// searched first.
#[derive(Debug)]
pub(crate) struct Hits {
    most: usize,
    seen: HashSet<EntryId>,
    found: Vec<Hit>,
}

impl Hits {
    /// None yet; at most so many.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            seen: HashSet::new(),
            found: Vec::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= self.most
    }

    pub(crate) fn take(&mut self, hit: Option<Hit>) {
        if let Some(hit) = hit
            && !self.is_full()
            && self.seen.insert(hit.entry)
        {
            self.found.push(hit);
        }
    }

    pub(crate) fn into_found(self) -> Vec<Hit> {
        self.found
    }
}

/// The text around a place, in one line.
fn excerpt(text: &str, at: usize) -> String {
    let start = text.floor_char_boundary(at.saturating_sub(AROUND));
    let end = text.ceil_char_boundary((at + 2 * AROUND).min(text.len()));
    let mut line = String::new();
    if start > 0 {
        line.push('…');
    }
    let part = text.get(start..end).unwrap_or_default();
    let words = part.split(|c: char| c.is_whitespace() || c.is_control());
    for (number, word) in words.filter(|word| !word.is_empty()).enumerate() {
        if number > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    if end < text.len() {
        line.push('…');
    }
    line
}

/// What people read in an entry, and whose it is; `None` if there is nothing to read in it.
///
/// The text of a call's result is in its settlement, or in the results if it was never executed, so that
/// each is found once.
pub(crate) fn text_of(entry: &Entry) -> Option<(&'static str, String)> {
    let mut text = String::new();
    let role = match &entry.body {
        Body::Message(body) => match &*body.message {
            Message::User(user) => {
                user_text(&mut text, user);
                "user"
            }
            Message::Assistant(reply) => {
                for part in &reply.content {
                    match part {
                        AssistantPart::Text(part) => line(&mut text, &part.text),
                        AssistantPart::ToolCall(call) => {
                            let _ = writeln!(text, "{} {}", call.name, call.arguments);
                        }
                        _ => {}
                    }
                }
                "assistant"
            }
            Message::ToolResults(results) => {
                for result in &results.results {
                    line(&mut text, &result.outcome.shown_text());
                }
                "tool"
            }
            _ => return None,
        },
        Body::Results(body) => {
            for outcome in body.results.iter().filter_map(|it| it.outcome.as_ref()) {
                line(&mut text, &outcome.shown_text());
            }
            "tool"
        }
        Body::Settlement(settlement) => match &settlement.what {
            Settled::Tool { outcome, .. } => {
                for part in outcome.shown() {
                    if let OutputPart::Text(part) = part {
                        line(&mut text, &part.text);
                    }
                }
                "tool"
            }
            _ => return None,
        },
        Body::CustomMessage(body) => {
            user_text(&mut text, &body.message);
            "user"
        }
        Body::Compaction(body) => {
            for message in &body.messages {
                summary_text(&mut text, message);
            }
            "summary"
        }
        Body::BranchSummary(body) => {
            summary_text(&mut text, &body.message);
            "summary"
        }
        Body::Name(body) => {
            line(&mut text, body.name.as_deref().unwrap_or_default());
            "name"
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some((role, text))
}

fn user_text(text: &mut String, user: &UserMessage) {
    for part in &user.content {
        if let UserPart::Text(part) = part {
            line(text, &part.text);
        }
    }
}

fn summary_text(text: &mut String, message: &Message) {
    match message {
        Message::User(user) => user_text(text, user),
        Message::Assistant(reply) => line(text, &reply.text()),
        _ => {}
    }
}

fn line(text: &mut String, part: &str) {
    text.push_str(part);
    text.push('\n');
}
