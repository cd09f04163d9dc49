//! What was decided about a call, for people: what, by whose word, and where that stands.

use std::fmt::Write as _;

use harness_core::{PermissionDecision, PermissionReport, PermissionSource};
use harness_session::{Body, DecisionBody, Entry, Error, Log};
use serde::Deserialize;

/// How far before a decision the one of a hook about the same call is looked for: calls of a turn are decided
/// side by side.
const MOST_BEFORE: usize = 64;

/// What hooks made of a call, as it is on record.
#[derive(Default, Deserialize)]
#[serde(default)]
struct HookRecord {
    asked: u32,
    block: Option<String>,
    by: Option<(String, String)>,
    decision: Option<String>,
    decided_by: Option<String>,
    reason: Option<String>,
    updated_input: Option<serde_json::Value>,
    rewritten_by: Option<String>,
    context: Vec<String>,
    stop: Option<String>,
    cancelled: bool,
}

/// A decision in one line.
pub(crate) fn decision_line(
    log: &dyn Log,
    entry: &Entry,
    body: &DecisionBody,
) -> Result<String, Error> {
    let kind = &body.kind;
    if let Ok(report) = PermissionReport::deserialize(&body.decision) {
        let hook = match report.by {
            PermissionSource::Hook => hook_before(log, entry, &body.call_id)?,
            _ => None,
        };
        return Ok(format!("{kind}: {}", permission(&report, hook.as_deref())));
    }
    let words = match HookRecord::deserialize(&body.decision) {
        Ok(record) if kind.starts_with("hook") => record.words(),
        _ => return Ok(format!("{kind} of a call")),
    };
    Ok(format!("{kind}: {words}"))
}

fn permission(report: &PermissionReport, hook: Option<&str>) -> String {
    let layer = report.layer.as_ref();
    let layer = layer.map_or_else(String::new, |layer| format!(" ({layer})"));
    let rule = report
        .rule
        .as_ref()
        .map(|rule| format!("the rule `{rule}`{layer}"));
    let mut words = report.decision.word().to_owned();
    let by = match (report.by, rule) {
        (PermissionSource::Rule, Some(rule)) => format!(" by {rule}"),
        (PermissionSource::Rule, None) => {
            format!(" by what is said of the tool `{}`", report.tool)
        }
        (PermissionSource::Person, rule) => {
            let far = match report.scope.as_deref() {
                None => String::new(),
                Some("once") => ", once".to_owned(),
                Some(scope) => format!(", for the {scope}"),
            };
            let asked = asked_by(rule);
            format!(" by a person{far}{asked}")
        }
        (PermissionSource::Hook, _) => match hook {
            Some(hook) => format!(" by the hook {hook}"),
            None => " by a hook".to_owned(),
        },
        (by, rule) => format!(" by {}{}", by.word(), asked_by(rule)),
    };
    words.push_str(&by);
    let _ = write!(words, ": {}", report.effects.join(", "));
    // A rule that denies says all that there is to say.
    let is_told = report.by != PermissionSource::Rule;
    if let Some(reason) = report
        .reason
        .as_ref()
        .filter(|_| is_told && report.decision == PermissionDecision::Deny)
    {
        let _ = write!(words, ": {reason}");
    }
    words
}

/// Which rule asked, if one did.
fn asked_by(rule: Option<String>) -> String {
    rule.map_or_else(String::new, |rule| format!(", asked by {rule}"))
}

/// The hook that decided about this call before the permissions did.
fn hook_before(log: &dyn Log, entry: &Entry, call: &str) -> Result<Option<String>, Error> {
    let mut parent = entry.parent;
    for _ in 0..MOST_BEFORE {
        let Some(number) = parent.map(|id| log.find(id)).transpose()?.flatten() else {
            break;
        };
        let Ok(before) = log.read(number) else {
            break;
        };
        if let Body::Decision(body) = &before.body
            && body.call_id == call
            && body.kind == "hook"
        {
            let record = HookRecord::deserialize(&body.decision).unwrap_or_default();
            return Ok(record.decided_by);
        }
        parent = before.parent;
    }
    Ok(None)
}

