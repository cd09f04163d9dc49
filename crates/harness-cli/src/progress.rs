//! What a person sees while a run goes: a line for each call, on a terminal only.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};

use harness_core::{Event, PermissionDecision, PermissionSource, ToolOutcome};

use crate::environment::Environment;
use crate::stderr;
use crate::terminal::excerpt;
use crate::tty;

/// The most characters of a call's arguments that are shown.
const ARGUMENT_CHARS: usize = 100;

/// How many refusals are told of.
const MAX_REFUSED: usize = 20;

/// Tells on standard error how a run is getting on.
pub(crate) struct Progress {
    terminal: bool,
    colour: bool,
    /// Whether the last line is one that will be written over.
    pending: bool,
    /// What is shown of the calls that run, by id.
    calls: BTreeMap<String, String>,
    /// Why calls were refused, as it was said.
    refused: BTreeSet<String>,
}

impl Progress {
    pub(crate) fn new(environment: &Environment) -> Self {
        let terminal = std::io::stderr().is_terminal()
            && environment.text("TERM").is_some_and(|name| name != "dumb");
        Self {
            terminal,
            colour: terminal && !environment.is_set("NO_COLOR"),
            pending: false,
            calls: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    /// Takes in an event.
    pub(crate) fn see(&mut self, event: &Event) {
        match event {
            // These are said on a terminal or not: they explain what the exit status cannot.
            Event::Warning { message } => {
                self.clear();
                stderr::note(message);
            }
            // Once for each reason; a person who said no knows.
            Event::Permission(report)
                if report.decision == PermissionDecision::Deny
                    && report.by != PermissionSource::Person
                    && self.refused.len() < MAX_REFUSED =>
            {
                let reason = report.reason.as_deref().unwrap_or("a hook said no");
                if self.refused.insert(reason.to_owned()) {
                    self.clear();
                    stderr::note(&format!("{} was refused: {reason}", report.tool));
                }
            }
            Event::SystemPrompt(report) if !report.cuts.is_empty() => {
                self.clear();
                for cut in &report.cuts {
                    stderr::note(&format!(
                        "the system prompt is too large: of its section {}, {} of {} bytes \
                         are left",
                        cut.section, cut.kept, cut.bytes
                    ));
                }
            }
            Event::AttemptDiscarded {
                error,
                retry_in: Some(wait),
                ..
            } => {
                self.clear();
                let when = if wait.is_zero() {
                    "at once".to_owned()
                } else {
                    format!("in {:.1} s", wait.as_secs_f64())
                };
                stderr::note(&format!("{error}; trying again {when}"));
            }
            _ if !self.terminal => {}
            Event::TurnStart { turn } => {
                self.passing(&format!("turn {turn}: waiting for the model"));
            }
            Event::ToolStart {
                id,
                name,
                arguments,
            } => {
                let shown = excerpt(&shown_arguments(arguments), ARGUMENT_CHARS);
                self.passing(&format!("{name} {shown}"));
                self.calls.insert(id.clone(), shown);
            }
            Event::ToolEnd {
                id,
                name,
                outcome,
                elapsed,
                ..
            } => {
                let (mark, code) = match **outcome {
                    ToolOutcome::Done(_) => ("ok", "32"),
                    ToolOutcome::Denied { .. } => ("refused", "33"),
                    _ => ("failed", "31"),
                };
                let mark = self.coloured(mark, code);
                let shown = self.calls.remove(id).unwrap_or_default();
                let millis = elapsed.as_millis();
                self.lasting(&format!("{name} {shown}: {mark} ({millis} ms)"));
            }
            Event::RunEnd(_) => self.clear(),
            _ => {}
        }
    }

    /// Takes away the line that will be written over.
    pub(crate) fn clear(&mut self) {
        if self.pending {
            write("\r\x1b[2K", Line::Passing);
            self.pending = false;
        }
    }

    fn passing(&mut self, text: &str) {
        self.clear();
        self.pending = write(&self.coloured(&excerpt(text, 110), "2"), Line::Passing);
    }

    fn lasting(&mut self, text: &str) {
        self.clear();
        write(&format!("{text}\n"), Line::Lasting);
    }

    fn coloured(&self, text: &str, code: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The one argument that says most, else all of them.
fn shown_arguments(arguments: &serde_json::Value) -> String {
    for name in ["command", "path", "pattern"] {
        if let Some(text) = arguments.get(name).and_then(serde_json::Value::as_str) {
            return text.to_owned();
        }
    }
    arguments.to_string()
}

/// What is written.
#[derive(Clone, Copy)]
enum Line {
    /// What will be written over.
    Passing,
    Lasting,
}

/// Writes, unless a question stands on the screen: that must not be written over. Lines that last are shown when it
/// was answered. Whether something was written.
fn write(text: &str, line: Line) -> bool {
    let mut screen = tty::screen();
    if screen.is_asking {
        if let Line::Lasting = line {
            screen.waiting.push_str(text);
        }
        return false;
    }
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
    true
}
