//! What is decided about one call, and how that is told.

use std::fmt::Write as _;

use harness_core::{
    ActiveCall, HookDecision, HookVerdict, PermissionDecision, PermissionReport, PermissionSource,
    Secrets, ToolEffect, ToolEffects,
};
use serde::{Deserialize, Serialize};

use crate::approver::{Question, Scope};
use crate::atom::Atom;
use crate::atoms::Atoms;
use crate::decision::{Decisions, RuleRef};
use crate::rule::{Rule, Verdict};
use crate::shell::visible;
use crate::surroundings::Surroundings;

/// A call, and what it would do.
pub(crate) struct Asked<'a> {
    /// The subagent that makes it.
    pub(crate) agent: Option<String>,
    /// What must not show in words.
    pub(crate) secrets: &'a Secrets,
    pub(crate) call: &'a ActiveCall,
    pub(crate) effects: &'a ToolEffects,
    pub(crate) atoms: &'a Atoms,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) hook: Option<&'a HookVerdict>,
}

/// What was decided, as it is on record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Judgement {
    #[serde(flatten)]
    pub(crate) report: PermissionReport,
    /// Whether the yes was for these arguments alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) exact: bool,
    /// The state of what was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<u64>,
}

/// A call and what the rules say of it.
pub(crate) struct Report<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) decisions: Decisions,
    /// What is decided of the tool, whatever the call would do.
    pub(crate) of_tool: Option<Verdict>,
    /// Whether rules would ask, and something else has spared the question.
    pub(crate) is_opened: bool,
}

impl Asked<'_> {
    /// An effect in words.
    pub(crate) fn word(&self, atom: &Atom) -> String {
        let mut text = atom.to_string();
        if let Atom::Run { command, .. } = atom {
            match &command.folder {
                Some(folder) if folder == self.surroundings.root() => {}
                Some(folder) => {
                    let _ = write!(text, " in {}", visible(&folder.to_string_lossy()));
                }
                None => text.push_str(" in a folder that is not known"),
            }
        }
        self.secrets.mask(&text).into_owned()
    }

    /// The command lines of the call as they were written, if the effects in words do not say all of them: what
    /// is opaque is cut there, and what a here-document holds is not among them.
    pub(crate) fn lines(&self) -> Option<String> {
        let lines: Vec<&str> = self
            .effects
            .iter()
            .filter_map(|effect| match effect {
                ToolEffect::Run(command) => Some(command.line.as_str()),
                _ => None,
            })
            .collect();
        let is_opaque = |atom: &Atom| matches!(atom, Atom::Opaque(_));
        let is_told = |line: &&str| !line.contains(['\n', '<']);
        let is_all_told = !self.atoms.iter().any(is_opaque) && lines.iter().all(is_told);
        (!lines.is_empty() && !is_all_told).then(|| lines.join("\n"))
    }

    /// All that the call would do, in words.
    pub(crate) fn words(&self) -> Vec<String> {
        self.atoms.iter().map(|atom| self.word(atom)).collect()
    }
}

/// Words, each once, as one; `None` if there are none.
fn joined<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    (!all.is_empty()).then(|| all.join(", "))
}

