//! What is to be told of skills, for people and for programs.

use harness_skills::{Catalogue, Diagnostic, Entry, Severity, Status};
use serde_json::{Value, json};

/// In one line, with its place: `a/SKILL.md:3:1: W-NAME-DIR: the folder is called otherwise; …`.
pub(crate) fn line(diagnostic: &Diagnostic) -> String {
    let place = place(diagnostic);
    let separator = if place.is_empty() { "" } else { ": " };
    let (id, message) = (diagnostic.id(), &diagnostic.message);
    let hint = diagnostic.hint.iter().map(|hint| format!("; {hint}"));
    let hint: String = hint.collect();
    format!("{place}{separator}{id}: {message}{hint}")
}

/// The file, and the line and the column in it.
pub(crate) fn place(diagnostic: &Diagnostic) -> String {
    let path = diagnostic.path.as_ref();
    let path = path.map(|path| path.display().to_string());
    let position = diagnostic
        .position
        .map(|position| format!("{}:{}", position.line, position.column));
    let parts: Vec<String> = path.into_iter().chain(position).collect();
    parts.join(":")
}

/// As a JSON object. The file is not in it.
pub(crate) fn json_of(diagnostic: &Diagnostic) -> Value {
    let position = diagnostic.position;
    json!({
        "code": diagnostic.id(),
        "severity": diagnostic.severity.word(),
        "line": position.map(|position| position.line),
        "column": position.map(|position| position.column),
        "key": diagnostic.key,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    })
}

/// Several, as a JSON array.
pub(crate) fn array(diagnostics: &[Diagnostic]) -> Value {
    diagnostics.iter().map(json_of).collect()
}

/// What there is to tell of a skill beside its status, which says some of it already.
pub(crate) fn beside_status(entry: &Entry) -> impl Iterator<Item = &Diagnostic> {
    const STATUS: [&str; 3] = ["SHADOWED", "SHADOWED-TWIN", "HELD"];
    let diagnostics = entry.diagnostics.iter();
    diagnostics.filter(|diagnostic| !STATUS.contains(&diagnostic.code.name()))
}

/// The first error, in one line without its place.
pub(crate) fn first_error(diagnostics: &[Diagnostic]) -> Option<String> {
    let error = diagnostics
        .iter()
        .find(|found| found.severity == Severity::Error)?;
    Some(format!("{}: {}", error.id(), error.message))
}

/// What is to be told of files and folders that are no skills, a line each: all of it, or what is more than
/// good to know.
pub(crate) fn notes(catalogue: &Catalogue, all: bool) -> Vec<String> {
    let notes = catalogue.notes().iter();
    let notes = notes.filter(|note| all || note.severity > Severity::Info);
    let notes = notes.map(|note| {
        let mut note = note.clone();
        // What helps is a command of this program.
        if note.code.name() == "SOURCE" && note.hint.is_some() {
            note.hint = Some("`harness skills update` fetches it".to_owned());
        }
        line(&note)
    });
    notes.collect()
}

/// What a run should tell of skills that it was meant to have: sources that are no use, and files that cannot
/// be loaded, in one line.
pub(crate) fn notes_of_run(catalogue: &Catalogue) -> Vec<String> {
    let told = notes(catalogue, false);
    let invalid = catalogue
        .entries()
        .iter()
        .filter(|entry| matches!(entry.status, Status::Invalid));
    let names: Vec<String> = invalid.map(|entry| entry.skill.name()).collect();
    let few = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 3 { ", …" } else { "" };
    let invalid = match names.len() {
        0 => None,
        1 => Some(format!(
            "the skill {few} cannot be loaded; `harness doctor` says why"
        )),
        count => Some(format!(
            "{count} skills cannot be loaded ({few}{more}); `harness doctor` says why"
        )),
    };
    told.into_iter().chain(invalid).collect()
}
