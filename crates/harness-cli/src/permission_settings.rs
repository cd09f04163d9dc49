//! Rules about what may be done, and the sandbox: from files and flags.

use std::fmt;
use std::path::{Path, PathBuf};

use harness_sandbox::Profile;
use harness_trust::{Layer, Rule, Verdict};
use serde::{Deserialize, Deserializer};

use crate::config_file::{position, unreadable};
use crate::environment::{Environment, MANAGED_PERMISSIONS};
use crate::failure::Failure;
use crate::named_file;
use crate::permission_arguments::PermissionFlags;
use crate::settings::{Origin, Setting, put};

/// What a file says under `[permissions]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PermissionsConfig {
    pub(crate) allow: Vec<WrittenRule>,
    pub(crate) deny: Vec<WrittenRule>,
    pub(crate) ask: Vec<WrittenRule>,
}

impl PermissionsConfig {
    /// Says where in `text`, which it was read from, its rules stand.
    pub(crate) fn locate(&mut self, text: &str) {
        for rule in [&mut self.allow, &mut self.deny, &mut self.ask]
            .into_iter()
            .flatten()
        {
            rule.place = position(text, rule.start);
        }
    }
}

/// A rule as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenRule {
    pub(crate) text: String,
    /// The byte that it begins at.
    start: usize,
    /// Its line and column, from 1.
    place: (usize, usize),
}

impl<'de> Deserialize<'de> for WrittenRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = toml::Spanned::<String>::deserialize(deserializer)?;
        Ok(Self {
            start: spanned.span().start,
            text: spanned.into_inner(),
            place: (1, 1),
        })
    }
}

impl fmt::Display for WrittenRule {
    /// `LINE:COLUMN`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.place.0, self.place.1)
    }
}

/// What a file says under `[sandbox]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxConfig {
    /// What commands can reach.
    pub(crate) profile: Option<String>,
    /// Whether they can use the network.
    pub(crate) network: Option<bool>,
    /// Folders beside the workspace that they can write.
    pub(crate) writable: Option<Vec<PathBuf>>,
    /// Files and folders that they cannot read, beside those that usually hold secrets.
    pub(crate) hidden: Option<Vec<PathBuf>>,
}

/// The file of the machine's owner.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ManagedFile {
    permissions: PermissionsConfig,
    sandbox: SandboxConfig,
}

/// What may be done, and what commands can reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct PermissionSettings {
    /// The rules, each with where it stands.
    pub(crate) rules: Vec<(Layer, Rule, Origin)>,
    pub(crate) profile: Option<Setting<Profile>>,
    pub(crate) network: Option<Setting<bool>>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    /// Whether everything is allowed that no rule denies.
    pub(crate) allow_all: bool,
}

impl PermissionSettings {
    /// Takes what a configuration file says.
    pub(crate) fn take_config(
        &mut self,
        permissions: &PermissionsConfig,
        sandbox: SandboxConfig,
        origin: &Origin,
    ) -> Result<(), Failure> {
        let layer = match origin {
            Origin::Project(_) => Layer::Project,
            Origin::Managed(_) => Layer::Managed,
            _ => Layer::User,
        };
        let all = [
            (Verdict::Allow, &permissions.allow),
            (Verdict::Deny, &permissions.deny),
            (Verdict::Ask, &permissions.ask),
        ];
        for (verdict, rules) in all {
            for written in rules {
                let rule = Rule::parse(verdict, &written.text).map_err(|error| {
                    let place = format!("{origin}:{written}");
                    Failure::configuration(format!("{place}: permissions.{verdict}: {error}"))
                })?;
                self.rules.push((layer, rule, origin.clone()));
            }
        }
        let profile = sandbox
            .profile
            .map(|profile| profile_of(&profile, &format!("{origin}: sandbox.profile")));
        put(&mut self.profile, profile.transpose()?, origin);
        put(&mut self.network, sandbox.network, origin);
        self.writable.extend(sandbox.writable.into_iter().flatten());
        self.hidden.extend(sandbox.hidden.into_iter().flatten());
        Ok(())
    }

