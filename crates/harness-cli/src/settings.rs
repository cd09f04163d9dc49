//! Settings: the layers they come from, and which one won.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_core::{ModelId, Prices, ThinkingLevel};
use harness_providers::Api;

use crate::agent_settings::AgentSettings;
use crate::arguments::{AgentArguments, ModelArguments, duration, turns};
use crate::config_file::{ConfigFile, ProviderConfig};
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::permission_arguments::PermissionFlags;
use crate::permission_settings::PermissionSettings;
use crate::project_trust::ProjectTrust;
use crate::services;
use crate::skill_settings::SkillSettings;

/// Where a value came from; a later one wins over an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The file of the machine's owner, which counts for more than all others.
    Managed(PathBuf),
    User(PathBuf),
    Project(PathBuf),
    Environment(&'static str),
    Flag(&'static str),
    Session,
    /// The user's store of trust.
    Trust(PathBuf),
    /// What the program needs for itself.
    Program,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Managed(path) | Self::User(path) | Self::Project(path) | Self::Trust(path) => {
                write!(f, "{}", path.display())
            }
            Self::Environment(name) => write!(f, "the variable {name}"),
            Self::Flag(name) => write!(f, "{name}"),
            Self::Session => f.write_str("the session"),
            Self::Program => f.write_str("the program itself"),
        }
    }
}

/// A value, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// What a configuration file was found to be.
#[derive(Clone, Debug)]
pub(crate) struct FileFound {
    pub(crate) path: PathBuf,
    pub(crate) state: FileState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    Read,
    Missing,
    /// It belongs to a project that the user does not trust.
    Untrusted,
}

/// All settings, each with its origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) model: Option<Setting<String>>,
    pub(crate) api: Option<Setting<Api>>,
    pub(crate) base_url: Option<Setting<String>>,
    pub(crate) api_key_env: Option<Setting<String>>,
    pub(crate) thinking: Option<Setting<ThinkingLevel>>,
    pub(crate) max_turns: Option<Setting<u32>>,
    pub(crate) timeout: Option<Setting<Duration>>,
    pub(crate) tools: Option<Setting<Vec<String>>>,
    pub(crate) task_list: Option<Setting<bool>>,
    pub(crate) plan_mode: Option<Setting<bool>>,
    pub(crate) ca_file: Option<Setting<PathBuf>>,
    pub(crate) context: Option<Setting<bool>>,
    pub(crate) context_tokens: Option<Setting<usize>>,
    pub(crate) context_files: Option<Setting<Vec<PathBuf>>>,
    pub(crate) skills: SkillSettings,
    pub(crate) agents: AgentSettings,
    pub(crate) hooks: Option<Setting<bool>>,
    pub(crate) hooks_claude: Option<Setting<bool>>,
    /// What may be done, and what commands can reach.
    pub(crate) permissions: PermissionSettings,
    /// Whether the project's own files may change how the agent works.
    pub(crate) trust: ProjectTrust,
    pub(crate) providers: BTreeMap<String, Setting<ProviderConfig>>,
    pub(crate) files: Vec<FileFound>,
}

impl Settings {
    /// Reads all layers: the user's file, a trusted project's file, the environment, the flags.
    pub(crate) fn load(
        environment: &Environment,
        folder: &Path,
        model: &ModelArguments,
        agent: &AgentArguments,
        permissions: &PermissionFlags,
    ) -> Result<Self, Failure> {
        let mut settings = Self {
            trust: ProjectTrust::read(environment, folder, agent.trust)?,
            ..Self::default()
        };
        if let Some(path) = environment
            .config_folder()
            .map(|folder| folder.join("config.toml"))
        {
            match ConfigFile::read(&path)? {
                Some(file) => {
                    settings.take_file(file, &Origin::User(path.clone()))?;
                    settings.found(path, FileState::Read);
                }
                None => settings.found(path, FileState::Missing),
            }
        }
        if let Some(path) = project_file(folder) {
            let project = path.parent().and_then(Path::parent).unwrap_or(folder);
            if settings.trust.trusts(project) {
                if let Some(file) = ConfigFile::read(&path)? {
                    PermissionSettings::check_project(&file.permissions, &file.sandbox, &path)?;
                    if file.skills.repositories.is_some() {
                        return Err(Failure::configuration(format!(
                            "{}: a project cannot say which repositories skills come from",
                            path.display()
                        ))
                        .hint("move skills.repositories to your own configuration"));
                    }
                    settings.take_file(file, &Origin::Project(path.clone()))?;
                    settings.found(path, FileState::Read);
                }
            } else {
                settings.found(path, FileState::Untrusted);
            }
        }
        settings.take_environment(environment)?;
        settings.permissions.take_managed(environment)?;
        settings.permissions.take_flags(permissions)?;
        settings.take_flags(model, agent)?;
        settings.skills.take_flags(&agent.skills, environment)?;
        let key = settings.api_key_env.as_ref();
        if let Some(Setting { value, origin }) = key {
            check_variable_name(Some(value), &origin.to_string())?;
        }
        Ok(settings)
    }