impl HookRecord {
    fn words(self) -> String {
        if self.cancelled {
            return "cancelled".to_owned();
        }
        let by = |hook: Option<String>| hook.map_or_else(String::new, |hook| format!(" by {hook}"));
        let why = |reason: Option<String>| reason.map_or_else(String::new, |it| format!(": {it}"));
        let mut words = Vec::new();
        let blocker = self.by.map(|(hook, _)| hook);
        if let Some(reason) = self.stop {
            let by = by(blocker.clone());
            words.push(format!("end of the run{by}{}", why(Some(reason))));
        }
        if let Some(reason) = self.block {
            words.push(format!("deny{}{}", by(blocker), why(Some(reason))));
        } else if let Some(decision) = self.decision {
            words.push(format!(
                "{decision}{}{}",
                by(self.decided_by),
                why(self.reason)
            ));
        }
        if self.updated_input.is_some() {
            words.push(format!("other arguments{}", by(self.rewritten_by)));
        }
        if !self.context.is_empty() {
            words.push("something told to the model".to_owned());
        }
        if words.is_empty() {
            let asked = match self.asked {
                0 => String::new(),
                asked => format!(" ({asked} asked)"),
            };
            return format!("nothing decided{asked}");
        }
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whose_yes_and_how_far() {
        let report = |by: &str, decision: &str, more: serde_json::Value| {
            let mut report = json!({
                "id": "c", "tool": "bash", "decision": decision, "by": by,
                "effects": ["run(git push)"],
            });
            let more = more.as_object().cloned().unwrap_or_default();
            report.as_object_mut().unwrap().extend(more);
            PermissionReport::deserialize(report).unwrap()
        };
        let asks = json!({ "rule": "run(git *)", "layer": "user" });
        let mut run = asks.clone();
        run["scope"] = "run".into();
        for (report, line) in [
            (
                report("rule", "allow", asks.clone()),
                "allow by the rule `run(git *)` (user): run(git push)",
            ),
            (
                report("rule", "deny", json!({ "reason": "the tool is denied." })),
                "deny by what is said of the tool `bash`: run(git push)",
            ),
            (
                report("person", "allow", run),
                "allow by a person, for the run, asked by the rule `run(git *)` (user): run(git push)",
            ),
            (
                report("person", "allow", json!({ "scope": "once" })),
                "allow by a person, once: run(git push)",
            ),
            (
                report("person", "deny", json!({ "reason": "not now" })),
                "deny by a person: run(git push): not now",
            ),
            (
                report("nobody", "deny", asks),
                "deny by nobody, asked by the rule `run(git *)` (user): run(git push)",
            ),
            (
                report("hook", "allow", json!({})),
                "allow by a hook: run(git push)",
            ),
        ] {
            assert_eq!(permission(&report, None), line);
        }
        assert_eq!(
            permission(&report("hook", "allow", json!({})), Some("`x` of h.json")),
            "allow by the hook `x` of h.json: run(git push)"
        );
    }

    #[test]
    fn which_hook() {
        for (record, line) in [
            (json!({}), "nothing decided"),
            (json!({ "asked": 2 }), "nothing decided (2 asked)"),
            (json!({ "cancelled": true }), "cancelled"),
            (
                json!({ "block": "no", "by": ["`x` of h.json", "h.json"] }),
                "deny by `x` of h.json: no",
            ),
            (
                json!({ "stop": "over", "by": ["`x` of h.json", "h.json"] }),
                "end of the run by `x` of h.json: over",
            ),
            (
                json!({
                    "decision": "allow", "decided_by": "`x` of h.json", "reason": "fine",
                    "updated_input": {}, "rewritten_by": "`y` of h.json", "context": ["a"],
                }),
                "allow by `x` of h.json: fine; other arguments by `y` of h.json; something told to the \
                 model",
            ),
            // As it was kept before the hook was.
            (json!({ "decision": "ask" }), "ask"),
        ] {
            assert_eq!(HookRecord::deserialize(record).unwrap().words(), line);
        }
    }
}
