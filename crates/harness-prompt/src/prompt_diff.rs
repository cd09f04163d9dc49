//! What changed from one system prompt to the next.

use std::collections::HashMap;

use crate::section::Section;
use crate::system_prompt::SystemPrompt;

/// What changed from one system prompt to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptDiff {
    /// The sections that differ, in the order of the new prompt; those that are gone come last.
    pub sections: Vec<SectionDiff>,
    /// How many bytes both texts begin with in common: what a provider's prompt cache can still use.
    pub shared_bytes: usize,
}

/// A section that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SectionDiff {
    /// Its name.
    pub name: String,
    /// How.
    pub change: SectionChange,
    /// How many bytes it had; 0 if it was not there.
    pub bytes_before: usize,
    /// How many it has; 0 if it is gone.
    pub bytes: usize,
}

/// How a section differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionChange {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its text is another.
    Changed,
    /// Its text is the same, at another place among those that were there before.
    Moved,
}

impl SectionChange {
    /// As a word: `added`, `removed`, `changed`, `moved`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

impl PromptDiff {
    /// Whether the texts are the same.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }
}

impl SystemPrompt {
    /// What changed since `before`. Who wrote a section makes no difference.
    pub fn diff_from(&self, before: &Self) -> PromptDiff {
        let sent = |prompt: &Self| -> Vec<Section> {
            let sections = prompt.sections().iter();
            sections
                .filter(|section| !section.sent().is_empty())
                .cloned()
                .collect()
        };
        let (old, new) = (sent(before), sent(self));
        let old_by_name: HashMap<&str, &Section> = old
            .iter()
            .map(|section| (&*section.name, section))
            .collect();
        let stayed = |section: &&Section| new.iter().any(|other| other.name == section.name);
        let mut old_order = old.iter().filter(stayed).map(|section| &*section.name);
        let mut sections = Vec::new();
        for section in &new {
            let (change, bytes_before) = match old_by_name.get(&*section.name) {
                None => (Some(SectionChange::Added), 0),
                Some(old) => {
                    let in_place = old_order.next() == Some(&*section.name);
                    let change = if old.sent() != section.sent() {
                        Some(SectionChange::Changed)
                    } else if in_place {
                        None
                    } else {
                        Some(SectionChange::Moved)
                    };
                    (change, old.bytes())
                }
            };
            if let Some(change) = change {
                sections.push(SectionDiff {
                    name: section.name.to_string(),
                    change,
                    bytes_before,
                    bytes: section.bytes(),
                });
            }
        }
        for section in old.iter().filter(|section| !stayed(section)) {
            sections.push(SectionDiff {
                name: section.name.to_string(),
                change: SectionChange::Removed,
                bytes_before: section.bytes(),
                bytes: 0,
            });
        }
        let (old, new) = (before.text(), self.text());
        let shared_bytes = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b);
        PromptDiff {
            sections,
            shared_bytes: shared_bytes.count(),
        }
    }
}
