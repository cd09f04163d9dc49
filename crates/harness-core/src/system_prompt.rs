//! The system prompt: a list of named sections.

use std::sync::Arc;

/// A system prompt, as sections that middlewares may add to, replace and remove.
///
/// Stable sections come first and volatile ones last, whatever the order in which they were added,
/// so that a provider's prompt cache can keep the common beginning from turn to turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    sections: Vec<Section>,
}

/// A part of a system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// What it is about: `role`, `tools`, `rules`, `workspace`, …; unique in its prompt.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// Who wrote it: a template's or a middleware's name.
    pub author: String,
    /// Whether it may change from turn to turn.
    pub volatile: bool,
}

impl SystemPrompt {
    /// A prompt of one stable section, `role`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self::default().with_section("role", text, "base")
    }

    /// The sections, in the order in which they are sent.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Adds a stable section, or replaces the one of that name.
    pub fn with_section(
        self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        author: impl Into<String>,
    ) -> Self {
        self.put(name.into(), text.into(), author.into(), false)
    }

    /// Adds a section that may change from turn to turn, or replaces the one of that name.
    pub fn with_volatile_section(
        self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        author: impl Into<String>,
    ) -> Self {
        self.put(name.into(), text.into(), author.into(), true)
    }

    /// Takes a section out.
    pub fn without_section(mut self, name: &str) -> Self {
        self.sections.retain(|section| section.name != name);
        self
    }

    /// The text that is sent: the sections that are not blank, with a blank line between them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let part = section.text.trim_matches(['\n', '\r']);
            if part.trim().is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(part);
        }
        text
    }

    fn put(mut self, name: String, text: Arc<str>, author: String, volatile: bool) -> Self {
        let section = Section {
            name,
            text,
            author,
            volatile,
        };
        let place = self
            .sections
            .iter()
            .position(|other| other.name == section.name);
        match place {
            Some(place) if self.sections[place].volatile == volatile => {
                self.sections[place] = section;
            }
            place => {
                if let Some(place) = place {
                    self.sections.remove(place);
                }
                let end = if volatile {
                    self.sections.len()
                } else {
                    self.sections
                        .iter()
                        .position(|other| other.volatile)
                        .unwrap_or(self.sections.len())
                };
                self.sections.insert(end, section);
            }
        }
        self
    }
}

impl<T: Into<Arc<str>>> From<T> for SystemPrompt {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}
