//! One command of a hook file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::hook_event::{HookEvent, OnHookFailure};
use super::matcher::Matcher;

/// The most characters of a command that are shown where it is named.
const SHOWN_CHARS: usize = 80;

/// A command that runs at one of the [points](HookEvent), as its file says. Displays as one line.
#[derive(Clone, Debug)]
pub struct Hook {
    pub(super) event: HookEvent,
    pub(super) matcher: Matcher,
    pub(super) action: Action,
    pub(super) timeout: Duration,
    pub(super) on_failure: OnHookFailure,
    pub(super) file: Arc<Path>,
    /// Where in the file, as `PreToolUse[0].hooks[1]`.
    pub(super) place: String,
}

/// What a hook does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// It runs a command line.
    Run(String),
    /// It cannot be run, for this reason, and is to block if it fails.
    Fail(String),
}

impl Hook {
    /// The point at which it runs.
    pub fn event(&self) -> HookEvent {
        self.event
    }

    /// Which tools it is for, or which sources, triggers and reasons; `*` for all.
    pub fn matcher(&self) -> &str {
        self.matcher.text()
    }

    /// Its command line; `None` for one that cannot be run, and so always fails.
    pub fn command(&self) -> Option<&str> {
        match &self.action {
            Action::Run(command) => Some(command),
            Action::Fail(_) => None,
        }
    }

    /// How long it may run.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What becomes of what it was asked about if it fails.
    pub fn on_failure(&self) -> OnHookFailure {
        self.on_failure
    }

    /// The file that it is from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where its file has it, as `PreToolUse[0].hooks[1]`, counted from 0.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where its file has its group.
    pub(super) fn group(&self) -> &str {
        let group = self.place.split_once(".hooks[");
        group.map_or(&*self.place, |(group, _)| group)
    }

    /// What it is called in messages.
    pub(super) fn label(&self) -> String {
        let what = match &self.action {
            Action::Run(command) => shown(command),
            Action::Fail(_) => self.place.clone(),
        };
        format!("`{what}` of {}", self.file.display())
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {} ({} s, {} on failure)",
            self.event,
            self.matcher(),
            self.label(),
            self.timeout.as_secs_f64(),
            self.on_failure.word()
        )
    }
}

/// A command line in one short line, without anything that a terminal obeys.
fn shown(command: &str) -> String {
    let mut line: String = command
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN_CHARS)
        .collect();
    if command.chars().nth(SHOWN_CHARS).is_some() {
        line.push('…');
    }
    line
}
