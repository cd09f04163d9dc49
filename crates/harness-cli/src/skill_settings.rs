//! Settings of skills: which ones are used, and where they are looked for.

use std::path::PathBuf;

use harness_skills::Policy;
use serde::Deserialize;

use crate::arguments::SkillFlags;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::{Origin, Setting, put};
use crate::skill_name;
use crate::typed_path::typed_path;

/// What a configuration file may say of skills.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SkillsConfig {
    /// Whether any are used; `--no-skills` for one run.
    pub(crate) enabled: Option<bool>,
    /// More skills, before all others; relative paths are in the working folder.
    pub(crate) paths: Option<Vec<PathBuf>>,
    /// Which of several of one name is used.
    pub(crate) policy: Option<PolicyConfig>,
    /// Whether `.claude/skills` is read, too.
    pub(crate) claude: Option<bool>,
    /// Whether `.pi/skills` is read, too.
    pub(crate) pi: Option<bool>,
    /// Where skills are fetched from. In the user's file only.
    pub(crate) repositories: Option<Vec<RepositoryConfig>>,
}

/// Which of several skills of one name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PolicyConfig {
    /// The first, and so a project's before the user's.
    FirstWins,
    /// The user's before a project's.
    UserFirst,
    /// All of them.
    KeepAll,
}

impl From<PolicyConfig> for Policy {
    fn from(policy: PolicyConfig) -> Self {
        match policy {
            PolicyConfig::FirstWins => Self::FirstWins,
            PolicyConfig::UserFirst => Self::UserFirst,
            PolicyConfig::KeepAll => Self::KeepAll,
        }
    }
}

/// A repository that skills are fetched from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryConfig {
    pub(crate) url: String,
    /// A branch or a tag.
    pub(crate) reference: Option<String>,
    /// One commit, by its full name.
    pub(crate) revision: Option<String>,
    /// The folder in it that has the skills.
    pub(crate) folder: Option<PathBuf>,
    /// The namespace of its skills.
    pub(crate) name: Option<String>,
    /// Whether its skills are loaded, or only listed.
    #[serde(default)]
    pub(crate) trusted: bool,
}

/// The settings of skills, each with its origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkillSettings {
    pub(crate) enabled: Option<Setting<bool>>,
    /// Those of the command line, absolute.
    pub(crate) named: Option<Setting<Vec<PathBuf>>>,
    /// Those of a configuration file, as they stand there.
    pub(crate) paths: Option<Setting<Vec<PathBuf>>>,
    pub(crate) policy: Option<Setting<Policy>>,
    pub(crate) claude: Option<Setting<bool>>,
    pub(crate) pi: Option<Setting<bool>>,
    pub(crate) repositories: Option<Setting<Vec<RepositoryConfig>>>,
}

impl SkillSettings {
    /// Takes what a file says.
    pub(crate) fn take_config(
        &mut self,
        config: SkillsConfig,
        origin: &Origin,
    ) -> Result<(), Failure> {
        for repository in config.repositories.iter().flatten() {
            let problem = repository.name.as_deref().and_then(skill_name::problem);
            if let Some(problem) = problem {
                return Err(Failure::configuration(format!(
                    "{origin}: the name of a repository of skills is wrong: {problem}"
                ))
                .hint(skill_name::RULE));
            }
        }
        put(&mut self.enabled, config.enabled, origin);
        put(&mut self.paths, config.paths, origin);
        put(&mut self.policy, config.policy.map(Into::into), origin);
        put(&mut self.claude, config.claude, origin);
        put(&mut self.pi, config.pi, origin);
        put(&mut self.repositories, config.repositories, origin);
        Ok(())
    }

    /// Takes what the command line says.
    pub(crate) fn take_flags(
        &mut self,
        flags: &SkillFlags,
        environment: &Environment,
    ) -> Result<(), Failure> {
        if flags.none {
            let origin = Origin::Flag("--no-skills");
            put(&mut self.enabled, Some(false), &origin);
        }
        if flags.paths.is_empty() {
            return Ok(());
        }
        let mut named = Vec::with_capacity(flags.paths.len());
        for path in &flags.paths {
            let there = typed_path(path, environment)
                .and_then(|absolute| std::fs::metadata(&absolute).map(|_| absolute));
            named.push(there.map_err(|error| {
                Failure::usage(format!("--skill {}: {error}", path.display()))
                    .hint("name a SKILL.md, its folder, or a folder of skills")
            })?);
        }
        put(&mut self.named, Some(named), &Origin::Flag("--skill"));
        Ok(())
    }

    /// Whether more is used than the command line names.
    pub(crate) fn are_on(&self) -> bool {
        self.enabled.as_ref().is_none_or(|on| on.value)
    }
}
