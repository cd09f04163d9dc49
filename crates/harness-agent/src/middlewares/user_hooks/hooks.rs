//! The hooks of all files.

use super::hook::Hook;
use super::hook_event::HookEvent;
use super::hook_file::HookFile;

/// The hooks of several files, in their order: the user's, then those of a project that is trusted. Which
/// files those are is for the program to say; whoever may write one runs commands.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    hooks: Vec<Hook>,
    warnings: Vec<String>,
}

impl Hooks {
    /// The hooks of these files. All of them run: a later file takes nothing of an earlier one away.
    pub fn from_files(files: impl IntoIterator<Item = HookFile>) -> Self {
        let mut all = Self::default();
        for file in files {
            all.hooks.extend(file.hooks);
            all.warnings.extend(file.warnings);
        }
        all
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// All of them, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.iter()
    }

    /// What in the files is not done, in words; each names its file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// One line for each, for people: event, matcher, command, file, time and what a failure means.
    pub fn describe(&self) -> Vec<String> {
        self.hooks.iter().map(ToString::to_string).collect()
    }

    /// Those for an event that has one of these names; all of the event, if it has none.
    pub(super) fn matching(&self, event: HookEvent, names: &[&str]) -> Vec<&Hook> {
        let here = self.hooks.iter().filter(|hook| hook.event == event);
        here.filter(|hook| names.is_empty() || hook.matcher.matches(names))
            .collect()
    }
}
