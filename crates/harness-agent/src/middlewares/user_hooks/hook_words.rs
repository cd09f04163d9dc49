//! The words of hook files and of what hooks answer: ours, those that other agents have and this one does not, and what was meant by
//! others.
//!
//! From the references of [Claude Code](https://code.claude.com/docs/en/hooks),
//! [codex](https://developers.openai.com/codex/hooks) and
//! [Gemini CLI](https://geminicli.com/docs/hooks/reference/).

use super::hook_event::HookEvent;

/// A kind of words: those that are used here, and those of others.
pub(super) struct HookWords {
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
}

/// The keys of a file. A whole `settings.json` has many more.
pub(super) const FILE_KEYS: HookWords = HookWords {
    ours: &["hooks", "disableAllHooks"],
    theirs: &["$schema", "description"],
};

/// The keys of a group.
pub(super) const GROUP_KEYS: HookWords = HookWords {
    ours: &["matcher", "hooks"],
    theirs: &["description", "name", "sequential"],
};

/// The keys of a hook. `onFailure`, which is Claude Code's, is read as well; ours is the one to be suggested.
pub(super) const HOOK_KEYS: HookWords = HookWords {
    ours: &["type", "command", "timeout", "on_failure"],
    theirs: &[
        "allowedEnvVars",
        "args",
        "async",
        "asyncRewake",
        "commandWindows",
        "continueOnBlock",
        "description",
        "env",
        "headers",
        "if",
        "input",
        "model",
        "name",
        "once",
        "prompt",
        "rewakeMessage",
        "rewakeSummary",
        "server",
        "shell",
        "statusMessage",
        "timeoutSec",
        "tool",
        "url",
    ],
};

/// The keys of what a hook answers.
pub(super) const ANSWER_KEYS: HookWords = HookWords {
    ours: &[
        "continue",
        "stopReason",
        "systemMessage",
        "decision",
        "reason",
        "additionalContext",
        "hookSpecificOutput",
    ],
    theirs: &["async", "asyncTimeout", "suppressOutput"],
};

/// The keys of its `hookSpecificOutput`.
pub(super) const SPECIFIC_KEYS: HookWords = HookWords {
    ours: &[
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
    ],
    theirs: &["updatedMCPToolOutput", "updatedToolOutput"],
};

/// The kinds of hooks.
pub(super) const TYPES: HookWords = HookWords {
    ours: &["command"],
    theirs: &["agent", "http", "mcp_tool", "prompt"],
};

/// What becomes of a hook that fails; of these words, `block` and `continue` are Claude Code's.
pub(super) const FAILURES: HookWords = HookWords {
    ours: &["open", "closed", "block", "continue"],
    theirs: &[],
};

/// The points at which hooks run.
pub(super) const EVENTS: HookWords = HookWords {
    ours: &HookEvent::NAMES,
    theirs: &[
        "AfterAgent",
        "AfterModel",
        "AfterTool",
        "BeforeAgent",
        "BeforeModel",
        "BeforeTool",
        "BeforeToolSelection",
        "ConfigChange",
        "CwdChanged",
        "DirectoryAdded",
        "Elicitation",
        "ElicitationResult",
        "FileChanged",
        "InstructionsLoaded",
        "MessageDisplay",
        "Notification",
        "PermissionDenied",
        "PermissionRequest",
        "PostCompact",
        "PostModelSwitch",
        "PostToolBatch",
        "PostToolUseFailure",
        "PreCompress",
        "PreModelSwitch",
        "Setup",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptExpansion",
        "WorktreeCreate",
        "WorktreeRemove",
    ],
};

impl HookWords {
    pub(super) fn has(&self, word: &str) -> bool {
        self.ours.contains(&word)
    }

    /// Whether another agent has it, and this one does not.
    pub(super) fn is_foreign(&self, word: &str) -> bool {
        self.theirs.contains(&word)
    }

    /// The word of ours that was meant in all likelihood.
    pub(super) fn near(&self, word: &str) -> Option<&'static str> {
        near(word, self.ours.iter().copied())
    }

    /// The same as a question, behind a sentence.
    pub(super) fn question(&self, word: &str) -> String {
        question(self.near(word))
    }
}

/// A question for what was meant, behind a sentence; nothing, where nothing is near.
pub(super) fn question(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The candidate that was meant in all likelihood: a typo away, or written in another way (`pre_tool_use`).
pub(super) fn near<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |word: &str| word.replace(['_', '-'], "").to_lowercase();
    let meant = plain(word);
    candidates
        .filter_map(|candidate| {
            let other = plain(candidate);
            let distance = strsim::damerau_levenshtein(&meant, &other);
            let is_near = distance <= 1.max(other.chars().count() / 3) && !meant.is_empty();
            let exact = strsim::damerau_levenshtein(word, candidate);
            is_near.then_some((distance, exact, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        for (words, word, meant) in [
            (&FILE_KEYS, "hook", Some("hooks")),
            (&FILE_KEYS, "env", None),
            (&FILE_KEYS, "permissions", None),
            (&FILE_KEYS, "model", None),
            (&GROUP_KEYS, "matchr", Some("matcher")),
            (&GROUP_KEYS, "hook", Some("hooks")),
            (&HOOK_KEYS, "tiemout", Some("timeout")),
            (&HOOK_KEYS, "comand", Some("command")),
            (&HOOK_KEYS, "onfailure", Some("on_failure")),
            (&HOOK_KEYS, "onFailur", Some("on_failure")),
            (&ANSWER_KEYS, "hook_event_name", None),
            (&ANSWER_KEYS, "tool_input", None),
            (&ANSWER_KEYS, "session_id", None),
            (&ANSWER_KEYS, "message", None),
            (&ANSWER_KEYS, "version", None),
            (&ANSWER_KEYS, "stop_reason", Some("stopReason")),
            (&SPECIFIC_KEYS, "updatedPermissions", None),
            (&SPECIFIC_KEYS, "tool_input", None),
            (&HOOK_KEYS, "colour", None),
            (&HOOK_KEYS, "", None),
            (&EVENTS, "PreToolUs", Some("PreToolUse")),
            (&EVENTS, "pre_tool_use", Some("PreToolUse")),
            (&EVENTS, "PostToolUsed", Some("PostToolUse")),
            (&EVENTS, "OnFriday", None),
        ] {
            assert_eq!(words.near(word), meant, "{word}");
        }
    }

    /// A word that is used here is not told as one of others.
    #[test]
    fn no_word_is_ours_and_theirs() {
        for words in [
            FILE_KEYS,
            GROUP_KEYS,
            HOOK_KEYS,
            ANSWER_KEYS,
            SPECIFIC_KEYS,
            TYPES,
            FAILURES,
            EVENTS,
        ] {
            for word in words.theirs {
                assert!(!words.has(word), "{word}");
            }
            for word in words.ours {
                assert_eq!(words.near(word), Some(*word));
            }
        }
    }
}
