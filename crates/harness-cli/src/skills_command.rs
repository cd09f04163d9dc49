//! `harness skills`: which there are, what is wrong with them, and new ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harness_skills::{Catalogue, SkillSource, Status};

use crate::arguments::{
    AgentArguments, ModelArguments, SkillFlags, SkillsListArguments, SkillsShowArguments,
};
use crate::failure::{Exit, Failure};
use crate::setup::Setup;
use crate::skill_diagnostics::{beside_status, line, notes};
use crate::skill_list::SkillList;
use crate::skill_page::{SkillPage, is_path};
use crate::skill_repository::SkillRepository;
use crate::terminal::one_line;
use crate::typed_path::typed_path;
use crate::{stderr, stdout};

/// Reads the environment and the configuration.
pub(crate) fn setup(cwd: Option<&PathBuf>, skills: &SkillFlags) -> Result<Setup, Failure> {
    let agent = AgentArguments {
        cwd: cwd.cloned(),
        skills: skills.clone(),
        ..AgentArguments::default()
    };
    Setup::read(&ModelArguments::default(), &agent)
}

/// Lists the skills.
pub(crate) fn list(arguments: &SkillsListArguments) -> Result<ExitCode, Failure> {
    let setup = setup(arguments.cwd.as_ref(), &arguments.skills)?;
    let catalogue = setup.skills()?.catalogue();
    let list = SkillList::of(&catalogue);
    let json = arguments.format.wants_json();
    let text = match (json, arguments.all) {
        (true, all) => list.json(all),
        (false, true) => list.text_of_all(),
        (false, false) => list.text(),
    };
    if !text.is_empty() {
        stdout::print(&text)?;
    }
    if arguments.all && !json {
        for entry in catalogue.entries() {
            for diagnostic in beside_status(entry) {
                stderr::note(&line(diagnostic));
            }
        }
    }
    for note in notes(&catalogue, arguments.all) {
        stderr::note(&note);
    }
    if let Some(enabled) = &setup.settings.skills.enabled
        && !enabled.value
    {
        let origin = &enabled.origin;
        stderr::note(&format!(
            "skills are off, but for those of --skill (from {origin})"
        ));
    } else if catalogue.entries().is_empty() {
        stderr::note("there are no skills; `harness skills new NAME` makes one");
    }
    if !arguments.all {
        tell_set_aside(&catalogue);
    }
    Ok(Exit::Finished.into())
}

/// Says that there are more than can be used.
pub(crate) fn tell_set_aside(catalogue: &Catalogue) {
    let count = |is_meant: fn(&Status) -> bool| {
        let entries = catalogue.entries().iter();
        entries.filter(|entry| is_meant(&entry.status)).count()
    };
    let held = count(|status| matches!(status, Status::Held { .. }));
    let invalid = count(|status| matches!(status, Status::Invalid));
    let parts = [(held, "held back"), (invalid, "invalid")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !parts.is_empty() {
        stderr::note(&format!(
            "not listed: {}; `--all` shows them",
            parts.join(", ")
        ));
    }
}

/// Shows one skill.
pub(crate) fn show(arguments: &SkillsShowArguments) -> Result<ExitCode, Failure> {
    let setup = setup(arguments.cwd.as_ref(), &arguments.skills)?;
    let skills = setup.skills()?;
    let name = arguments.name.as_str();
    let path = typed_path(Path::new(name), &setup.environment);
    let page = match path {
        Ok(path) if is_path(name) && path.exists() => SkillPage::at(&path, &skills)?,
        _ => SkillPage::named(name, &skills)?,
    };
    stdout::print(&if arguments.format.wants_json() {
        page.json()
    } else {
        page.text()
    })?;
    Ok(Exit::Finished.into())
}

/// Fetches the repositories that are configured, and says what came of each.
pub(crate) fn update() -> Result<ExitCode, Failure> {
    let setup = setup(None, &SkillFlags::default())?;
    let repositories = SkillRepository::all(&setup.environment, &setup.settings)?;
    if repositories.is_empty() {
        stderr::note("no repositories are listed under skills.repositories in your configuration");
    }
    let mut failed = 0;
    for repository in &repositories {
        let source = &repository.source;
        let result = match source.update() {
            Ok(update) if update.changed => "fetched".to_owned(),
            Ok(_) => "up to date".to_owned(),
            Err(error) => {
                failed += 1;
                format!("failed: {error}")
            }
        };
        stdout::print(&one_line(&format!("{}: {result}", source.origin())))?;
    }
    if failed > 0 {
        let all = repositories.len();
        return Err(Failure::failed(format!(
            "{failed} of {all} repositories could not be fetched"
        ))
        .hint("what was fetched before is still used"));
    }
    Ok(Exit::Finished.into())
}
