//! What a person sees while a run goes: a line for each call, on a terminal only. What a subagent does is told as
//! what the run does, behind the subagent's id.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::time::Instant;

use harness_core::{Event, PermissionDecision, PermissionSource, ToolOutcome};

use crate::environment::Environment;
use crate::quantity::{count, span_of_time};
use crate::stderr;
use crate::terminal::excerpt;
use crate::tty;

/// The most characters of a call's arguments that are shown.
const ARGUMENT_CHARS: usize = 100;

/// The most characters of a subagent's id.
const ID_CHARS: usize = 40;

/// How many refusals are told of.
const MAX_REFUSED: usize = 20;

/// Tells on standard error how a run is getting on.
pub(crate) struct Progress {
    terminal: bool,
    colour: bool,
    /// Whether the last line is one that will be written over.
    pending: bool,
    /// Writes to the screen; whether it did.
    write: fn(&str, Line) -> bool,
    /// Says what is said on a terminal or not.
    note: fn(&str),
    /// What is shown of the calls that run, by who makes them and their ids.
    calls: BTreeMap<(String, String), String>,
    /// When the runs of subagents began.
    began: BTreeMap<String, Instant>,
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
            write,
            note: stderr::note,
            calls: BTreeMap::new(),
            began: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    /// Takes in an event.
    pub(crate) fn see(&mut self, event: &Event) {
        let mut event = event;
        let mut ids: Vec<String> = Vec::new();
        while let Event::Subagent(of) = event {
            ids.push(excerpt(&of.id, ID_CHARS));
            event = &of.event;
        }
        if ids.is_empty() {
            self.see_of("", event);
        } else {
            self.see_of(&format!("{}: ", ids.join(" › ")), event);
        }
    }

