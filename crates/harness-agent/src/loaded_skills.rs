//! The skills that a conversation has loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_core::{Message, MessageRef, RunContext, ToolOutcome, ToolResult, UserPart};
use harness_skills::{Activation, SKILL_CONTENT};
#[cfg(feature = "tools")]
use harness_tools::ReadableFolders;
use serde_json::{Value, json};

use crate::summary_message::CompactionSummary;

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
    /// Its file, or where else it is.
    pub location: String,
    /// The whole element, as the model was given it.
    pub text: String,
}

/// The skills that a conversation has loaded, by the tool or by `/skill:name`; each once, as it was loaded
/// last, in the order in which they were first loaded. Those that a compaction took along count as well.
///
/// A result of `load_skill` says so in its details. A user's message says so in its first text, which begins
/// with the element; [`SkillsMiddleware`](crate::middlewares::SkillsMiddleware) sees to it that no other
/// message that a run begins with does.
pub fn loaded_skills(messages: &[MessageRef]) -> Vec<LoadedSkill> {
    let mut loaded: Vec<LoadedSkill> = Vec::new();
    for skill in messages.iter().flat_map(|message| loads_of(message)) {
        let is_it =
            |known: &&mut LoadedSkill| known.name == skill.name && known.location == skill.location;
        match loaded.iter_mut().find(is_it) {
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
    /// Of each place, the content that is in the conversation.
    digests: BTreeMap<String, String>,
    /// The folders of those that the user called up.
    called_up: Vec<PathBuf>,
}

impl Loaded {
    pub(crate) fn of(cx: &RunContext) -> Arc<Self> {
        cx.attributes().get_or_insert_with(Self::default)
    }

    /// Looks at the messages that are new. What a compaction took away is not loaded any more.
    pub(crate) fn look_at(&self, messages: &[MessageRef]) {
        let mut state = self.lock();
        let before = state
            .looked_at
            .checked_sub(1)
            .and_then(|at| messages.get(at));
        let goes_on = match (before, &state.last) {
            (Some(before), Some(last)) => before.same(last),
            _ => false,
        };
        if !goes_on {
            state.looked_at = 0;
            state.digests.clear();
        }
        let new = messages.iter().skip(state.looked_at);
        for skill in new.flat_map(|message| loads_of(message)) {
            state.digests.insert(skill.location, skill.digest);
        }
        state.looked_at = messages.len();
        state.last = messages.last().cloned();
    }

    /// Whether the conversation has this very content.
    pub(crate) fn has(&self, activation: &Activation) -> bool {
        let state = self.lock();
        let known = state.digests.get(&activation.skill.location_text());
        known.is_some_and(|digest| *digest == activation.digest().to_string())
    }

    /// The user has called up the skill of this folder.
    pub(crate) fn call_up(&self, folder: Option<&Path>) {
        let mut state = self.lock();
        if let Some(folder) = folder.filter(|folder| !state.called_up.iter().any(|it| it == folder))
        {
            state.called_up.push(folder.to_owned());
        }
    }

    /// Lets the session read these folders, and those of the skills that the user has called up.
    #[cfg(feature = "tools")]
    pub(crate) fn let_read(&self, cx: &RunContext, mut folders: Arc<[PathBuf]>) {
        let state = self.lock();
        if !state.called_up.is_empty() {
            folders = folders.iter().chain(&state.called_up).cloned().collect();
        }
        let readable = cx.attributes().get_or_insert_with(ReadableFolders::default);
        readable.set(folders);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Whether a user's text would be taken for one that a command put a skill into.
pub(crate) fn looks_called_up(text: &str) -> bool {
    text.strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(SKILL_CONTENT))
}

fn loads_of(message: &Message) -> Vec<LoadedSkill> {
    match message {
        Message::ToolResults(results) => results.results.iter().filter_map(loaded_by).collect(),
        // What was attached or piped in stands in other parts. A summary has the texts of the skills that
        // were loaded in what it stands for.
        Message::User(user) => match user.content.first() {
            Some(UserPart::Text(text)) => match CompactionSummary::of(message) {
                Some(summary) => summary.skills,
                None => called_up_by(&text.text).into_iter().collect(),
            },
            _ => Vec::new(),
        },
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
    let text = result.outcome.shown_text();
    // What was cut on its way here is not all there.
    text.ends_with(&end()).then_some(())?;
    let field = |name| Some(skill.get(name)?.as_str()?.to_owned());
    Some(LoadedSkill {
        name: field("name")?,
        digest: field("digest")?,
        location: field("location")?,
        text,
    })
}

/// A user's message that a command put a skill into: it begins with the element.
pub(crate) fn called_up_by(text: &str) -> Option<LoadedSkill> {
    let rest = text.strip_prefix('<')?.strip_prefix(SKILL_CONTENT)?;
    let (name, rest) = attribute(rest, "name")?;
    let (digest, rest) = attribute(rest, "digest")?;
    let (location, rest) = attribute(rest, "location")?;
    rest.starts_with(">\n").then_some(())?;
    let length = text.find(&end())? + end().len();
    Some(LoadedSkill {
        name,
        digest,
        location,
        text: text.get(..length)?.to_owned(),
    })
}

fn end() -> String {
    format!("</{SKILL_CONTENT}>")
}

/// The value of the next attribute, and what follows it.
fn attribute<'t>(text: &'t str, name: &str) -> Option<(String, &'t str)> {
    let rest = text.strip_prefix(' ')?.strip_prefix(name)?;
    let (value, rest) = rest.strip_prefix("=\"")?.split_once('"')?;
    Some((unescaped(value), rest))
}

/// A text as it was before it was escaped: entities by name, and characters as hexadecimal numbers.
pub(crate) fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let character = part.split_once(';').and_then(|(entity, rest)| {
            let character = match entity {
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "amp" => '&',
                _ => {
                    let number = u32::from_str_radix(entity.strip_prefix("#x")?, 16).ok()?;
                    char::from_u32(number)?
                }
            };
            Some((character, rest))
        });
        if let Some((character, rest)) = character {
            whole.push(character);
            whole.push_str(rest);
        } else {
            whole.push('&');
            whole.push_str(part);
        }
    }
    whole
}
