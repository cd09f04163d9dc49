//! Looking for a skill by a name that does not lead to one.

use crate::name::Identity;

/// The most names that are offered for one that is not known.
const MAX_NEAR: usize = 5;

/// How alike a name has to be, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Why a name leads to no skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No skill has it.
    #[error("there is no skill `{}`{}", shown(.name), did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<String>,
    },
    /// Several have it, and none before the others.
    #[error("several skills are called `{}`: {}", shown(.name), .candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Each with its layer and its place.
        candidates: Vec<String>,
    },
    /// It is held back.
    #[error("the skill `{}` is held back: {reason}", shown(.name))]
    Held {
        /// What was asked for.
        name: String,
        /// Why.
        reason: String,
    },
    /// Its file cannot be loaded.
    #[error("the skill `{}` cannot be loaded: {location}: {problem}", shown(.name))]
    Invalid {
        /// What was asked for.
        name: String,
        /// Its file.
        location: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn shown(name: &str) -> String {
    crate::name::shown(name).chars().take(100).collect()
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; did you mean `{}`?", near.join("`, `"))
}

/// The names that are most like one.
pub(crate) fn near(name: &Identity, names: impl Iterator<Item = String>) -> Vec<String> {
    // Nobody types more, and likeness is quadratic.
    let short = |name: &Identity| name.as_str().chars().take(100).collect::<String>();
    let name = short(name);
    let mut alike: Vec<(f64, String)> = names
        .filter_map(|known| {
            let other = short(&Identity::of(&known));
            let is_part = name.len() >= 3 && other.contains(&name);
            let likeness = strsim::normalized_damerau_levenshtein(&name, &other);
            let likeness = if is_part { likeness.max(0.9) } else { likeness };
            (likeness >= ALIKE).then_some((likeness, known))
        })
        .collect();
    alike.sort_by(|(one, name), (other, known)| other.total_cmp(one).then_with(|| name.cmp(known)));
    alike.truncate(MAX_NEAR);
    alike.into_iter().map(|(_, name)| name).collect()
}
