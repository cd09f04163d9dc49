//! Whether a call may run, and who says so.

use serde::{Deserialize, Serialize};

/// The audit line of one decision about a call: in events, in sessions, in traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PermissionReport {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The subagent that makes the call, if one does: see [`SubagentName::path`](crate::SubagentName::path).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What was decided.
    pub decision: PermissionDecision,
    /// By whose word.
    pub by: PermissionSource,
    /// The rule that decided or that asked, as it is written. Where several allow a part of the call each, all of them,
    /// with commas between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where that rule stands; where those stand, with commas between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// How far a person's yes goes: `once`, `run`, `project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What the call would do, in words.
    pub effects: Vec<String>,
    /// Why, for a call that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// It may run.
    Allow,
    /// It may not.
    Deny,
}

/// By whose word a call may run or may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionSource {
    /// A rule.
    Rule,
    /// Somebody was asked.
    Person,
    /// Somebody would have had to be asked, and nobody was there.
    Nobody,
    /// A hook of the user's.
    Hook,
}

impl PermissionDecision {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

impl PermissionSource {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Person => "person",
            Self::Nobody => "nobody",
            Self::Hook => "hook",
        }
    }
}

impl PermissionReport {
    /// A decision about a call.
    pub fn new(
        id: impl Into<String>,
        tool: impl Into<String>,
        decision: PermissionDecision,
        by: PermissionSource,
    ) -> Self {
        Self {
            id: id.into(),
            tool: tool.into(),
            agent: None,
            decision,
            by,
            rule: None,
            layer: None,
            scope: None,
            effects: Vec::new(),
            reason: None,
        }
    }
}
