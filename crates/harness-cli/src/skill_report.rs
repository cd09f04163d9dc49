//! What `harness doctor` says of skills, and of agents.

use std::collections::BTreeMap;

use harness_skills::{Catalogue, RootReport, Severity, Status};

use crate::skill_diagnostics::{line, notes};

/// A name and a value for each line. `none` is said where there is no place to look in.
pub(crate) fn lines(catalogue: &Catalogue, none: &str) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let roots = catalogue.roots();
    if roots
        .iter()
        .all(|root| !is_there(root) && root.path.is_some())
    {
        lines.push(("none", none.to_owned()));
        let paths = roots.iter().filter_map(|root| root.path.as_ref());
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        if !paths.is_empty() {
            lines.push(("looked in", paths.join(", ")));
        }
    } else {
        lines.extend(roots.iter().map(|root| ("root", of_root(root))));
        lines.push(("active", catalogue.active().count().to_string()));
    }
    lines.extend(shadowed(catalogue));
    lines.extend(held(catalogue));
    lines.extend(invalid(catalogue));
    let notes = notes(catalogue, false).into_iter();
    lines.extend(notes.map(|note| ("note", note)));
    lines
}

fn is_there(root: &RootReport) -> bool {
    root.path.as_ref().is_some_and(|path| path.exists())
}

/// Its layer, where it is, and how many skills were found in it.
fn of_root(root: &RootReport) -> String {
    let place = match (&root.path, &root.origin) {
        (Some(path), _) => path.display().to_string(),
        (None, Some(origin)) => origin.to_string(),
        (None, None) => "part of the program".to_owned(),
    };
    let found = match &root.path {
        Some(_) if is_there(root) => format!("{} found", root.found),
        Some(_) => "not there".to_owned(),
        None if root.origin.is_some() => "not fetched yet".to_owned(),
        None => format!("{} found", root.found),
    };
    let mut line = format!("{:<10} {place}: {found}", root.layer);
    if let (Some(_), Some(origin)) = (&root.path, &root.origin) {
        line.push_str(", from ");
        line.push_str(origin);
    }
    if let Some(namespace) = &root.namespace {
        line.push_str(", named ");
        line.push_str(namespace);
    }
    if root.locked {
        line.push_str(", locked");
    }
    if root.held.is_some() && root.found > 0 {
        line.push_str(", held back");
    }
    line
}

/// Who has the name, and who would have it.
fn shadowed(catalogue: &Catalogue) -> Vec<(&'static str, String)> {
    let entries = catalogue.entries().iter();
    let lines = entries.filter_map(|entry| {
        let Status::Shadowed { by, same_content } = &entry.status else {
            return None;
        };
        let skill = &entry.skill;
        let same = if *same_content { ", the same" } else { "" };
        let line = format!(
            "{}: {} {} before {} {}{same}",
            skill.name(),
            by.layer,
            by.location_text(),
            skill.layer,
            skill.location_text()
        );
        Some(("shadowed", line))
    });
    lines.collect()
}

/// The names that are held back, for each reason.
fn held(catalogue: &Catalogue) -> Vec<(&'static str, String)> {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in catalogue.entries() {
        if let Status::Held { reason } = &entry.status {
            reasons.entry(reason).or_default().push(entry.skill.name());
        }
    }
    let lines = reasons
        .into_iter()
        .map(|(reason, names)| ("held back", format!("{}: {reason}", names.join(", "))));
    lines.collect()
}

/// The first error of each.
fn invalid(catalogue: &Catalogue) -> Vec<(&'static str, String)> {
    let entries = catalogue.entries().iter();
    let invalid = entries.filter(|entry| matches!(entry.status, Status::Invalid));
    let errors = invalid.filter_map(|entry| {
        let mut found = entry.diagnostics.iter();
        found.find(|found| found.severity == Severity::Error)
    });
    errors.map(|error| ("invalid", line(error))).collect()
}
