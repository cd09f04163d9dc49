//! `harness skills validate`: skills, held against the letter of the standard.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harness_skills::{
    Diagnostic, Entry, Examination, Layer, Limits, RULES, Root, SKILL_FILE, Severity, Skills,
    examine_file,
};
use serde_json::{Value, json};

use crate::arguments::SkillsValidateArguments;
use crate::config_file::nearest;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::skill_diagnostics::{array, notes, place};
use crate::skill_list::table;
use crate::terminal::one_line;
use crate::typed_path::typed_path;
use crate::{stderr, stdout};

/// What was found out about one file.
struct Check {
    path: PathBuf,
    name: String,
    description: String,
    /// For a strict reader.
    valid: bool,
    /// For a lenient one.
    loads: bool,
    /// Of both.
    diagnostics: Vec<Diagnostic>,
}

/// Checks skills. Exit status 1 if an error was found that is not allowed.
pub(crate) fn validate(arguments: &SkillsValidateArguments) -> Result<ExitCode, Failure> {
    let allowed = allowed(&arguments.allow)?;
    let environment = Environment::read();
    let mut checks: Vec<Check> = Vec::new();
    for path in &arguments.paths {
        for check in checks_of(path, &environment)? {
            if checks.iter().all(|known| known.path != check.path) {
                checks.push(check);
            }
        }
    }
    stdout::print(&if arguments.format.wants_json() {
        checks
            .iter()
            .map(Check::json)
            .collect::<Value>()
            .to_string()
    } else {
        text(&checks, &allowed)
    })?;
    let fails = checks.iter().any(|check| check.fails(&allowed));
    Ok(if fails { Exit::Failed } else { Exit::Finished }.into())
}

/// The codes of `--allow`, with or without the letter of an error.
fn allowed(codes: &[String]) -> Result<Vec<&'static str>, Failure> {
    let known = || RULES.iter().map(|rule| rule.code.name());
    let allowed = codes.iter().map(|typed| {
        let code = typed.trim().to_ascii_uppercase();
        let code = code.strip_prefix("E-").unwrap_or(&code);
        known().find(|name| *name == code).ok_or_else(|| {
            let failure = Failure::usage(format!("--allow {typed}: there is no such code"));
            match nearest(code, known()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("it stands before each error: UNKNOWN-FIELD"),
            }
        })
    });
    allowed.collect()
}

/// The skills at a path, which are looked for as in a root.
fn checks_of(typed: &Path, environment: &Environment) -> Result<Vec<Check>, Failure> {
    let shown = typed.display();
    let what_to_name = format!("name a {SKILL_FILE}, its folder, or a folder of skills");
    let path = typed_path(typed, environment)
        .and_then(|path| std::fs::metadata(&path).map(|_| path))
        .map_err(|error| Failure::usage(format!("{shown}: {error}")).hint(what_to_name.as_str()))?;
    let skills = Skills::discover(&[Root::new(Layer::Explicit, path)]);
    let catalogue = skills.catalogue();
    for note in notes(&catalogue, true) {
        stderr::note(&note);
    }
    let entries = catalogue.entries().iter();
    let mut checks: Vec<Check> = entries
        .filter_map(|entry| Check::of(entry, skills.limits()))
        .collect();
    if checks.is_empty() {
        return Err(Failure::usage(format!("{shown}: there is no {SKILL_FILE}")).hint(what_to_name));
    }
    checks.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(checks)
}

impl Check {
    fn of(entry: &Entry, limits: &Limits) -> Option<Self> {
        let file = entry.skill.file()?;
        let examination = examine_file(file, limits).ok();
        let mut diagnostics = examination.as_ref().map(Examination::all);
        let known = diagnostics.get_or_insert_default();
        // What was found before it was read, and who else has its name.
        let other = entry.diagnostics.iter().filter(|found| {
            let same = |known: &Diagnostic| {
                (known.code, known.position, &known.key) == (found.code, found.position, &found.key)
            };
            !known.iter().any(same)
        });
        let other: Vec<Diagnostic> = other.cloned().collect();
        let is_error = |found: &Diagnostic| found.severity == Severity::Error;
        let valid = examination.is_some_and(|it| it.is_valid()) && !other.iter().any(is_error);
        known.extend(other);
        known.sort_by_key(|diagnostic| diagnostic.position);
        for diagnostic in known.iter_mut() {
            diagnostic.path = Some(file.to_owned());
            with_way_out(diagnostic);
        }
        Some(Self {
            path: file.to_owned(),
            name: entry.skill.name(),
            description: entry.skill.description().to_owned(),
            valid,
            loads: entry.status.word() != "invalid",
            diagnostics: diagnostics.unwrap_or_default(),
        })
    }

    /// Whether it has an error that is not allowed.
    fn fails(&self, allowed: &[&str]) -> bool {
        let errors = self.diagnostics.iter();
        let mut errors = errors
            .filter(|found| found.severity == Severity::Error)
            .peekable();
        !self.valid
            && (errors.peek().is_none()
                || errors.any(|error| !allowed.contains(&error.code.name())))
    }

    fn json(&self) -> Value {
        json!({
            "path": self.path.display().to_string(),
            "name": self.name,
            "valid": self.valid,
            "loads": self.loads,
            "description": self.description,
            "diagnostics": array(&self.diagnostics),
        })
    }
}

/// Says how to accept a field that is read and is not in the standard: it has no better place.
fn with_way_out(diagnostic: &mut Diagnostic) {
    if diagnostic.code.name() == "UNKNOWN-FIELD"
        && let Some(hint) = &mut diagnostic.hint
        && hint.starts_with("many clients read it")
    {
        hint.push_str("; `--allow UNKNOWN-FIELD` accepts it");
    }
}

/// A table of what was found, and how many are valid.
fn text(checks: &[Check], allowed: &[&str]) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let short = |text: String| match text.strip_prefix(&format!("{}/", here.display())) {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    let (mut rows, mut hints) = (Vec::new(), Vec::new());
    for check in checks {
        for found in &check.diagnostics {
            let is_allowed =
                found.severity == Severity::Error && allowed.contains(&found.code.name());
            let note = if is_allowed { " (allowed)" } else { "" };
            let place = one_line(&short(place(found)));
            rows.push([place, found.id(), one_line(&found.message) + note]);
            hints.push(found.hint.as_deref());
        }
        if check.diagnostics.is_empty() {
            let path = one_line(&short(check.path.display().to_string()));
            rows.push([path, "valid".to_owned(), String::new()]);
            hints.push(None);
        }
    }
    let mut text = String::new();
    for (line, hint) in table(rows).lines().zip(hints) {
        text.push_str(line);
        text.push('\n');
        if let Some(hint) = hint {
            text.push_str("    hint: ");
            text.push_str(&one_line(hint));
            text.push('\n');
        }
    }
    let valid = checks.iter().filter(|check| check.valid).count();
    let loads = checks.iter().filter(|check| check.loads).count();
    let (all, skills) = (
        checks.len(),
        if checks.len() == 1 { "skill" } else { "skills" },
    );
    let not = all - valid;
    let _ = writeln!(
        text,
        "{all} {skills}: {valid} valid, {not} not; {loads} can be loaded"
    );
    text
}
