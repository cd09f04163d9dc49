//! The hook files that are used: the user's, and those of a project that is trusted.

use std::path::{Path, PathBuf};

use harness_agent::AgentHarness;
use harness_agent::middlewares::{HookDiagnostic, HookFile, Hooks};
use serde::Deserialize;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::{Settings, in_project};
use crate::stderr;
use crate::terminal::one_line;

/// What a configuration says under `[hooks]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HooksConfig {
    /// Whether hooks run at all.
    pub(crate) enabled: Option<bool>,
    /// Whether those of Claude Code's settings run, too.
    pub(crate) claude: Option<bool>,
}

/// The hooks, and the file of the project that was passed over because nobody trusts it.
#[derive(Debug, Default)]
pub(crate) struct HookFiles {
    pub(crate) hooks: Hooks,
    pub(crate) untrusted: Vec<PathBuf>,
    /// Whether the configuration switches all hooks off, so that no file was read.
    pub(crate) is_off: bool,
}

impl HookFiles {
    /// Reads the files. One that is broken is an error: what it was to forbid is not known.
    pub(crate) fn read(
        environment: &Environment,
        settings: &Settings,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let is_on = settings.hooks.as_ref().is_none_or(|on| on.value);
        if !is_on {
            return Ok(Self {
                is_off: true,
                ..Self::default()
            });
        }
        let claude = settings.hooks_claude.as_ref().is_some_and(|on| on.value);
        let mut read = Self::default();
        let mut files = Vec::new();
        let config = environment.config_folder();
        let mut own: Vec<PathBuf> = config.map(|it| it.join("hooks.json")).into_iter().collect();
        if claude {
            own.extend(
                environment
                    .home()
                    .map(|it| it.join(".claude/settings.json")),
            );
        }
        let claude = claude.then_some([".claude/settings.json", ".claude/settings.local.json"]);
        let names = [".harness/hooks.json"]
            .into_iter()
            .chain(claude.into_iter().flatten());
        for name in names {
            let Some(path) = in_project(folder, Path::new(name)) else {
                continue;
            };
            let project = path.parent().and_then(Path::parent).unwrap_or(folder);
            if settings.trust.trusts(project) {
                own.push(path);
            } else {
                read.untrusted.push(path);
            }
        }
        for path in own {
            let file =
                HookFile::read(&path).map_err(|error| Failure::configuration(error.to_string()))?;
            files.extend(file);
        }
        read.hooks = Hooks::from_files(files);
        Ok(read)
    }

    /// For people: the hooks, what is to be known of their files, and, with an agent, which matchers are for
    /// nothing of its tools.
    pub(crate) fn lines(&self, agent: Option<&AgentHarness>) -> Vec<(&'static str, String)> {
        if self.is_off {
            return vec![("off", "by `[hooks] enabled = false`".to_owned())];
        }
        let hooks = self.hooks.describe();
        let mut lines: Vec<_> = hooks.iter().map(|hook| ("hook", one_line(hook))).collect();
        let misfits = agent.map(|agent| misfits(&self.hooks, agent));
        let told = self.hooks.diagnostics().iter();
        lines.extend(told.chain(misfits.iter().flatten()).map(|it| {
            let name = if it.is_warning() { "warning" } else { "note" };
            (name, one_line(&it.to_string()))
        }));
        lines.extend(self.untrusted.iter().map(|file| {
            let state = "not read: its project is not trusted";
            ("project", format!("{}: {state}", file.display()))
        }));
        lines
    }
}

/// The matchers that are for nothing of an agent's tools.
fn misfits(hooks: &Hooks, agent: &AgentHarness) -> Vec<HookDiagnostic> {
    let tools = agent.loop_config().tools();
    let tools: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    hooks.misfits(&tools)
}

/// Tells what is to be known of hook files.
pub(crate) fn tell(diagnostics: &[HookDiagnostic]) {
    for told in diagnostics {
        if told.is_warning() {
            stderr::warning(&told.to_string());
        } else {
            stderr::note(&told.to_string());
        }
    }
}

/// Tells which matchers are for nothing of an agent's tools.
pub(crate) fn tell_misfits(hooks: &Hooks, agent: &AgentHarness) {
    tell(&misfits(hooks, agent));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_that_are_switched_off_are_told_as_that() {
        assert!(HookFiles::default().lines(None).is_empty());
        let off = HookFiles {
            is_off: true,
            ..HookFiles::default()
        };
        let told = [("off", "by `[hooks] enabled = false`".to_owned())];
        assert_eq!(off.lines(None), told);
    }
}
