//! The skills that there are, as a list.

use std::collections::HashMap;
use std::fmt::Write as _;

use harness_skills::{Catalogue, Entry, Skill, Status};
use serde_json::{Value, json};

use crate::skill_diagnostics::{array, first_error};
use crate::terminal::{excerpt, one_line};

/// The most characters of a description in a list.
const DESCRIPTION: usize = 100;

/// The most characters that a name takes from the other columns.
const NAME: usize = 40;

/// A catalogue, for lists.
pub(crate) struct SkillList<'c> {
    catalogue: &'c Catalogue,
    commands: HashMap<*const Skill, String>,
}

impl<'c> SkillList<'c> {
    pub(crate) fn of(catalogue: &'c Catalogue) -> Self {
        let commands = catalogue.commands();
        let commands = commands.map(|(command, skill)| (std::ptr::from_ref(&**skill), command));
        Self {
            catalogue,
            commands: commands.collect(),
        }
    }

    /// What a person types for a skill.
    pub(crate) fn command(&self, skill: &Skill) -> Option<&str> {
        let command = self.commands.get(&std::ptr::from_ref(skill));
        command.map(String::as_str)
    }

    /// Those that can be used, a line each: name, layer, description.
    pub(crate) fn text(&self) -> String {
        let active: Vec<_> = self.catalogue.active().collect();
        let rows = active.iter().map(|skill| {
            [
                one_line(&skill.name()),
                skill.layer.to_string(),
                excerpt(skill.description(), DESCRIPTION),
            ]
        });
        table(rows.collect())
    }

    /// All of them, a line each: name, status, layer, path, and why it is not active. Those of one name stand
    /// together, the one that has it first.
    pub(crate) fn text_of_all(&self) -> String {
        let rows = self.catalogue.entries().iter().map(|entry| {
            let skill = &entry.skill;
            let path = skill.location_text();
            let why = why_not(entry).map_or_else(String::new, |why| format!("  ({why})"));
            [
                one_line(&skill.name()),
                entry.status.word().to_owned(),
                skill.layer.to_string(),
                one_line(&format!("{path}{why}")),
            ]
        });
        table(rows.collect())
    }

    /// One array of objects.
    pub(crate) fn json(&self, all: bool) -> String {
        let entries = self.catalogue.entries().iter();
        let entries = entries.filter(|entry| all || entry.status.is_active());
        let objects: Value = entries.map(|entry| self.object(entry)).collect();
        objects.to_string()
    }

    /// A skill as an object.
    pub(crate) fn object(&self, entry: &Entry) -> Value {
        let skill = &entry.skill;
        let mut object = json!({
            "name": skill.name(),
            "layer": skill.layer.name(),
            "path": skill.location_text(),
            "status": entry.status.word(),
            "description": skill.description(),
            "diagnostics": array(&entry.diagnostics),
        });
        if let Some(origin) = &skill.origin {
            object["origin"] = json!(origin);
        }
        if let Some(command) = self.command(skill) {
            object["command"] = json!(command);
        }
        match &entry.status {
            Status::Shadowed { by, same_content } => {
                object["shadowed_by"] = reference(by, *same_content);
            }
            Status::Held { reason } => object["reason"] = json!(reason),
            Status::Invalid => object["reason"] = json!(first_error(&entry.diagnostics)),
            _ => {}
        }
        object
    }
}

/// Another skill of the same name.
pub(crate) fn reference(skill: &Skill, same_content: bool) -> Value {
    json!({
        "name": skill.name(),
        "layer": skill.layer.name(),
        "path": skill.location_text(),
        "same_content": same_content,
    })
}

/// Why a skill is not active, in a line.
pub(crate) fn why_not(entry: &Entry) -> Option<String> {
    match &entry.status {
        Status::Shadowed { by, same_content } => {
            let same = if *same_content {
                ", which is the same"
            } else {
                ""
            };
            Some(format!("by {}@{}{same}", by.name(), by.layer))
        }
        Status::Held { reason } => Some(reason.to_string()),
        Status::Invalid => first_error(&entry.diagnostics),
        _ => None,
    }
}

/// Rows in columns. The last one is as wide as it likes.
pub(crate) fn table<const N: usize>(rows: Vec<[String; N]>) -> String {
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(NAME));
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (number, (cell, width)) in row.iter().zip(widths).enumerate() {
            if number + 1 < N {
                let _ = write!(line, "{cell:<width$}  ");
            } else {
                line.push_str(cell);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells_but_for_the_widest() {
        let row = |one: &str, two: &str, three: &str| [one, two, three].map(str::to_owned);
        let long = "n".repeat(50);
        let text = table(vec![
            row("añb", "user", "what it does"),
            row("a", "project", ""),
            row(&long, "u", "x"),
        ]);
        let expected = format!(
            "{:<40}  user     what it does\n{:<40}  project\n{long}  u        x\n",
            "añb", "a"
        );
        assert_eq!(text, expected);
    }
}
