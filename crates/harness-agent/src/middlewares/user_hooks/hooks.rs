//! The hooks of all files.

use super::hook::Hook;
use super::hook_diagnostic::HookDiagnostic;
use super::hook_event::HookEvent;
use super::hook_file::HookFile;
use super::matcher::{Fit, Misfit};
use crate::foreign_tool::ForeignTool;

/// The hooks of several files, in their order: the user's, then those of a project that is trusted. Which
/// files those are is for the program to say; whoever may write one runs commands.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    hooks: Vec<Hook>,
    diagnostics: Vec<HookDiagnostic>,
}

impl Hooks {
    /// The hooks of these files. All of them run: a later file takes nothing of an earlier one away.
    pub fn from_files(files: impl IntoIterator<Item = HookFile>) -> Self {
        let mut all = Self::default();
        for file in files {
            all.hooks.extend(file.hooks);
            all.diagnostics.extend(file.diagnostics);
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

    /// What in the files is not done as it is written.
    pub fn diagnostics(&self) -> &[HookDiagnostic] {
        &self.diagnostics
    }

    /// The matchers that are for nothing in a run with these tools, and the names in them that are a near miss:
    /// with a warning where nothing of the name is known anywhere. What may come later (`mcp__…`), and what only
    /// the program knows (why a session ends), is not told.
    pub fn misfits(&self, tools: &[&str]) -> Vec<HookDiagnostic> {
        let mut names: Vec<&str> = tools.to_vec();
        for tool in tools {
            names.extend(ForeignTool::of(tool).map(|other| other.theirs));
        }
        let elsewhere: Vec<&str> = ForeignTool::all_names().collect();
        let mut found = Vec::new();
        let mut last = None;
        for hook in &self.hooks {
            // A group has one matcher.
            let group = (&hook.file, hook.group());
            if last.replace(group) == Some(group) {
                continue;
            }
            let misfit = if hook.event.is_of_call() {
                hook.matcher.misfit(&names, &elsewhere, "tool")
            } else if !hook.event.subjects().is_empty() {
                let (here, elsewhere) = (hook.event.subjects(), hook.event.foreign_subjects());
                let what = format!("{} of {}", hook.event.subject(), hook.event);
                hook.matcher.misfit(here, elsewhere, &what)
            } else {
                None
            };
            found.extend(misfit.map(|Misfit { is_unknown, text }| {
                HookDiagnostic::new(is_unknown, &hook.file, hook.group(), text)
            }));
        }
        found
    }

    /// One line for each, for people: event, matcher, command, file, time and what a failure means.
    pub fn describe(&self) -> Vec<String> {
        self.hooks.iter().map(ToString::to_string).collect()
    }

    /// Those for an event of this subject; all of the event, if it has none.
    pub(super) fn matching(&self, event: HookEvent, subject: Option<&str>) -> Vec<&Hook> {
        let here = self.hooks.iter().filter(|hook| hook.event == event);
        here.filter(|hook| subject.is_none_or(|subject| hook.matcher.matches(&[subject])))
            .collect()
    }

    /// Those for an event of a call of this tool, and by which name.
    pub(super) fn of_call(&self, event: HookEvent, tool: &str) -> Vec<(&Hook, Fit)> {
        let here = self.hooks.iter().filter(|hook| hook.event == event);
        here.filter_map(|hook| Some((hook, hook.matcher.fit(tool)?)))
            .collect()
    }
}
