//! Where skills are looked for: from the environment and the settings to roots.

use std::path::{Path, PathBuf};

use harness_skills::{DefaultRoots, DiscoverOptions, Skills};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::{Settings, repository_root};
use crate::skill_repository::SkillRepository;

/// Why the skills of a project are held back, and what to do about it.
fn untrusted(environment: &Environment, folder: &Path) -> String {
    let project = repository_root(folder).unwrap_or(folder);
    let file = match environment.config_folder() {
        Some(config) => config.join("config.toml").display().to_string(),
        None => "your own configuration".to_owned(),
    };
    format!(
        "its project is not trusted; to trust it: trusted_projects = [{:?}] in {file}",
        project.display().to_string()
    )
}

/// Looks for the skills that are used in a folder.
pub(crate) fn discover(
    environment: &Environment,
    settings: &Settings,
    folder: &Path,
) -> Result<Skills, Failure> {
    let skills = &settings.skills;
    let roots = roots(environment, settings, folder)?;
    let roots = roots.roots(|project| settings.trusts(project, environment));
    let policy = skills.policy.as_ref().map(|policy| policy.value);
    let options = DiscoverOptions::default().policy(policy.unwrap_or_default());
    Ok(Skills::discover_with(&roots, options))
}

fn roots(
    environment: &Environment,
    settings: &Settings,
    folder: &Path,
) -> Result<DefaultRoots, Failure> {
    let skills = &settings.skills;
    let mut roots = DefaultRoots::default();
    let named = skills.named.iter().flat_map(|named| &named.value);
    roots.explicit = named.cloned().collect();
    if !skills.are_on() {
        return Ok(roots);
    }
    let configured = skills.paths.iter().flat_map(|paths| &paths.value);
    let absolute = |path: &PathBuf| folder.join(environment.expand_home(path));
    roots.explicit.extend(configured.map(absolute));
    roots.managed = Some(environment.managed_skills());
    roots.working_dir = Some(folder.to_owned());
    roots.config_folder = environment.config_folder();
    roots.home = environment.home();
    roots.claude = skills.claude.as_ref().is_some_and(|read| read.value);
    roots.pi = skills.pi.as_ref().is_some_and(|read| read.value);
    let repositories = SkillRepository::all(environment, settings)?;
    roots.repositories = repositories.iter().map(SkillRepository::root).collect();
    roots.held_reason = Some(untrusted(environment, folder).into());
    Ok(roots)
}
