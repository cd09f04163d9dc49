//! The composer of a system prompt.

use std::sync::Arc;

use crate::section::Section;
use crate::tokens::estimate_tokens;

/// What stands between two sections.
pub(crate) const BETWEEN: &str = "\n\n";

/// A system prompt, as sections that can be added, replaced and taken out. Cheap to clone.
///
/// Stable sections come first and the others last, whatever the order in which they were added, so
/// that a provider's prompt cache can keep the common beginning from turn to turn.
///
/// ```
/// use harness_prompt::{Section, SystemPrompt};
///
/// let prompt = SystemPrompt::new("You are a careful reviewer.")
///     .with(Section::new("date", "Today is 2026-03-01.", "clock").volatile())
///     .with(Section::new("rules", "Be brief.", "caller"));
/// assert_eq!(
///     prompt.text(),
///     "You are a careful reviewer.\n\nBe brief.\n\nToday is 2026-03-01."
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    sections: Arc<Vec<Section>>,
}

impl SystemPrompt {
    /// A prompt of one stable section, `role`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self::default().with(Section::new("role", text, "base").with_rank(Section::ESSENTIAL))
    }

    /// The sections, in the order in which they are sent.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| *section.name == *name)
    }

    /// Adds a section, or replaces the one of its name; that one's place is kept if both are stable, or
    /// neither is.
    pub fn with(mut self, section: Section) -> Self {
        let sections = Arc::make_mut(&mut self.sections);
        let place = sections.iter().position(|other| other.name == section.name);
        match place {
            Some(place) if sections[place].stable == section.stable => sections[place] = section,
            place => {
                if let Some(place) = place {
                    sections.remove(place);
                }
                let end = if section.stable {
                    sections.partition_point(|other| other.stable)
                } else {
                    sections.len()
                };
                sections.insert(end, section);
            }
        }
        self
    }

    /// Adds a stable section of the usual rank, or replaces the one of that name.
    pub fn with_section(
        self,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
        source: impl Into<Arc<str>>,
    ) -> Self {
        self.with(Section::new(name, text, source))
    }

    /// Adds a section that may change from turn to turn, or replaces the one of that name.
    pub fn with_volatile_section(
        self,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
        source: impl Into<Arc<str>>,
    ) -> Self {
        self.with(Section::new(name, text, source).volatile())
    }

    /// Takes a section out.
    pub fn without_section(mut self, name: &str) -> Self {
        if self.section(name).is_some() {
            Arc::make_mut(&mut self.sections).retain(|section| *section.name != *name);
        }
        self
    }

    /// The text that is sent: the sections that are not blank, with a blank line between them.
    pub fn text(&self) -> String {
        let bytes = self.sections.iter().map(|s| s.bytes() + BETWEEN.len());
        let mut text = String::with_capacity(bytes.sum());
        for section in &*self.sections {
            let part = section.sent();
            if part.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str(BETWEEN);
            }
            text.push_str(part);
        }
        text
    }

    /// Tokens of the text, [estimated](estimate_tokens).
    pub fn tokens(&self) -> usize {
        estimate_tokens(&self.text())
    }
}

impl<T: Into<Arc<str>>> From<T> for SystemPrompt {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}
