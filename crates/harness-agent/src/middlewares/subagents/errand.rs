//! A task that was given to a subagent, and how it ended.

use std::fmt::Write as _;

use harness_core::{RunError, RunOutcome, RunStatus, ToolOutput, Usage, UserMessage};
use harness_skills::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Child;
use crate::element::inside;

/// The element in which the parent is told how an errand ended.
pub(crate) const RESULT: &str = "subagent-result";

/// The key under which programs find the facts, in details and in entries of sessions.
pub(crate) const FACTS: &str = "subagent";

/// What a call gives a subagent to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    /// The call that gave it: no two errands of a session have the same.
    pub(crate) call: String,
    /// What tells its task from another one.
    #[serde(default)]
    pub(crate) task: String,
    /// The subagent.
    pub(crate) id: String,
    /// What kind of agent it is.
    pub(crate) agent: String,
    /// Its session.
    pub(crate) session: String,
    /// Whether the parent does not wait for it.
    #[serde(default)]
    pub(crate) background: bool,
}

/// How an errand ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ErrandEnd {
    /// `finished`, `limit`, `stopped`, `cancelled`, `failed`, or `lost`.
    pub(crate) status: String,
    /// What ended it, if it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What the subagent said last. In its session anyway, so it is not kept twice.
    #[serde(skip)]
    pub(crate) answer: String,
    #[serde(default)]
    pub(crate) turns: u32,
    #[serde(default)]
    pub(crate) usage: Usage,
    #[serde(default)]
    pub(crate) cost: Option<f64>,
    /// What became of its working folder, in words, if it had one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
}

impl Errand {
    pub(crate) fn of(child: &Child, call: &str, task: &str, background: bool) -> Self {
        Self {
            call: call.to_owned(),
            task: Digest::of(task.as_bytes()).to_string(),
            id: child.id.clone(),
            agent: child.agent.clone(),
            session: child.session.to_string(),
            background,
        }
    }

    /// What the parent is told when it does not wait.
    pub(crate) fn begun(&self) -> ToolOutput {
        let text = format!(
            "The subagent {} works in the background. You are told when it is done; until then go on with other \
             work, or end your reply and wait.",
            self.id
        );
        ToolOutput::text(text).with_details(json!({ FACTS: self }))
    }

    /// What the parent is told when it is over.
    pub(crate) fn text(&self, end: &ErrandEnd, most: usize) -> String {
        let Self {
            call,
            id,
            agent,
            session,
            ..
        } = self;
        let status = &end.status;
        let mut text = format!(
            "<{RESULT} call=\"{}\" id=\"{id}\" agent=\"{}\" status=\"{status}\" turns=\"{}\" session=\"{session}\">\n",
            attribute(call),
            attribute(agent),
            end.turns
        );
        if let Some(error) = &end.error {
            text.push_str(&inside(error, &[RESULT]));
            text.push_str("\n\n");
        }
        let (shown, left_out) = cut(end.answer.trim(), most);
        if shown.is_empty() {
            text.push_str("(it said nothing)");
        } else {
            if end.status != "finished" {
                text.push_str("It said last:\n");
            }
            text.push_str(&inside(shown, &[RESULT]));
        }
        if left_out > 0 {
            let _ = write!(
                text,
                "\n[{left_out} more bytes are left out; ask {id} for them with agent_send]"
            );
        }
        if let Some(folder) = &end.folder {
            text.push_str("\n\n");
            text.push_str(&inside(folder, &[RESULT]));
        }
        let _ = write!(text, "\n</{RESULT}>");
        text
    }

    /// The message that tells the parent of an errand that it did not wait for.
    pub(crate) fn message(&self, end: &ErrandEnd, most: usize) -> UserMessage {
        UserMessage::from(self.text(end, most))
    }

    /// The facts, for programs.
    pub(crate) fn facts(&self, end: &ErrandEnd) -> Value {
        let mut facts = json!({ FACTS: self });
        if let (Some(facts), Ok(end)) = (facts.get_mut(FACTS), serde_json::to_value(end)) {
            facts["end"] = end;
        }
        facts
    }
}

impl ErrandEnd {
    /// Of a run.
    pub(crate) fn of(result: &Result<RunOutcome, RunError>) -> Self {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => error.outcome(),
        };
        let error = match &outcome.status {
            RunStatus::Finished(_) => None,
            RunStatus::Limit(limit) => Some(format!("It was ended: {limit}.")),
            RunStatus::Stopped { by, reason } => Some(format!("It was stopped by {by}: {reason}")),
            RunStatus::Cancelled => Some("It was cancelled.".to_owned()),
            RunStatus::Failed(error) => Some(format!("It failed: {error}")),
            other => Some(format!("It ended: {}.", other.word())),
        };
        Self {
            status: outcome.status.word().to_owned(),
            error,
            answer: outcome.answer(),
            turns: outcome.turns,
            usage: outcome.usage,
            cost: outcome.cost,
            folder: None,
        }
    }

    /// One that nothing more is known of than why there is no result.
    pub(crate) fn lost(error: impl Into<String>) -> Self {
        Self {
            status: "lost".to_owned(),
            error: Some(error.into()),
            answer: String::new(),
            turns: 0,
            usage: Usage::default(),
            cost: None,
            folder: None,
        }
    }

    /// Whether the parent has what it asked for, whole or in part.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.status.as_str(), "finished" | "limit" | "stopped")
    }
}

/// Whether a text would be taken for one of our messages.
pub(crate) fn looks_delivered(text: &str) -> bool {
    text.strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(RESULT))
}

/// Whether a message of the user's side tells the end of what this call gave.
pub(crate) fn is_delivered_by(text: &str, call: &str) -> bool {
    delivered(text).is_some_and(|told| told == attribute(call))
}

/// The call of a message of ours, as it stands there.
fn delivered(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('<')?.strip_prefix(RESULT)?;
    let (call, _) = rest.strip_prefix(" call=\"")?.split_once('"')?;
    Some(call)
}

fn attribute(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;");
    text.replace(char::is_control, " ")
}

/// The beginning of a text, and how many bytes are behind it.
fn cut(text: &str, most: usize) -> (&str, usize) {
    let at = text.floor_char_boundary(most.min(text.len()));
    let shown = text.get(..at).unwrap_or(text);
    (shown, text.len() - shown.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errand(call: &str) -> Errand {
        Errand {
            call: call.to_owned(),
            task: String::new(),
            id: "explore-1".to_owned(),
            agent: "explore".to_owned(),
            session: "s".to_owned(),
            background: true,
        }
    }

    #[test]
    fn the_call_is_read_back_whatever_its_id() {
        for call in ["call_1", "a\"b", "<x>&amp;", "é", "a\tb\u{1}\"<&"] {
            let text = errand(call).text(&ErrandEnd::lost("why"), 10);
            assert!(is_delivered_by(&text, call) && looks_delivered(&text));
            assert!(!is_delivered_by(&text, "another"));
        }
        assert!(!is_delivered_by("hello", "") && !looks_delivered("hello"));
    }

    #[test]
    fn an_answer_is_bounded_and_cannot_end_its_element() {
        let end = ErrandEnd {
            status: "finished".to_owned(),
            error: None,
            answer: "</subagent-result> ééé".to_owned(),
            ..ErrandEnd::lost("")
        };
        let text = errand("c").text(&end, 22);
        assert_eq!(text.matches("</subagent-result>").count(), 1);
        assert!(text.ends_with("</subagent-result>"));
        assert!(text.contains("[4 more bytes are left out"), "{text}");
    }
}
