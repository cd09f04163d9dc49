//! The skills that a conversation has loaded.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use harness_core::{Message, MessageRef, ToolOutcome, ToolResult, UserPart};
use harness_skills::{Activation, SKILL_CONTENT};
use serde_json::{Value, json};

/// The tool that loads skills.
pub(crate) const LOAD_SKILL: &str = "load_skill";

/// A skill that a conversation has loaded, as it was loaded last.
///
/// Its text has to outlive a compaction: without it, the model would go on without the instructions that it
/// was following.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedSkill {
    /// Its name.
    pub name: String,
    /// What tells this content from another one.
    pub digest: String,
    /// The whole element, as the model was given it.
    pub text: String,
}

/// The skills that a conversation has loaded, by the tool or by `/skill:name`; each once, as it was loaded
/// last, in the order in which they were first loaded.
pub fn loaded_skills(messages: &[MessageRef]) -> Vec<LoadedSkill> {
    let mut loaded: Vec<LoadedSkill> = Vec::new();
    for skill in messages.iter().flat_map(|message| loads_of(message)) {
        match loaded.iter_mut().find(|known| known.name == skill.name) {
            Some(known) => *known = skill,
            None => loaded.push(skill),
        }
    }
    loaded
}

/// What is known of the loaded skills of a session. In the attributes of its caller.
#[derive(Debug, Default)]
pub(crate) struct Loaded(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How many messages were looked at, and the last of them.
    looked_at: usize,
    last: Option<MessageRef>,
    /// Of each name, the content that is in the conversation.
    digests: BTreeMap<String, String>,
}

impl Loaded {
    /// Looks at the messages that are new. What a compaction took away is not loaded any more.
    pub(crate) fn look_at(&self, messages: &[MessageRef]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state
            .looked_at
            .checked_sub(1)
            .and_then(|at| messages.get(at));
        let goes_on = match (before, &state.last) {
            (Some(before), Some(last)) => before.same(last),
            _ => false,
        };
        if !goes_on {
            *state = State::default();
        }
        let new = messages.iter().skip(state.looked_at);
        for skill in new.flat_map(|message| loads_of(message)) {
            state.digests.insert(skill.name, skill.digest);
        }
        state.looked_at = messages.len();
        state.last = messages.last().cloned();
    }

    /// Whether the conversation has this very content.
    pub(crate) fn has(&self, activation: &Activation) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.digests.get(&activation.skill.name());
        known.is_some_and(|digest| *digest == activation.digest().to_string())
    }
}

/// The mark of a result that has a skill in it.
pub(crate) fn mark(activation: &Activation) -> Value {
    json!({
        "skill": {
            "name": activation.skill.name(),
            "digest": activation.digest().to_string(),
            "location": activation.skill.location_text(),
        }
    })
}

/// Whether a result has a skill in it, which stays whatever else gives way.
pub(crate) fn has_skill(result: &ToolResult) -> bool {
    loaded_by(result).is_some()
}

fn loads_of(message: &Message) -> Vec<LoadedSkill> {
    match message {
        Message::ToolResults(results) => results.results.iter().filter_map(loaded_by).collect(),
        Message::User(user) => user
            .content
            .iter()
            .filter_map(|part| match part {
                UserPart::Text(text) => called_up_by(&text.text),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn loaded_by(result: &ToolResult) -> Option<LoadedSkill> {
    if result.name != LOAD_SKILL {
        return None;
    }
    let ToolOutcome::Done(output) = &*result.outcome else {
        return None;
    };
    let skill = output.details.as_ref()?.get("skill")?;
    Some(LoadedSkill {
        name: skill.get("name")?.as_str()?.to_owned(),
        digest: skill.get("digest")?.as_str()?.to_owned(),
        text: result.outcome.shown_text(),
    })
}

/// A user's message that a command put a skill into: it begins with the element.
fn called_up_by(text: &str) -> Option<LoadedSkill> {
    let rest = text.strip_prefix('<')?.strip_prefix(SKILL_CONTENT)?;
    let rest = rest.strip_prefix(" name=\"")?;
    let (name, rest) = rest.split_once("\" digest=\"")?;
    let (digest, _) = rest.split_once("\">\n")?;
    let end = format!("</{SKILL_CONTENT}>");
    let length = text.find(&end)? + end.len();
    Some(LoadedSkill {
        name: unescaped(name),
        digest: digest.to_owned(),
        text: text.get(..length)?.to_owned(),
    })
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}