    /// Takes in an event of the run, or of the subagent that `who` begins lines with.
    fn see_of(&mut self, who: &str, event: &Event) {
        match event {
            // These are said on a terminal or not: they explain what the exit status cannot.
            Event::Warning { message } => {
                self.clear();
                (self.note)(&format!("{who}{message}"));
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
                    (self.note)(&format!("{who}{} was refused: {reason}", report.tool));
                }
            }
            Event::SystemPrompt(report) if !report.cuts.is_empty() => {
                self.clear();
                for cut in &report.cuts {
                    (self.note)(&format!(
                        "{who}the system prompt is too large: of its section {}, {} of {} bytes \
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
                (self.note)(&format!("{who}{error}; trying again {when}"));
            }
            _ if !self.terminal => {}
            Event::RunStart { .. } if !who.is_empty() => {
                self.began.insert(who.to_owned(), Instant::now());
                self.lasting(&format!("{who}starts"));
            }
            Event::TurnStart { turn } => {
                self.passing(&format!("{who}turn {turn}: waiting for the model"));
            }
            Event::ToolStart {
                id,
                name,
                arguments,
            } => {
                let shown = excerpt(&shown_arguments(arguments), ARGUMENT_CHARS);
                self.passing(&format!("{who}{name} {shown}"));
                self.calls.insert((who.to_owned(), id.clone()), shown);
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
                let call = (who.to_owned(), id.clone());
                let shown = self.calls.remove(&call).unwrap_or_default();
                let millis = elapsed.as_millis();
                self.lasting(&format!("{who}{name} {shown}: {mark} ({millis} ms)"));
            }
            Event::RunEnd(_) if who.is_empty() => self.clear(),
            Event::RunEnd(end) => {
                let took = self.began.remove(who).map(|began| began.elapsed());
                let took =
                    took.map_or_else(String::new, |took| format!(", {}", span_of_time(took)));
                let code = if end.error.is_none() { "32" } else { "31" };
                let outcome = self.coloured(end.outcome, code);
                let turns = count(u64::from(end.turns), "turn");
                let why = end.error.as_ref().filter(|_| end.outcome != "cancelled");
                let why = why.map_or_else(String::new, |error| format!(": {}", error.message));
                self.lasting(&format!(
                    "{who}{outcome} ({turns}{took}){}",
                    excerpt(&why, 200)
                ));
                // A run that was dropped did not tell the ends of its calls.
                self.calls.retain(|(caller, _), _| caller != who);
            }
            _ => {}
        }
    }

    /// Takes away the line that will be written over.
    pub(crate) fn clear(&mut self) {
        if self.pending {
            (self.write)("\r\x1b[2K", Line::Passing);
            self.pending = false;
        }
    }

    fn passing(&mut self, text: &str) {
        self.clear();
        self.pending = (self.write)(&self.coloured(&excerpt(text, 110), "2"), Line::Passing);
    }

    fn lasting(&mut self, text: &str) {
        self.clear();
        (self.write)(&format!("{text}\n"), Line::Lasting);
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
    for name in ["command", "path", "pattern", "task", "message"] {
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::time::Duration;

    use harness_core::{
        Caller, ModelId, RunContext, RunEnd, RunInput, RunOutcome, RunStatus, StopReason,
        SubagentEvent, ToolOutput,
    };
    use serde_json::json;

    use super::*;

    thread_local! {
        static SHOWN: RefCell<String> = const { RefCell::new(String::new()) };
    }

    fn progress(terminal: bool) -> Progress {
        SHOWN.take();
        Progress {
            terminal,
            colour: false,
            pending: false,
            write: |text, line| {
                let text = text.replace("\r\x1b[2K", "");
                let end = if let Line::Passing = line { "\n" } else { "" };
                SHOWN.with_borrow_mut(|shown| {
                    shown.push_str(&text);
                    shown.push_str(if text.is_empty() { "" } else { end });
                });
                true
            },
            note: |text| {
                SHOWN.with_borrow_mut(|shown| {
                    shown.push_str("note: ");
                    shown.push_str(text);
                    shown.push('\n');
                });
            },
            calls: BTreeMap::new(),
            began: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    fn of(id: &str, event: Event) -> Event {
        Event::Subagent(Box::new(SubagentEvent {
            id: id.to_owned(),
            agent: "explore".to_owned(),
            session: None,
            event: Box::new(event),
        }))
    }

    fn events() -> Vec<Event> {
        let status = RunStatus::Finished(StopReason::EndTurn);
        let cx = RunContext::detached(Caller::default());
        let outcome = RunOutcome::before_any_turn(&cx, RunInput::prompt("go"), status);
        vec![
            Event::RunStart {
                run: "r".to_owned(),
                session: None,
                model: ModelId::new("x", "y"),
            },
            Event::TurnStart { turn: 1 },
            Event::ToolStart {
                id: "1".to_owned(),
                name: "ls".to_owned(),
                arguments: Arc::new(json!({ "path": "src" })),
            },
            Event::Warning {
                message: "careful".to_owned(),
            },
            Event::ToolEnd {
                id: "1".to_owned(),
                name: "ls".to_owned(),
                outcome: Arc::new(ToolOutcome::Done(ToolOutput::text("a"))),
                elapsed: Duration::from_millis(3),
            },
            Event::RunEnd(Box::new(RunEnd::new(&outcome, None))),
        ]
    }

    /// What is shown, with the times of runs taken out: they are real.
    fn shown() -> String {
        let shown = SHOWN.take();
        let lines = shown.lines().map(|line| match line.split_once(" turns, ") {
            Some((before, _)) => format!("{before} turns, …)\n"),
            None => format!("{line}\n"),
        });
        lines.collect()
    }

    #[test]
    fn sub_what_subagents_do_is_told_behind_their_ids() {
        let mut progress = progress(true);
        for event in events() {
            // The ids of calls are those of each.
            progress.see(&event);
            progress.see(&of("general-1a2b", of("explore-9f", event.clone())));
            progress.see(&of("evil\u{1b}[2J", event));
        }
        let expected = "\
general-1a2b › explore-9f: starts
evil\\u{1b}[2J: starts
turn 1: waiting for the model
general-1a2b › explore-9f: turn 1: waiting for the model
evil\\u{1b}[2J: turn 1: waiting for the model
ls src
general-1a2b › explore-9f: ls src
evil\\u{1b}[2J: ls src
note: careful
note: general-1a2b › explore-9f: careful
note: evil\\u{1b}[2J: careful
ls src: ok (3 ms)
general-1a2b › explore-9f: ls src: ok (3 ms)
evil\\u{1b}[2J: ls src: ok (3 ms)
general-1a2b › explore-9f: finished (0 turns, …)
evil\\u{1b}[2J: finished (0 turns, …)
";
        assert_eq!(shown(), expected);
        assert!(progress.calls.is_empty() && progress.began.is_empty());
    }

    #[test]
    fn sub_without_a_terminal_only_what_matters_is_told() {
        let mut progress = progress(false);
        for event in events() {
            progress.see(&of("explore-9f", event));
        }
        assert_eq!(shown(), "note: explore-9f: careful\n");
    }
}
