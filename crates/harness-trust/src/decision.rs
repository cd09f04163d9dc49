//! What was decided, and by what.

use std::fmt;

use crate::atom::Atom;
use crate::atoms::Atoms;
use crate::layer::Layer;
use crate::rule::Verdict;

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRef {
    /// Where it comes from.
    pub layer: Layer,
    /// Its subject, as written.
    pub text: String,
}

impl fmt::Display for RuleRef {
    /// `run(cargo test *) (user)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.layer)
    }
}

/// What was decided about one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What becomes of it.
    pub verdict: Verdict,
    /// By which rule; `None`: no rule is about it, and then one asks.
    pub rule: Option<RuleRef>,
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// The worst of all: a call is one, and half of it is none.
    pub verdict: Verdict,
    /// Each effect with what was decided about it, in the order of the effects.
    pub each: Vec<(Atom, Decision)>,
}

impl Decisions {
    pub(crate) fn of(atoms: &Atoms, decide: impl Fn(&Atom) -> Decision) -> Self {
        let each: Vec<_> = atoms.iter().map(|it| (it.clone(), decide(it))).collect();
        let verdicts = each.iter().map(|(_, decision)| decision.verdict);
        Self {
            verdict: verdicts.max().unwrap_or(Verdict::Allow),
            each,
        }
    }

    /// The effects that kept it from being allowed.
    pub fn reasons(&self) -> impl Iterator<Item = &(Atom, Decision)> {
        let verdict = self.verdict;
        let worst = move |(_, decision): &&(Atom, Decision)| decision.verdict == verdict;
        self.each.iter().filter(worst)
    }
}