    fn found(&mut self, path: PathBuf, state: FileState) {
        self.files.push(FileFound { path, state });
    }

    fn take_file(&mut self, file: ConfigFile, origin: &Origin) -> Result<(), Failure> {
        if file.max_turns == Some(0) {
            return Err(Failure::configuration(format!(
                "{origin}: max_turns must be at least 1"
            )));
        }
        for (name, provider) in &file.providers {
            let key = format!("{origin}: providers.{name}.api_key_env");
            check_variable_name(provider.api_key_env.as_deref(), &key)?;
            for (model, config) in &provider.models {
                if config.prices.is_some_and(|prices| !is_sound(&prices)) {
                    return Err(Failure::configuration(format!(
                        "{origin}: providers.{name}.models.{model}.prices: a price must be a number \
                         of at least 0"
                    )));
                }
            }
        }
        put(&mut self.model, file.model, origin);
        put(&mut self.thinking, file.thinking, origin);
        put(&mut self.max_turns, file.max_turns, origin);
        put(&mut self.timeout, file.timeout, origin);
        put(&mut self.tools, file.tools, origin);
        put(&mut self.task_list, file.task_list, origin);
        put(&mut self.plan_mode, file.plan_mode, origin);
        put(&mut self.ca_file, file.ca_file, origin);
        put(&mut self.context, file.context.enabled, origin);
        put(&mut self.context_tokens, file.context.tokens, origin);
        put(&mut self.context_files, file.context.files, origin);
        put(&mut self.hooks, file.hooks.enabled, origin);
        put(&mut self.hooks_claude, file.hooks.claude, origin);
        self.skills.take_config(file.skills, origin)?;
        self.agents.take_config(file.agents, origin);
        self.permissions
            .take_config(&file.permissions, file.sandbox, origin)?;
        for (name, value) in file.providers {
            self.providers.insert(
                name,
                Setting {
                    value,
                    origin: origin.clone(),
                },
            );
        }
        Ok(())
    }

    fn take_environment(&mut self, environment: &Environment) -> Result<(), Failure> {
        let origin = Origin::Environment;
        put(
            &mut self.model,
            environment.text(environment::MODEL),
            &origin(environment::MODEL),
        );
        let api = parsed(environment, environment::API, |text| {
            text.parse::<Api>().map_err(|error| error.to_string())
        })?;
        put(&mut self.api, api, &origin(environment::API));
        put(
            &mut self.base_url,
            environment.text(environment::BASE_URL),
            &origin(environment::BASE_URL),
        );
        put(
            &mut self.api_key_env,
            environment.text(environment::API_KEY_ENV),
            &origin(environment::API_KEY_ENV),
        );
        let thinking = parsed(environment, environment::THINKING, str::parse)?;
        put(&mut self.thinking, thinking, &origin(environment::THINKING));
        let max_turns = parsed(environment, environment::MAX_TURNS, turns)?;
        put(
            &mut self.max_turns,
            max_turns,
            &origin(environment::MAX_TURNS),
        );
        let timeout = parsed(environment, environment::TIMEOUT, duration)?;
        put(&mut self.timeout, timeout, &origin(environment::TIMEOUT));
        let ca_file = environment.text(environment::CA_FILE).map(PathBuf::from);
        put(&mut self.ca_file, ca_file, &origin(environment::CA_FILE));
        Ok(())
    }

