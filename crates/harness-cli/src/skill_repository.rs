//! A repository that skills are fetched from.

use std::path::Path;
use std::sync::Arc;

use harness_skills::{GitSource, Root, SkillSource, SourceError};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::skill_settings::RepositoryConfig;

/// Why the skills of a repository are held back, and what to do about it.
const UNTRUSTED: &str = "its repository is not trusted: set `trusted = true` for it under skills.repositories in your \
     own configuration";

/// A repository, as it is configured.
pub(crate) struct SkillRepository<'s> {
    pub(crate) source: Arc<GitSource>,
    config: &'s RepositoryConfig,
}

impl<'s> SkillRepository<'s> {
    /// Those that are configured. None is fetched.
    pub(crate) fn all(
        environment: &Environment,
        settings: &'s Settings,
    ) -> Result<Vec<Self>, Failure> {
        let Some(repositories) = &settings.skills.repositories else {
            return Ok(Vec::new());
        };
        if repositories.value.is_empty() {
            return Ok(Vec::new());
        }
        let Some(cache) = environment.cache_folder() else {
            return Err(
                Failure::configuration("there is no folder to keep fetched skills in")
                    .hint("set HOME or XDG_CACHE_HOME"),
            );
        };
        let cache = cache.join("skills");
        let sources = repositories.value.iter().map(|config| {
            let source = source(config, &cache, environment).map_err(|error| {
                let origin = &repositories.origin;
                Failure::configuration(format!("{origin}: skills.repositories: {error}"))
            })?;
            let source = Arc::new(source);
            Ok(Self { source, config })
        });
        sources.collect()
    }

    /// Its root. Looking through it fetches nothing.
    pub(crate) fn root(&self) -> Root {
        let source: Arc<dyn SkillSource> = self.source.clone();
        let mut root = Root::source(source);
        if let Some(name) = &self.config.name {
            root = root.in_namespace(name.as_str());
        }
        if self.config.trusted {
            root.trusted()
        } else {
            root.held(UNTRUSTED)
        }
    }
}

fn source(
    config: &RepositoryConfig,
    cache: &Path,
    environment: &Environment,
) -> Result<GitSource, SourceError> {
    let url = config.url.trim();
    let path = environment.expand_home(Path::new(url));
    let url = path
        .to_str()
        .filter(|_| url.starts_with('~'))
        .unwrap_or(url);
    let mut source = GitSource::new(url, cache)?;
    if let Some(reference) = &config.reference {
        source = source.at(reference.as_str())?;
    }
    if let Some(revision) = &config.revision {
        source = source.pinned(revision)?;
    }
    if let Some(folder) = &config.folder {
        source = source.skills_folder(folder)?;
    }
    Ok(source)
}