    /// What a project's file may say: that its own files may be touched and commands run, and anything that
    /// refuses. What its user has elsewhere, and what commands can reach, is not for it to open.
    pub(crate) fn check_project(
        permissions: &PermissionsConfig,
        sandbox: &SandboxConfig,
        path: &Path,
    ) -> Result<(), Failure> {
        let place = path.display();
        if *sandbox != SandboxConfig::default() {
            return Err(Failure::configuration(format!(
                "{place}: a project cannot say what commands can reach"
            ))
            .hint("move [sandbox] to your own configuration"));
        }
        for written in &permissions.allow {
            let rule = &written.text;
            let kind = rule.split('(').next().unwrap_or_default().trim();
            let inner = rule
                .split_once('(')
                .map_or("", |(_, inner)| inner.trim_start());
            let is_own = match kind {
                "read" | "write" => !inner.is_empty() && !inner.starts_with(['/', '~', '<']),
                "run" | "net" | "tool" => is_by_name(kind, inner),
                _ => false,
            };
            if !is_own {
                return Err(Failure::configuration(format!(
                    "{place}:{written}: a project cannot allow `{rule}`: only paths in itself, and commands, hosts and \
                     tools by name"
                ))
                .hint("move the rule to your own configuration"));
            }
        }
        Ok(())
    }

    /// Takes what the owner of the machine says, which counts for more than anything else. A file that is there
    /// and cannot be read is an error: what it forbids is not known then.
    pub(crate) fn take_managed(&mut self, environment: &Environment) -> Result<(), Failure> {
        let path = environment.managed_permissions();
        match std::fs::symlink_metadata(&path) {
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && !environment.is_set(MANAGED_PERMISSIONS) =>
            {
                return Ok(());
            }
            _ => {}
        }
        let problem = |what: String| Failure::configuration(format!("{}: {what}", path.display()));
        let text = named_file::read(&path).map_err(|error| problem(error.to_string()))?;
        let mut file: ManagedFile =
            toml::from_str(&text).map_err(|error| unreadable(&text, &path, &error))?;
        file.permissions.locate(&text);
        let origin = Origin::Managed(path.clone());
        self.take_config(&file.permissions, file.sandbox, &origin)
    }

    /// Takes what was said on the command line.
    pub(crate) fn take_flags(&mut self, flags: &PermissionFlags) -> Result<(), Failure> {
        let all = [
            (Verdict::Allow, &flags.allow, "--allow"),
            (Verdict::Deny, &flags.deny, "--deny"),
            (Verdict::Ask, &flags.ask, "--ask"),
        ];
        for (verdict, rules, flag) in all {
            for rule in rules {
                let rule = Rule::parse(verdict, rule)
                    .map_err(|error| Failure::usage(format!("{flag}: {error}")))?;
                self.rules.push((Layer::Run, rule, Origin::Flag(flag)));
            }
        }
        if flags.allow_all {
            self.allow_all = true;
            for subject in ["read", "write", "run", "net", "tool", "opaque"] {
                if let Ok(rule) = Rule::parse(Verdict::Allow, subject) {
                    let origin = Origin::Flag("--allow-all");
                    self.rules.push((Layer::Run, rule, origin));
                }
            }
        }
        let managed = |origin: &Origin| matches!(origin, Origin::Managed(_));
        let is_managed = self.profile.as_ref().is_some_and(|it| managed(&it.origin));
        if !is_managed {
            let profile = flags.sandbox.as_ref();
            let profile = profile
                .map(|profile| profile_of(profile, "--sandbox"))
                .transpose()?;
            let off = flags.allow_all.then_some(Profile::Off);
            put(&mut self.profile, off, &Origin::Flag("--allow-all"));
            put(&mut self.profile, profile, &Origin::Flag("--sandbox"));
        }
        let is_managed = self.network.as_ref().is_some_and(|it| managed(&it.origin));
        if flags.sandbox_network && !is_managed {
            put(
                &mut self.network,
                Some(true),
                &Origin::Flag("--sandbox-network"),
            );
        }
        Ok(())
    }
}

/// Whether the inner part of a rule names what it is about, rather than meaning anything there is.
fn is_by_name(kind: &str, inner: &str) -> bool {
    let first = inner.split([' ', '\t', ')']).next().unwrap_or_default();
    match kind {
        "run" => !first.is_empty() && !first.contains('*'),
        "net" => !first.is_empty() && (!first.starts_with('*') || first.starts_with("*.")),
        _ => !first.is_empty() && !first.starts_with('*'),
    }
}

fn profile_of(text: &str, place: &str) -> Result<Profile, Failure> {
    text.trim()
        .parse()
        .map_err(|error| Failure::configuration(format!("{place}: {error}")))
}
