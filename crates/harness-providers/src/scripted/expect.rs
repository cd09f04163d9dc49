//! What a script demands of the request that a turn answers.

use harness_core::{Message, ModelRequest, ToolResult, UserPart};
use serde::Deserialize;

/// How much of a text a failed demand shows.
const SHOWN_CHARS: usize = 400;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Expect {
    last_user_contains: Texts,
    system_contains: Texts,
    last_results: Option<Vec<ExpectedResult>>,
    tools: Option<Vec<String>>,
    messages: Option<usize>,
    hint: Option<String>,
}

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Texts {
    fn missing_in(&self, text: &str) -> Option<&str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        };
        texts
            .iter()
            .map(String::as_str)
            .find(|wanted| !text.contains(wanted))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ExpectedResult {
    tool: Option<String>,
    contains: Texts,
    is_error: Option<bool>,
}

impl Expect {
    /// What of it does not hold.
    pub(super) fn check(&self, request: &ModelRequest) -> Result<(), String> {
        self.unmet(request).map_or(Ok(()), |what| {
            Err(match &self.hint {
                Some(hint) => format!("{what}. {hint}"),
                None => what,
            })
        })
    }

    fn unmet(&self, request: &ModelRequest) -> Option<String> {
        let user = last_user(request);
        if let Some(wanted) = self.last_user_contains.missing_in(&user) {
            return Some(lacks("the last user message", wanted, &user));
        }
        let system = request.system.as_deref().unwrap_or_default();
        if let Some(wanted) = self.system_contains.missing_in(system) {
            return Some(lacks("the system prompt", wanted, system));
        }
        if let Some(wanted) = self.messages
            && wanted != request.messages.len()
        {
            let messages = request.messages.len();
            return Some(format!(
                "the request should hold {wanted} messages; it holds {messages}"
            ));
        }
        if let Some(wanted) = &self.tools {
            let mut wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let mut offered: Vec<&str> = request
                .tools
                .iter()
                .map(|spec| spec.name.as_str())
                .collect();
            wanted.sort_unstable();
            offered.sort_unstable();
            if wanted != offered {
                return Some(format!(
                    "the tools should be {wanted:?}; they are {offered:?}"
                ));
            }
        }
        self.last_results
            .as_ref()
            .and_then(|wanted| unmet_results(wanted, request))
    }
}

fn unmet_results(wanted: &[ExpectedResult], request: &ModelRequest) -> Option<String> {
    let results: &[ToolResult] = match request.messages.last().map(|message| &**message) {
        Some(Message::ToolResults(results)) => &results.results,
        _ => &[],
    };
    if wanted.len() != results.len() {
        let (wanted, there) = (wanted.len(), results.len());
        return Some(format!(
            "the last message should hold {wanted} results; it holds {there}"
        ));
    }
    wanted
        .iter()
        .zip(results)
        .enumerate()
        .find_map(|(at, (wanted, result))| {
            let what = format!("result {at}");
            let text = result.outcome.shown_text();
            if let Some(tool) = &wanted.tool
                && *tool != result.name
            {
                return Some(format!(
                    "{what} should be of `{tool}`; it is of `{}`",
                    result.name
                ));
            }
            if let Some(is_error) = wanted.is_error
                && is_error != result.outcome.is_error()
            {
                let kind = if is_error { "an error" } else { "no error" };
                return Some(format!(
                    "{what} should be {kind}; it is {:?}",
                    shorten(&text)
                ));
            }
            wanted
                .contains
                .missing_in(&text)
                .map(|wanted| lacks(&what, wanted, &text))
        })
}

fn last_user(request: &ModelRequest) -> String {
    let user = request
        .messages
        .iter()
        .rev()
        .find_map(|message| match &**message {
            Message::User(user) => Some(user),
            _ => None,
        });
    let mut text = String::new();
    for part in user.map(|user| user.content.as_slice()).unwrap_or_default() {
        if let UserPart::Text(part) = part {
            text.push_str(&part.text);
            text.push('\n');
        }
    }
    text
}

fn lacks(what: &str, wanted: &str, text: &str) -> String {
    format!(
        "{what} should contain {wanted:?}; it is {:?}",
        shorten(text)
    )
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
