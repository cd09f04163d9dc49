//! The points at which hooks run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point at which hooks run. The names are those of Claude Code's hook files, in which there are more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HookEvent {
    /// A call is about to be made.
    PreToolUse,
    /// A call was made, and its tool did what it was asked for.
    PostToolUse,
    /// The user said something that begins a run.
    UserPromptSubmit,
    /// The model has nothing more to do, and the run would end.
    Stop,
    /// The first run of a session begins.
    SessionStart,
    /// A session is over: told by the program, see
    /// [`end_session`](super::UserHooksMiddleware::end_session).
    SessionEnd,
    /// The conversation is about to be made shorter.
    PreCompact,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PreCompact,
        Self::Stop,
        Self::SessionEnd,
    ];

    /// Their names.
    pub(super) const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].name();
            index += 1;
        }
        names
    };

    /// The name in hook files and in what a hook is given.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::PreCompact => "PreCompact",
        }
    }

    /// The event of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// What becomes of a hook that fails, if its file does not say: what is there to deny must not be
    /// passed by making it fail.
    pub fn on_failure(self) -> OnHookFailure {
        match self {
            Self::PreToolUse | Self::UserPromptSubmit => OnHookFailure::Closed,
            _ => OnHookFailure::Open,
        }
    }

    /// Whether plain text on standard output is context for the model.
    pub(super) fn takes_text(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::SessionStart)
    }

    /// Whether it is about a call.
    pub(super) fn is_of_call(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }

    /// What a matcher can be for, where that is no tool: nothing, if only the program knows.
    pub(super) fn subjects(self) -> &'static [&'static str] {
        match self {
            Self::SessionStart => &["startup", "resume"],
            Self::PreCompact => &["manual", "auto"],
            _ => &[],
        }
    }

    /// What its subjects are called.
    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::PreCompact => "trigger",
            _ => "source",
        }
    }

    /// What a matcher can be for with other agents.
    pub(super) fn foreign_subjects(self) -> &'static [&'static str] {
        match self {
            Self::SessionStart => &["clear", "compact", "fork"],
            _ => &[],
        }
    }

    /// Whether a matcher says something about the event.
    pub(super) fn has_subject(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a hook that fails does to what it was asked about. It fails if it cannot be started, runs out of
/// time, exits with a code other than 0 and 2, or gives an answer that cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnHookFailure {
    /// Nothing: a warning tells of it.
    Open,
    /// The same as a hook that blocks.
    Closed,
}

impl OnHookFailure {
    /// The word for it in hook files: `open`, `closed`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}