impl Report<'_> {
    fn judged(&self, decision: PermissionDecision, by: PermissionSource) -> Judgement {
        let mut report =
            PermissionReport::new(&self.asked.call.id, &self.asked.call.name, decision, by);
        report.agent.clone_from(&self.asked.agent);
        report.effects = self.asked.words();
        // The rule that kept it from being allowed; else each that allows a part of it.
        let rules: Vec<&RuleRef> = if self.decisions.verdict == Verdict::Allow {
            let each = self.decisions.each.iter();
            each.filter_map(|(_, decision)| decision.rule.as_ref())
                .collect()
        } else {
            let mut reasons = self.decisions.reasons();
            let rule = reasons.find_map(|(_, decision)| decision.rule.as_ref());
            rule.into_iter().collect()
        };
        report.rule = joined(rules.iter().map(|rule| rule.text.as_str()));
        report.layer = joined(rules.iter().map(|rule| rule.layer.as_str()));
        Judgement {
            report,
            exact: false,
            preview: None,
        }
    }

    pub(crate) fn by_rule(&self) -> Judgement {
        if self.decisions.verdict == Verdict::Allow {
            let by_hook = self.is_opened && self.of_tool != Some(Verdict::Allow);
            let by = if by_hook {
                PermissionSource::Hook
            } else {
                PermissionSource::Rule
            };
            return self.judged(PermissionDecision::Allow, by);
        }
        let tool = &self.asked.call.name;
        if self.of_tool == Some(Verdict::Deny) {
            let reason = format!("the tool `{tool}` is denied here.");
            return self.denied(PermissionSource::Rule, &reason);
        }
        let reasons = self.decisions.reasons();
        let reasons: Vec<String> = reasons
            .map(|(atom, decision)| match &decision.rule {
                Some(RuleRef { layer, text }) => format!(
                    "`deny {text}` ({layer}) is about a call that {}",
                    self.asked.word(atom)
                ),
                None => format!("a call that {} is denied", self.asked.word(atom)),
            })
            .collect();
        let reason = format!("{}.", reasons.join("; "));
        self.denied(PermissionSource::Rule, &reason)
    }

    pub(crate) fn allowed(&self, scope: Scope) -> Judgement {
        let mut judgement = self.judged(PermissionDecision::Allow, PermissionSource::Person);
        judgement.report.scope = Some(scope.word().to_owned());
        judgement.exact = true;
        judgement
    }

    pub(crate) fn cancelled(&self) -> Judgement {
        self.denied(PermissionSource::Nobody, "the run was cancelled.")
    }

    pub(crate) fn denied(&self, by: PermissionSource, reason: &str) -> Judgement {
        let mut judgement = self.judged(PermissionDecision::Deny, by);
        judgement.report.reason = Some(reason.to_owned());
        judgement
    }

    /// A refusal because nobody could be asked, with what would help: rules, and trust if that is so.
    pub(crate) fn nobody(
        &self,
        advice: &dyn Fn(&[String], bool) -> String,
        trust_helps: bool,
    ) -> Judgement {
        let reasons = self.decisions.reasons();
        let what: Vec<String> = reasons.map(|(atom, _)| self.asked.word(atom)).collect();
        let by_hook = |hook: &HookVerdict| hook.decision == HookDecision::Ask;
        let is_asked_anyway =
            self.of_tool == Some(Verdict::Ask) || self.asked.hook.is_some_and(by_hook);
        if what.is_empty() || is_asked_anyway {
            // No rule would help.
            let reason = format!(
                "{}, and nobody is there to ask about a call that {}. {}",
                self.asker(),
                self.asked.words().join(" and "),
                advice(&[], false)
            );
            return self.denied(PermissionSource::Nobody, &reason);
        }
        let needed = self.needed();
        let mut rules: Vec<String> = needed.iter().map(|rule| rule.subject.to_string()).collect();
        // What no rule can name is allowed by its kind alone.
        for (atom, _) in self.decisions.reasons() {
            let kind = match atom {
                Atom::Opaque(_) => "opaque",
                Atom::ReadMatching { names, .. } if names.contains('/') => "read",
                Atom::Run { command, .. }
                    if command.words.iter().any(|word| word.literal().is_none()) =>
                {
                    "run"
                }
                _ => continue,
            };
            if !rules.iter().any(|rule| rule == kind) {
                rules.push(kind.to_owned());
            }
        }
        let reason = format!(
            "a call that {} needs a yes, and nobody is there to ask. {}",
            what.join(" and "),
            advice(&rules, trust_helps)
        );
        self.denied(PermissionSource::Nobody, &reason)
    }

    /// What asks, where no rule does.
    fn asker(&self) -> String {
        match self.of_tool {
            Some(Verdict::Ask) => {
                format!("the tool `{}` is asked about here", self.asked.call.name)
            }
            _ => match self.asked.hook.and_then(|hook| hook.reason.as_deref()) {
                Some(reason) => format!("a hook asks about this call ({})", visible(reason)),
                None => "a hook asks about this call".to_owned(),
            },
        }
    }

    /// The rules that would allow it, each about just this.
    fn needed(&self) -> Vec<Rule> {
        let asked = self.decisions.reasons();
        let mut rules: Vec<Rule> = Vec::new();
        for (atom, _) in asked {
            // A rule is kept, and shown; a key in one would be, too.
            let text = atom.to_string();
            let is_secret = self.asked.secrets.mask(&text) != text;
            if let Some(rule) = atom.narrowest_rule(self.asked.surroundings)
                && !is_secret
                && !rules.contains(&rule)
            {
                rules.push(rule);
            }
        }
        rules
    }

    /// The rules that a yes for more than once would make; `None` where it can be given only once.
    pub(crate) fn rules(&self) -> Option<Vec<Rule>> {
        let asked: Vec<_> = self.decisions.reasons().collect();
        // A rule says nothing of the folder, so what was looked at elsewhere is not granted for here.
        let root = self.asked.surroundings.root();
        let is_certain = asked.iter().all(|(atom, _)| match atom {
            Atom::Opaque(_) => false,
            Atom::Run { command, .. } => {
                let folder = command.folder.as_deref();
                folder.is_some_and(|folder| folder.starts_with(root))
            }
            _ => true,
        });
        let rules = self.needed();
        (is_certain && !asked.is_empty() && !rules.is_empty()).then_some(rules)
    }

    pub(crate) fn question(
        &self,
        preview: Option<String>,
        rules: Option<&[Rule]>,
        can_remember: bool,
        again: bool,
    ) -> Question {
        let mut scopes = vec![Scope::Once];
        if rules.is_some() {
            scopes.push(Scope::Run);
            if can_remember {
                scopes.push(Scope::Project);
            }
        }
        let reasons = self
            .decisions
            .reasons()
            .map(|(atom, decision)| match &decision.rule {
                Some(RuleRef { layer, text }) => format!(
                    "`ask {text}` ({layer}) is about a call that {}",
                    self.asked.word(atom)
                ),
                None => format!("no rule is about a call that {}", self.asked.word(atom)),
            });
        let mut reasons: Vec<String> = reasons.collect();
        if reasons.is_empty() {
            reasons.push(self.asker());
        }
        if let Some(reason) = self.asked.hook.and_then(|hook| hook.reason.as_deref()) {
            reasons.push(format!("a hook says: {}", visible(reason)));
        }
        let rules = rules.unwrap_or_default().iter();
        Question {
            tool: visible(&self.asked.call.name),
            call_id: self.asked.call.id.clone(),
            agent: self.asked.agent.clone(),
            effects: self.asked.words(),
            reasons,
            preview,
            rules: rules.map(|rule| rule.subject.to_string()).collect(),
            scopes,
            again,
        }
    }
}
