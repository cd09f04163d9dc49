//! Asking the person at the terminal whether a call may run.

use std::fmt::Write as _;
use std::sync::Mutex;

use harness_core::{RunContext, async_trait};
use harness_trust::{Answer, Approver, Question, Scope};

use crate::terminal::one_line;
use crate::tty::{Asking, Tty};

/// How many lines of a change are shown unless more is asked for.
const PREVIEW_LINES: usize = 40;

/// Asks at the terminal, one question at a time.
pub(crate) struct TerminalApprover {
    /// Held while a question stands there.
    asking: std::sync::Arc<Mutex<Tty>>,
}

impl TerminalApprover {
    pub(crate) fn new(tty: Tty) -> Self {
        Self {
            asking: std::sync::Arc::new(Mutex::new(tty)),
        }
    }
}

#[async_trait]
impl Approver for TerminalApprover {
    async fn ask(&self, cx: &RunContext, question: &Question) -> Answer {
        let (tty, cancel) = (self.asking.clone(), cx.cancellation().clone());
        let question = question.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let mut tty = tty
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let tty = &mut *tty;
            let _asking = Asking::begin();
            tty.say(&told(&question, PREVIEW_LINES));
            loop {
                tty.forget_typed();
                tty.say(&choices(&question));
                let Some(line) = tty.line(&cancel) else {
                    tty.say("\n");
                    return Answer::No { reason: None };
                };
                match read(&line, &question) {
                    Read::Answer(answer) => return answer,
                    Read::Everything => tty.say(&told(&question, usize::MAX)),
                    Read::Again(why) => tty.say(&format!("{why}\n")),
                }
            }
        });
        asked.await.unwrap_or(Answer::Nobody)
    }
}

/// The question, with nothing in it that a terminal would act on.
fn told(question: &Question, preview_lines: usize) -> String {
    // In the place of the line that tells what goes on.
    let mut text = String::from("\r\x1b[2K");
    if question.again {
        text.push_str("What this is about has changed while you looked at it. Once more:\n");
    }
    let _ = writeln!(text, "May `{}` do this?", one_line(&question.tool));
    if let Some(agent) = &question.agent {
        let _ = writeln!(text, "  for the subagent {}", one_line(agent));
    }
    for effect in &question.effects {
        let _ = writeln!(text, "    {}", one_line(effect));
    }
    if let Some(preview) = &question.preview {
        let lines = preview.lines().count();
        for line in preview.lines().take(preview_lines) {
            let _ = writeln!(text, "    | {}", one_line(line));
        }
        if lines > preview_lines {
            let _ = writeln!(
                text,
                "    | … {} more lines; `d` shows them",
                lines - preview_lines
            );
        }
    }
    for reason in &question.reasons {
        let _ = writeln!(text, "  asked because {}", one_line(reason));
    }
    if question.scopes.len() > 1 {
        let rules: Vec<String> = question.rules.iter().map(|rule| one_line(rule)).collect();
        let _ = writeln!(
            text,
            "  a yes for more than once allows {}",
            rules.join(", ")
        );
    }
    text
}

fn choices(question: &Question) -> String {
    let mut text = String::from("[y] once");
    for scope in &question.scopes {
        text.push_str(match scope {
            Scope::Once => "",
            Scope::Run => "  [r] in this run",
            Scope::Project => "  [p] in this project, always",
        });
    }
    text.push_str("  [n] no, or say what to do instead: ");
    text
}

/// What a line comes to.
enum Read {
    Answer(Answer),
    /// The whole change is to be shown.
    Everything,
    /// It is none of the choices.
    Again(&'static str),
}

fn read(line: &str, question: &Question) -> Read {
    let offers = |scope: Scope| question.scopes.contains(&scope);
    Read::Answer(match line.to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes(Scope::Once),
        "r" | "run" if offers(Scope::Run) => Answer::Yes(Scope::Run),
        "p" | "project" if offers(Scope::Project) => Answer::Yes(Scope::Project),
        "d" if question.preview.is_some() => return Read::Everything,
        // The key that is hit without looking.
        "" | "n" | "no" => Answer::No { reason: None },
        short if short.chars().count() == 1 => {
            return Read::Again("That is none of the choices.");
        }
        _ => Answer::No {
            reason: Some(line.to_owned()),
        },
    })
}
