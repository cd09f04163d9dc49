//! Agents that work for the agent of a run.

use std::sync::Arc;

use harness_agent::ModelSource;
use harness_agent::middlewares::SubagentOptions;
use harness_core::Model;
use harness_skills::Status;

use crate::config_file::ProviderConfig;
use crate::environment::Environment;
use crate::model_choice::{Choice, Target};
use crate::session_place::SessionPlace;
use crate::settings::Settings;
use crate::setup::Setup;
use crate::stderr;

/// Other programs' short names for models.
const SHORT: [&str; 4] = ["sonnet", "opus", "haiku", "default"];

/// The subagents of a run, if there are any.
pub(crate) fn options(setup: &Setup, choice: &Choice) -> Option<SubagentOptions> {
    let settings = &setup.settings.agents;
    let agents = setup.agents();
    if !settings.are_offered(&agents) {
        return None;
    }
    let catalogue = agents.catalogue();
    let broken = catalogue.entries().iter();
    let broken = broken.filter(|entry| entry.status == Status::Invalid);
    let names: Vec<String> = broken.map(|entry| entry.skill.location_text()).collect();
    if !names.is_empty() {
        stderr::note(&format!(
            "what declares an agent here cannot be used ({}): see harness agents list --all",
            names.join(", ")
        ));
    }
    let models = Models {
        settings: setup.settings.clone(),
        environment: setup.environment.clone(),
        provider: match &choice.target {
            Target::Service(service) => Some(service.info.id.provider.clone()),
            Target::Demo | Target::Scripted(_) | Target::Idle => None,
        },
    };
    let mut options = SubagentOptions::new(agents).models(Arc::new(models));
    if let Some(place) = SessionPlace::of(&setup.environment) {
        options = options.store(Arc::new(place.store));
    }
    if let Some(depth) = &settings.max_depth {
        options = options.max_depth(depth.value);
    }
    if let Some(number) = &settings.max_at_once {
        options = options.max_at_once(number.value);
    }
    Some(options)
}

/// The models that declarations can name: those that `--model` could.
struct Models {
    settings: Settings,
    environment: Environment,
    /// Where a model is that is named without its provider: where the run's own is.
    provider: Option<String>,
}

impl ModelSource for Models {
    fn model(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        let full = match &self.provider {
            Some(provider) if !name.contains('/') => format!("{provider}/{name}"),
            _ => name.to_owned(),
        };
        // Only somebody at the command line has a script or the demonstration run.
        if name == "demo" || name.starts_with("scripted:") {
            return Err("it is no model that a declaration can ask for".to_owned());
        }
        // Other programs' short names are models of no service.
        let is_configured = |models: &ProviderConfig| models.models.contains_key(name);
        let provider = self.provider.as_ref();
        let config = provider.and_then(|provider| self.settings.providers.get(provider));
        if SHORT.contains(&name) && !config.is_some_and(|config| is_configured(&config.value)) {
            return Err("no model of that name is configured".to_owned());
        }
        let choice = Choice::of(&full, &self.settings, &self.environment);
        let model = choice.and_then(|choice| choice.model());
        model.map_err(|failure| failure.message)
    }
}
