//! What is known of one run.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use harness_core::RunContext;

use crate::atoms::Atoms;
use crate::decision::Decisions;
use crate::place_of_runs::PlaceOfRuns;
use crate::rule::Rule;
use crate::rules::Rules;
use crate::surroundings::Surroundings;

/// What is known of one run: a value of its context.
#[derive(Clone, Debug)]
pub(crate) struct RunState {
    pub(crate) surroundings: Arc<Surroundings>,
    /// The places of the runs around it, where they are others: what it is not allowed there, it is not allowed here.
    outer: Vec<Arc<Surroundings>>,
    shared: Arc<Shared>,
}

/// What a run has together with those that are started within it.
#[derive(Debug, Default)]
struct Shared {
    /// What was granted.
    granted: Mutex<Vec<Grant>>,
    /// Held while somebody is asked.
    asking: futures::lock::Mutex<()>,
}

/// A rule that somebody said yes to for the run.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) rule: Rule,
    /// Where it was said: a path of the rule means what it means there.
    pub(crate) around: Arc<Surroundings>,
}

impl RunState {
    /// Of a run that is about to begin, or of a call outside of any.
    pub(crate) fn new(place: &PlaceOfRuns, cx: &RunContext) -> Self {
        let own = Arc::new(place.surroundings(cx.working_dir()));
        match Self::around(cx) {
            Some(parent) => parent.within(own),
            None => Self::alone(own),
        }
    }

    /// Of a run that is within no other.
    pub(crate) fn alone(surroundings: Arc<Surroundings>) -> Self {
        Self {
            surroundings,
            outer: Vec::new(),
            shared: Arc::default(),
        }
    }

    /// The nearest run around a run that has one.
    fn around(cx: &RunContext) -> Option<&Self> {
        let mut runs = std::iter::successors(cx.parent(), |run| run.parent());
        runs.find_map(|run| run.value::<Self>())
    }

    /// Of a run that is started within this one. Its place counts only if it lies in this one's: else it would be
    /// allowed elsewhere what it is allowed in a project. And in a folder that is no project, no folder is one.
    fn within(&self, own: Arc<Surroundings>) -> Self {
        let shared = Arc::clone(&self.shared);
        let place = &self.surroundings;
        let is_below = own.root() != place.root() && own.root().starts_with(place.root());
        if !is_below || place.is_wide() {
            return Self {
                surroundings: Arc::clone(place),
                outer: self.outer.clone(),
                shared,
            };
        }
        let mut outer = vec![Arc::clone(place)];
        outer.extend(self.outer.iter().cloned());
        Self {
            surroundings: own,
            outer,
            shared,
        }
    }

    /// The same run, if the user trusted the project.
    pub(crate) fn trusted(&self, place: &PlaceOfRuns) -> Self {
        let mut place = place.clone();
        place.is_trusted = true;
        let trusted = |it: &Surroundings| Arc::new(place.surroundings(Some(it.root())));
        let outer = self.outer.iter().map(|outer| trusted(outer));
        Self {
            surroundings: trusted(&self.surroundings),
            outer: outer.collect(),
            shared: Arc::clone(&self.shared),
        }
    }

    /// What is to become of a call: by the rules and by what was granted, here and in each place around.
    pub(crate) fn decide(&self, rules: &Rules, atoms: &Atoms) -> Decisions {
        let granted = self.granted();
        Decisions::of(atoms, |atom| {
            let mut worst = rules.decide_with(&granted, atom, &self.surroundings);
            for outer in &self.outer {
                let decision = rules.decide_with(&granted, atom, outer);
                if decision.verdict > worst.verdict {
                    worst = decision;
                }
            }
            worst
        })
    }

    /// [`Rules::withholds`], here and in each place around.
    pub(crate) fn withholds(&self, rules: &Rules, path: &Path) -> bool {
        let mut places = std::iter::once(&self.surroundings).chain(&self.outer);
        places.any(|place| rules.withholds(path, place))
    }

    /// Whether a rule denies reading this file, here or in a place around. A real path.
    pub(crate) fn denies(&self, rules: &Rules, path: &Path) -> bool {
        let mut places = std::iter::once(&self.surroundings).chain(&self.outer);
        places.any(|place| rules.denies(path, place))
    }

    /// Waits until nobody else is asked, in this run, in those around it, and in those within them.
    pub(crate) async fn asking(&self) -> futures::lock::MutexGuard<'_, ()> {
        self.shared.asking.lock().await
    }

    pub(crate) fn grant(&self, rules: &[Rule]) {
        let granted = &self.shared.granted;
        let mut known = granted.lock().unwrap_or_else(PoisonError::into_inner);
        for rule in rules {
            let is_known = |grant: &Grant| grant.rule == *rule && self.is_of(grant);
            if !known.iter().any(is_known) {
                known.push(Grant {
                    rule: rule.clone(),
                    around: Arc::clone(&self.surroundings),
                });
            }
        }
    }

    fn is_of(&self, grant: &Grant) -> bool {
        grant.around.root() == self.surroundings.root()
    }

    /// What was granted and counts in this run. A rule about a command says nothing of the folder: it counts where
    /// it was said, and below.
    fn granted(&self) -> Vec<Grant> {
        let granted = &self.shared.granted;
        let known = granted.lock().unwrap_or_else(PoisonError::into_inner);
        let root = self.surroundings.root();
        let counts = |grant: &&Grant| {
            !grant.rule.subject.is_of_commands() || root.starts_with(grant.around.root())
        };
        known.iter().filter(counts).cloned().collect()
    }
}
