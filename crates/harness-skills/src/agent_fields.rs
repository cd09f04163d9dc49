//! From the fields of a declaration to those that are shared with skills.

use crate::field_name::kebab;
use crate::fields::{FieldReader, MERGE};
use crate::finding::Finding;
use crate::rule;
use crate::skill::SkillFields;

impl FieldReader<'_> {
    /// The name and the description; all else is extra. No command leads to an agent.
    pub(crate) fn read_agent(mut self) -> (SkillFields, Vec<Finding>) {
        for entry in &self.mapping.entries {
            let key = entry.key.text.as_str();
            let field = ["name", "description"]
                .into_iter()
                .find(|field| kebab(key) == *field);
            match field {
                // To the letter, it has no rival.
                Some(field) if key == field || self.mapping.get(field).is_none() => {
                    self.known.push((field, entry));
                }
                _ => {
                    if key == MERGE {
                        let message = "`<<` is not merged: write the fields out";
                        let finding = Finding::new(&rule::MERGE_KEY, message);
                        self.found(finding.at(entry.key.position).for_key(key));
                    }
                    self.extra.push(entry.clone());
                }
            }
        }
        let fields = SkillFields {
            name: self.name(),
            description: self.description(),
            extra: std::mem::take(&mut self.extra),
            ..SkillFields::default()
        };
        (fields, self.findings)
    }
}
