//! `harness skills new`: a skill to begin with.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use harness_skills::{SKILL_FILE, Status};
use serde_json::json;

use crate::arguments::{SkillFlags, SkillsNewArguments};
use crate::failure::{Exit, Failure};
use crate::setup::Setup;
use crate::skill_list::why_not;
use crate::skill_name;
use crate::skills_command::setup;
use crate::typed_path::typed_path;
use crate::{stderr, stdout};

/// Writes a new skill, prints its path, and says if it will not be used as it is.
pub(crate) fn create(arguments: &SkillsNewArguments) -> Result<ExitCode, Failure> {
    let setup = setup(arguments.cwd.as_ref(), &SkillFlags::default())?;
    let name = arguments.name.as_str();
    let text = template(name)?;
    let folder = folder(arguments, &setup)?.join(name);
    let file = folder.join(SKILL_FILE);
    let problem = |error: io::Error| {
        Failure::failed(format!("{} cannot be written: {error}", file.display()))
    };
    if let Some(there) = skill_in(&folder) {
        return Err(
            Failure::failed(format!("{} is there already", there.display()))
                .hint("nothing was written"),
        );
    }
    if arguments.path.is_none() && !arguments.user {
        stays_in_project(&folder, &setup.folder)?;
    }
    fs::create_dir_all(&folder).map_err(problem)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(problem)?;
    stdout::print(&file.display().to_string())?;
    tell_use(&file, &setup)?;
    Ok(Exit::Finished.into())
}

/// The folder of skills that it is put in.
fn folder(arguments: &SkillsNewArguments, setup: &Setup) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.path {
        return typed_path(path, &setup.environment)
            .map_err(|error| Failure::usage(format!("--path {}: {error}", path.display())));
    }
    if arguments.user {
        let config = setup.environment.config_folder();
        let config = config.ok_or_else(|| {
            Failure::configuration("there is no folder for your own skills")
                .hint("set HOME or XDG_CONFIG_HOME")
        })?;
        return Ok(config.join("skills"));
    }
    Ok(setup.folder.join(".harness").join("skills"))
}

/// Fails if links lead from the folder of a new skill out of its project: whoever wrote the project may have
/// put them there.
fn stays_in_project(folder: &Path, project: &Path) -> Result<(), Failure> {
    let Ok(project) = project.canonicalize() else {
        return Ok(());
    };
    // The folder of skills first: that it leads elsewhere may be meant.
    let skills = folder.parent().unwrap_or(folder);
    for (path, is_skill) in [(skills, false), (folder, true)] {
        let real = real_place(path);
        if !real.starts_with(&project) {
            let message = format!(
                "{} leads out of the project: it is {}",
                path.display(),
                real.display()
            );
            let hint = if is_skill {
                "nothing was written; remove the link".to_owned()
            } else {
                format!(
                    "nothing was written; if it is to be there, say so: --path {}",
                    real.display()
                )
            };
            return Err(Failure::failed(message).hint(hint));
        }
    }
    Ok(())
}

/// Where a path really is; what is not there yet is made there, and is no link.
fn real_place(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|there| {
        let real = there.canonicalize().ok()?;
        Some(real.join(path.strip_prefix(there).ok()?))
    });
    real.unwrap_or_else(|| path.to_owned())
}

/// A skill's file, in any spelling.
fn skill_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let name = names.find(|name| name.eq_ignore_ascii_case(SKILL_FILE))?;
    Some(folder.join(name))
}

/// The text of a new skill, which is valid as it is.
fn template(name: &str) -> Result<String, Failure> {
    if let Some(problem) = skill_name::problem(name) {
        let message = format!("`{name}` cannot be the name of a skill: {problem}");
        return Err(Failure::usage(message).hint(skill_name::RULE));
    }
    let plain = text(name, name);
    Ok(match skill_name::problem_of(&plain, name) {
        None => plain,
        // `null`, and what else is no text without quotes.
        Some(_) => text(&json!(name).to_string(), name),
    })
}

fn text(name_in_yaml: &str, name: &str) -> String {
    let title = name.replace('-', " ");
    format!(
        "---
name: {name_in_yaml}
description: Replace this with what the skill does and when to use it, in the words that people use for the task.
---

# {title}

The description is all that a model reads before it loads the skill. What stands here it reads
afterwards. Replace it with what to do:

1. The steps, in their order, with the commands to run.
2. What to look out for, and how to tell that it worked.

Put what is long or seldom needed into files beside this one, and name them by their paths from here:
`references/` for texts, `scripts/` for programs. `harness skills validate` checks the skill.
"
    )
}

/// Says if the new skill is not used, or takes the name of another one.
fn tell_use(file: &Path, setup: &Setup) -> Result<(), Failure> {
    let catalogue = setup.skills()?.catalogue();
    let real = file.canonicalize().ok();
    let mut entries = catalogue.entries().iter();
    let entry = entries.find(|entry| {
        let path = entry.skill.file();
        let path = path.and_then(|path| path.canonicalize().ok());
        path.is_some() && path == real
    });
    let Some(entry) = entry else {
        let enabled = setup.settings.skills.enabled.as_ref();
        stderr::note(&match enabled.filter(|enabled| !enabled.value) {
            Some(enabled) => format!("skills are off (from {})", enabled.origin),
            None => "skills are not looked for there: name it with --skill, or under skills.paths \
                     in a configuration"
                .to_owned(),
        });
        return Ok(());
    };
    match &entry.status {
        Status::Held { reason } => stderr::note(&format!("it is held back: {reason}")),
        Status::Active => {
            for other in catalogue.entries() {
                if let Status::Shadowed { by, .. } = &other.status
                    && Arc::ptr_eq(by, &entry.skill)
                {
                    stderr::note(&format!(
                        "it takes its name from {} ({})",
                        other.skill.location_text(),
                        other.skill.layer
                    ));
                }
            }
        }
        _ => stderr::note(&format!(
            "it is {} ({})",
            entry.status.word(),
            why_not(entry).unwrap_or_default()
        )),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_allowed_gives_a_valid_skill() {
        for name in [
            "a", "commit", "no", "null", "1", "1e5", "0x1f", "añb", "a-1", "true",
        ] {
            let text = template(name).unwrap();
            assert_eq!(skill_name::problem_of(&text, name), None, "{name}: {text}");
        }
        let long = "n".repeat(65);
        for name in [
            "", " ", ".", "..", "a/b", "../a", "A", "-a", "a-", "a--b", "a b", "a\nb", "a\0b",
            "a: b", "\"", "a\\b", &long,
        ] {
            let failure = template(name).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{name:?}");
        }
    }
}