    /// What a session was used with counts for going on with it, unless a flag says otherwise.
    pub(crate) fn take_session(
        &mut self,
        model: Option<&ModelId>,
        thinking: Option<ThinkingLevel>,
    ) {
        fn is_flag<T>(setting: Option<&Setting<T>>) -> bool {
            setting.is_some_and(|setting| matches!(setting.origin, Origin::Flag(_)))
        }
        // A model at an address that only a flag named is not known any more.
        let model = model.filter(|model| {
            services::service(&model.provider).is_some()
                || self.providers.contains_key(&model.provider)
        });
        if !is_flag(self.model.as_ref()) && self.base_url.is_none() {
            put(
                &mut self.model,
                model.map(ToString::to_string),
                &Origin::Session,
            );
        }
        if !is_flag(self.thinking.as_ref()) {
            put(&mut self.thinking, thinking, &Origin::Session);
        }
    }

    fn take_flags(
        &mut self,
        model: &ModelArguments,
        agent: &AgentArguments,
    ) -> Result<(), Failure> {
        let origin = Origin::Flag;
        // A blank value is as good as none: scripts pass variables that may be empty.
        let text = |text: &Option<String>| {
            text.as_deref()
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        put(&mut self.model, text(&model.model), &origin("--model"));
        put(&mut self.api, model.api, &origin("--api"));
        put(
            &mut self.base_url,
            text(&model.base_url),
            &origin("--base-url"),
        );
        put(
            &mut self.api_key_env,
            text(&model.api_key_env),
            &origin("--api-key-env"),
        );
        put(&mut self.thinking, model.thinking, &origin("--thinking"));
        if let Some(tools) = &agent.tools {
            let names = tools.iter().map(|name| name.trim().to_owned());
            let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
            if names.is_empty() {
                return Err(Failure::usage("--tools names no tool").hint("--no-tools offers none"));
            }
            put(&mut self.tools, Some(names), &origin("--tools"));
        }
        if agent.plan {
            put(&mut self.plan_mode, Some(true), &origin("--plan"));
        }
        if agent.no_context {
            put(&mut self.context, Some(false), &origin("--no-context"));
        }
        if agent.no_tools {
            put(&mut self.tools, Some(Vec::new()), &origin("--no-tools"));
        }
        Ok(())
    }
}

/// Refuses what cannot be a variable's name, without showing it: it is often the key itself.
fn check_variable_name(name: Option<&str>, key: &str) -> Result<(), Failure> {
    let is_name = |name: &str| {
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.chars().all(of_name) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    match name {
        Some(name) if !is_name(name) || name.is_empty() => Err(Failure::configuration(format!(
            "{key} is not the name of a variable"
        ))
        .hint("name the variable that holds the key, and do not write the key itself")),
        _ => Ok(()),
    }
}

/// Whether every price is a finite number of at least 0.
fn is_sound(prices: &Prices) -> bool {
    let others = [prices.cache_read, prices.cache_write];
    let mut all = [prices.input, prices.output]
        .into_iter()
        .chain(others.into_iter().flatten());
    all.all(|price| price.is_finite() && price >= 0.0)
}

/// Takes a value, if there is one, in the place of an earlier one.
pub(crate) fn put<T>(slot: &mut Option<Setting<T>>, value: Option<T>, origin: &Origin) {
    if let Some(value) = value {
        *slot = Some(Setting {
            value,
            origin: origin.clone(),
        });
    }
}

fn parsed<T>(
    environment: &Environment,
    name: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    environment
        .text(name)
        .map(|text| parse(&text))
        .transpose()
        .map_err(|error| Failure::configuration(format!("the variable {name} is wrong: {error}")))
}

/// The nearest `.harness/config.toml`.
fn project_file(folder: &Path) -> Option<PathBuf> {
    in_project(folder, &Path::new(".harness").join("config.toml"))
}

/// The root of the repository that a folder is in, if it is in one.
pub(crate) fn repository_root(folder: &Path) -> Option<&Path> {
    let mut ancestors = folder.ancestors();
    ancestors.find(|ancestor| ancestor.join(".git").exists())
}

/// The nearest of that name, from the folder up to the root of its repository. Without a repository,
/// only the folder itself is looked at.
pub(crate) fn in_project(folder: &Path, name: &Path) -> Option<PathBuf> {
    let root = repository_root(folder);
    for ancestor in folder.ancestors() {
        let path = ancestor.join(name);
        if path.exists() {
            return Some(path);
        }
        if root.is_none_or(|root| root == ancestor) {
            return None;
        }
    }
    None
}
