//! What one hook answered.

use harness_core::HookDecision;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::hook::Hook;
use super::hook_event::{HookEvent, OnHookFailure};
use super::hook_process::{Ran, Stream};
use super::hook_words::{ANSWER_KEYS, HookWords, SPECIFIC_KEYS};
use super::shown_call::ShownCall;

/// The exit code that blocks.
const BLOCK: i32 = 2;

/// What one hook answered, whatever way it did so.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// It blocks what it was asked about, and why.
    pub(super) block: Option<String>,
    /// What the permissions are to make of the call, and why.
    pub(super) decision: Option<(HookDecision, Option<String>)>,
    /// Other arguments for the call.
    pub(super) updated_input: Option<Value>,
    /// What the model is to know.
    pub(super) context: Option<String>,
    /// The run is to end, and why.
    pub(super) stop: Option<String>,
    /// What people are told.
    pub(super) warning: Option<String>,
    /// The run was cancelled before it answered.
    pub(super) cancelled: bool,
}

impl Answer {
    /// The answer of a hook that ended like this, about a call that it was shown like this.
    pub(super) fn of(hook: &Hook, ran: Ran, call: Option<&ShownCall>) -> Self {
        let problem = match ran {
            Ran::Cancelled => {
                return Self {
                    cancelled: true,
                    ..Self::default()
                };
            }
            Ran::Failed(problem) => problem,
            Ran::Exited {
                code: BLOCK, err, ..
            } => return Self::blocked(hook, &err),
            Ran::Exited { code: 0, out, .. } => {
                let read = Self::read(hook, &out);
                match read.and_then(|answer| answer.taken_back(call)) {
                    Ok(answer) => return answer,
                    Err(problem) => problem,
                }
            }
            Ran::Exited { code, err, .. } => {
                let err = err.text();
                let colon = if err.is_empty() { "" } else { ": " };
                format!("it exited with code {code}{colon}{err}")
            }
        };
        let problem = format!("the hook {} failed: {problem}", hook.label());
        match hook.on_failure {
            OnHookFailure::Open => Self {
                warning: Some(problem),
                ..Self::default()
            },
            OnHookFailure::Closed => Self {
                block: Some(problem),
                ..Self::default()
            },
        }
    }

    /// With the arguments in our shape. Of a call that is refused, nobody asks what they would have been.
    fn taken_back(mut self, call: Option<&ShownCall>) -> Result<Self, String> {
        let is_refused = self.block.is_some() || self.stop.is_some();
        if let (Some(updated), Some(call)) = (self.updated_input.take(), call)
            && !is_refused
        {
            let taken = call.take_back(updated);
            let taken =
                taken.map_err(|problem| format!("its `updatedInput` cannot be used: {problem}"))?;
            self.updated_input = Some(taken);
        }
        Ok(self)
    }

    fn blocked(hook: &Hook, err: &Stream) -> Self {
        let reason = Some(err.text()).filter(|reason| !reason.is_empty());
        Self {
            block: Some(reason.unwrap_or_else(|| without_reason(hook))),
            ..Self::default()
        }
    }

    /// Reads standard output: an object, or text.
    fn read(hook: &Hook, out: &Stream) -> Result<Self, String> {
        let text = out.text();
        let is_text = if hook.event.takes_text() {
            !text.starts_with('{')
        } else {
            // Behind some other line, too: a refusal that is passed over is none.
            !text.lines().any(|line| line.trim_start().starts_with('{'))
        };
        if is_text {
            let context = hook.event.takes_text() && !text.is_empty();
            return Ok(Self {
                context: context.then_some(text),
                ..Self::default()
            });
        }
        if out.is_cut {
            return Err("its answer is too long".to_owned());
        }
        let written: Written = serde_json::from_str(&text)
            .map_err(|error| format!("its answer cannot be understood: {error}"))?;
        written.answer(hook)
    }
}

fn without_reason(hook: &Hook) -> String {
    format!("the hook {} gave no reason", hook.label())
}

/// An answer as it is written; see the "JSON output" of
/// [Claude Code's hooks](https://code.claude.com/docs/en/hooks#json-output).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    /// Some write it here.
    additional_context: Option<String>,
    hook_specific_output: Option<Specific>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Refuses a key that is another one in all likelihood: what it was to say is not known, and it may be a no.
/// What else is not known here is of no matter.
fn no_typos(others: &Map<String, Value>, words: &HookWords) -> Result<(), String> {
    let mut strange = others.keys().filter(|key| !words.is_foreign(key));
    match strange.find_map(|key| Some((key, words.near(key)?))) {
        Some((key, near)) => Err(format!(
            "its answer has the unknown key `{key}`; did you mean `{near}`?"
        )),
        None => Ok(()),
    }
}

impl Written {
    fn answer(self, hook: &Hook) -> Result<Answer, String> {
        let specific = self.hook_specific_output.unwrap_or_default();
        no_typos(&self.others, &ANSWER_KEYS)?;
        no_typos(&specific.others, &SPECIFIC_KEYS)?;
        if let Some(name) = &specific.hook_event_name
            && name != hook.event.name()
        {
            return Err(format!(
                "its answer is one for `{name}`, and it was asked about {}",
                hook.event
            ));
        }
        let mut answer = Answer {
            context: specific.additional_context.or(self.additional_context),
            warning: self
                .system_message
                .filter(|message| !message.trim().is_empty()),
            ..Answer::default()
        };
        answer.context.take_if(|context| context.trim().is_empty());
        if self.goes_on == Some(false) {
            let reason = self.stop_reason.or_else(|| self.reason.clone());
            answer.stop = Some(reason.unwrap_or_else(|| without_reason(hook)));
        }
        if hook.event == HookEvent::PreToolUse {
            answer.updated_input = specific.updated_input.filter(|input| !input.is_null());
        }
        let is_call = hook.event == HookEvent::PreToolUse;
        // The newer word has precedence.
        let (word, reason) = match specific.permission_decision {
            Some(word) if is_call => (Some(word), specific.permission_decision_reason),
            _ => (self.decision, self.reason),
        };
        match word.as_deref() {
            None => {}
            Some("block" | "deny") => {
                answer.block = Some(reason.unwrap_or_else(|| without_reason(hook)));
            }
            Some("allow" | "approve") => answer.decision = Some((HookDecision::Allow, reason)),
            Some("ask") if is_call => answer.decision = Some((HookDecision::Ask, reason)),
            Some(word) => return Err(format!("it decided `{word}`, which is unknown here")),
        }
        Ok(answer)
    }
}
