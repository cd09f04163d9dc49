//! Rules in layers, and how they decide.

use std::path::Path;

use crate::atom::Atom;
use crate::atoms::Atoms;
use crate::builtin;
use crate::decision::{Decision, Decisions, RuleRef};
use crate::layer::Layer;
use crate::rule::{Rule, Verdict};
use crate::run_state::Grant;
use crate::surroundings::Surroundings;

/// Rules from all sources, over the built-in ones.
///
/// - A rule that denies wins, whatever layer it is in.
/// - Else the highest layer that has a rule about the effect decides; within it `ask` before `allow`.
/// - But what a project's own files allow ([`Layer::Project`]) lifts no `ask` of a lower layer.
/// - Where no rule is about it, somebody is asked.
///
/// So a layer can open what a lower one asks about: `allow read` of the user opens the files that usually
/// hold secrets, too. A project can only open what no rule speaks of. What shall stay shut whoever allows it is
/// denied.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<(Layer, Rule)>,
}

impl Rules {
    /// The built-in rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// These, and `rule` in `layer`. Whether a project's rules count is for the caller to know: those of
    /// one that is not trusted are not added.
    pub fn with(mut self, layer: Layer, rule: Rule) -> Self {
        self.add(layer, rule);
        self
    }

    /// Adds `rule` to `layer`.
    pub fn add(&mut self, layer: Layer, rule: Rule) {
        self.rules.push((layer, rule));
    }

    /// The rules that were added, in the order in which they were.
    pub fn iter(&self) -> impl Iterator<Item = &(Layer, Rule)> {
        self.rules.iter()
    }

    /// What is to become of one effect.
    pub fn decide(&self, atom: &Atom, surroundings: &Surroundings) -> Decision {
        self.decide_with(&[], atom, surroundings)
    }

    /// What is to become of one effect in a run in which something was granted.
    pub(crate) fn decide_with(
        &self,
        granted: &[Grant],
        atom: &Atom,
        surroundings: &Surroundings,
    ) -> Decision {
        let built_in = builtin::rules(surroundings, atom).map(|rule| (Layer::BuiltIn, rule));
        let added = self.rules.iter().map(|(layer, rule)| (*layer, rule));
        let about =
            |(_, rule): &(Layer, &Rule)| rule.subject.is_about(atom, rule.verdict, surroundings);
        // Deny first, whatever the layer; then the layer; then ask before allow.
        let rank =
            |(layer, rule): &(Layer, &Rule)| (rule.verdict == Verdict::Deny, *layer, rule.verdict);
        let granted = granted
            .iter()
            .filter(|Grant { rule, around }| rule.subject.is_about(atom, rule.verdict, around))
            .map(|grant| (Layer::Run, &grant.rule));
        let mut best: Option<(Layer, &Rule)> = None;
        // The same without what the project allows itself.
        let mut others: Option<(Layer, &Rule)> = None;
        for it in built_in.chain(added).filter(about).chain(granted) {
            let is_own = it.0 == Layer::Project && it.1.verdict == Verdict::Allow;
            if best.is_none_or(|best| rank(&it) > rank(&best)) {
                best = Some(it);
            }
            if !is_own && others.is_none_or(|best| rank(&it) > rank(&best)) {
                others = Some(it);
            }
        }
        if others.is_some_and(|(_, rule)| rule.verdict == Verdict::Ask) {
            best = others;
        }
        match best {
            Some((layer, rule)) => Decision {
                verdict: rule.verdict,
                rule: Some(RuleRef {
                    layer,
                    text: rule.subject.to_string(),
                }),
            },
            None => Decision {
                verdict: Verdict::Ask,
                rule: None,
            },
        }
    }

    /// Whether this file, which is met in a folder that may be read, may not be read by itself without a
    /// question. A real path. Fast for a file that nothing is said of.
    pub fn withholds(&self, path: &Path, surroundings: &Surroundings) -> bool {
        let atom = Atom::Read(path.to_owned());
        let is_about = |(_, rule): &&(Layer, Rule)| {
            rule.verdict != Verdict::Allow
                && rule.subject.is_about(&atom, rule.verdict, surroundings)
        };
        let is_special = builtin::is_secret(path) || self.rules.iter().any(|it| is_about(&it));
        is_special && self.decide(&atom, surroundings).verdict != Verdict::Allow
    }

    /// Whether a rule denies reading this file. A real path.
    pub(crate) fn denies(&self, path: &Path, surroundings: &Surroundings) -> bool {
        let atom = Atom::Read(path.to_owned());
        self.decide(&atom, surroundings).verdict == Verdict::Deny
    }

    /// What is to become of a call: the worst of what becomes of its effects. A call without any is
    /// allowed.
    pub fn decide_all(&self, atoms: &Atoms, surroundings: &Surroundings) -> Decisions {
        Decisions::of(atoms, |atom| self.decide(atom, surroundings))
    }
}
