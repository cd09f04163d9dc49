//! Where agents are looked for: from the environment and the settings to roots.

use std::path::{Path, PathBuf};

use harness_agent::{Agents, built_in_agents};
use harness_skills::{DefaultRoots, Form, Layer};

use crate::environment::Environment;
use crate::settings::Settings;

/// Looks for the agents that work can be handed to in a folder. None if they are switched off.
pub(crate) fn discover(environment: &Environment, settings: &Settings, folder: &Path) -> Agents {
    let agents = &settings.agents;
    if !agents.are_on() {
        return Agents::default();
    }
    let mut roots = DefaultRoots::default();
    roots.form = Form::Agents;
    let configured = agents.paths.iter().flat_map(|paths| &paths.value);
    let absolute = |path: &PathBuf| folder.join(environment.expand_home(path));
    roots.explicit = configured.map(absolute).collect();
    roots.managed = Some(environment.managed_agents());
    roots.working_dir = Some(folder.to_owned());
    roots.config_folder = environment.config_folder();
    roots.home = environment.home();
    roots.claude = agents.claude.as_ref().is_some_and(|read| read.value);
    roots.built_in = built_in_agents().into();
    let way = settings.trust.way();
    roots.held_reason = Some(format!("its project is not trusted; {way}").into());
    Agents::discover(&roots.roots(|project| settings.trust.trusts(project)))
}

/// The agents that a project brings, wherever its settings could have them looked for. None of them is used.
pub(crate) fn of_project(folder: &Path, home: Option<PathBuf>) -> Agents {
    let mut roots = DefaultRoots::default();
    roots.form = Form::Agents;
    roots.working_dir = Some(folder.to_owned());
    roots.home = home;
    roots.claude = true;
    let mut roots = roots.roots(|_| true);
    roots.retain(|root| root.layer == Layer::Project);
    Agents::discover(&roots)
}
