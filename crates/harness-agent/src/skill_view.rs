//! The skills of an agent, as its extensions let them be seen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness_skills::{Catalogue, Skill, Skills};

use crate::error::Error;
use crate::extension::{Extension, build_hook};

/// The skills of an agent, as its extensions let them be seen: what prompt, tool and commands all ask.
pub(crate) struct SkillView {
    skills: Skills,
    extensions: Vec<Arc<dyn Extension>>,
    seen: Mutex<Seen>,
}

struct Seen {
    /// What is on disk.
    source: Arc<Catalogue>,
    /// What the extensions made of it.
    catalogue: Arc<Catalogue>,
}

impl SkillView {
    /// Asks the extensions for the first time.
    pub(crate) fn new(skills: Skills, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Error> {
        let source = skills.catalogue();
        let catalogue = through(&extensions, &source)?;
        Ok(Self {
            skills,
            extensions,
            seen: Mutex::new(Seen { source, catalogue }),
        })
    }

    /// Whether there may ever be a skill.
    pub(crate) fn can_have_any(&self) -> bool {
        !self.skills.roots().is_empty() || self.catalogue().active().next().is_some()
    }

    /// Where skills are looked for.
    pub(crate) fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The skills as they were at the last refresh.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.lock().catalogue)
    }

    /// Looks for changes. If an extension fails, the skills stay as they were.
    pub(crate) fn refresh(&self) -> Result<Arc<Catalogue>, Error> {
        self.skills.refresh();
        let source = self.skills.catalogue();
        if Arc::ptr_eq(&self.lock().source, &source) {
            return Ok(self.catalogue());
        }
        // An extension may ask for the skills itself.
        let catalogue = through(&self.extensions, &source)?;
        *self.lock() = Seen {
            source,
            catalogue: Arc::clone(&catalogue),
        };
        Ok(catalogue)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SkillView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SkillView")
            .field("skills", &self.skills)
            .finish_non_exhaustive()
    }
}

/// What the extensions make of a catalogue; the very same if they change nothing.
fn through(
    extensions: &[Arc<dyn Extension>],
    source: &Arc<Catalogue>,
) -> Result<Arc<Catalogue>, Error> {
    let mut catalogue = Arc::clone(source);
    for extension in extensions {
        let before: Vec<Arc<Skill>> = catalogue.active().cloned().collect();
        let given = before.clone();
        let after = build_hook(&**extension, "on_build_skills", || {
            extension.on_build_skills(given)
        })?;
        let is_same = before.len() == after.len()
            && before
                .iter()
                .zip(&after)
                .all(|(one, other)| Arc::ptr_eq(one, other));
        if !is_same {
            let reason = format!("left out by the extension {}", extension.name());
            catalogue = Arc::new(catalogue.with_active(&after, &reason));
        }
    }
    Ok(catalogue)
}
