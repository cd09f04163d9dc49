//! Where skills are looked for: from the environment and the settings to roots.

use std::path::{Path, PathBuf};

use harness_skills::{DefaultRoots, DiscoverOptions, Skills};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::skill_repository::SkillRepository;

/// Looks for the skills that are used in a folder.
pub(crate) fn discover(
    environment: &Environment,
    settings: &Settings,
    folder: &Path,
) -> Result<Skills, Failure> {
    let skills = &settings.skills;
    let roots = roots(environment, settings, folder)?;
    let roots = roots.roots(|project| settings.trust.trusts(project));
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
    let way = settings.trust.way();
    roots.held_reason = Some(format!("its project is not trusted; {way}").into());
    Ok(roots)
}
