//! The sandbox of the commands that an agent runs.

use std::path::{Path, PathBuf};

use harness_sandbox::{Abilities, HOME_SECRETS, Policy, Profile};

use crate::failure::Failure;
use crate::setup::Setup;

/// What commands can reach, as far as this machine can see to it.
#[derive(Debug)]
pub(crate) struct CommandSandbox {
    /// The sandbox; `None`: commands can do what the user can.
    pub(crate) policy: Option<Policy>,
    /// What was asked for.
    pub(crate) profile: Profile,
    /// What the machine lacks for it.
    pub(crate) missing: Vec<String>,
    /// Paths of the settings where nothing is, each with its key.
    absent: Vec<(&'static str, PathBuf)>,
}

impl CommandSandbox {
    /// None.
    pub(crate) fn off() -> Self {
        Self {
            policy: None,
            profile: Profile::Off,
            missing: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// The sandbox for commands in a folder. Where the kernel cannot hold it, there is none, unless somebody has
    /// asked for it: then that is an error.
    pub(crate) fn of(setup: &Setup, folder: &Path) -> Result<Self, Failure> {
        let settings = &setup.settings.permissions;
        let asked = settings.profile.as_ref();
        let profile = asked.map_or(Profile::WorkspaceWrite, |profile| profile.value);
        if profile == Profile::Off {
            return Ok(Self::off());
        }
        let policy = policy(setup, folder, profile);
        let absent = absent(setup, folder);
        let abilities = Abilities::of_this_machine();
        let missing = abilities.missing(&policy);
        let lacks = missing.iter().any(harness_sandbox::Missing::is_required);
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        if !lacks {
            return Ok(Self {
                policy: Some(policy),
                profile,
                missing,
                absent,
            });
        }
        if let Some(asked) = asked {
            return Err(Failure::configuration(format!(
                "the sandbox `{profile}` that {} asks for is not possible here: {}",
                asked.origin,
                missing.join("; ")
            ))
            .hint("--sandbox off does without"));
        }
        Ok(Self {
            policy: None,
            profile,
            missing,
            absent,
        })
    }

    /// What is to be said of it once, if anything.
    pub(crate) fn note(&self) -> Option<String> {
        let lost = self.policy.is_none() && self.profile != Profile::Off;
        lost.then(|| {
            format!(
                "commands run without a sandbox, and are asked about: {}; --sandbox off says no more of it",
                self.missing.join("; ")
            )
        })
    }

    /// The paths of the settings that count for nothing, since nothing is there.
    pub(crate) fn absent(&self) -> impl Iterator<Item = String> {
        self.absent.iter().map(|(key, path)| {
            let path = path.display();
            format!("sandbox.{key}: {path} is not there, so it counts for nothing; make it, or remove it")
        })
    }
}

fn absent(setup: &Setup, folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let settings = &setup.settings.permissions;
    let writable = settings.writable.iter().map(|path| ("writable", path));
    let hidden = settings.hidden.iter().map(|path| ("hidden", path));
    let all = writable.chain(hidden);
    let all = all.map(|(key, path)| (key, folder.join(setup.environment.expand_home(path))));
    all.filter(|(_, path)| !path.exists()).collect()
}

fn policy(setup: &Setup, folder: &Path, profile: Profile) -> Policy {
    let settings = &setup.settings.permissions;
    let environment = &setup.environment;
    let expand = |path: &PathBuf| folder.join(environment.expand_home(path));
    let mut policy = Policy::new(profile)
        .with_network(settings.network.as_ref().is_some_and(|it| it.value))
        .with_writable(folder)
        .with_scratch(environment.temporary_folder());
    let writable = settings.writable.iter().map(expand);
    for path in writable.filter(|path| path.exists()) {
        policy = policy.with_writable(path);
    }
    if let Some(home) = environment.home() {
        for secret in HOME_SECRETS {
            policy = policy.with_hidden(home.join(secret));
        }
    }
    let own = [
        environment.data_folder(),
        environment.state_folder(),
        environment.config_folder().map(|it| it.join("config.toml")),
        environment.config_folder().map(|it| it.join("hooks.json")),
    ];
    for path in own
        .into_iter()
        .flatten()
        .chain(settings.hidden.iter().map(expand))
    {
        policy = policy.with_hidden(path);
    }
    policy
}
