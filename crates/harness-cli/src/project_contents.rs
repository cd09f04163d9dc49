//! What a project brings of its own, for who is asked whether it is trusted. Nothing of it is used for that: it is
//! looked at by those who would use it, so that what they take is what is listed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harness_agent::middlewares::HookFile;
use harness_agent::prompt::{Layer as PromptLayer, Library};
use harness_skills::{Catalogue, DefaultRoots, Layer, Skills};

use crate::agent_roots;
use crate::named_file;
use crate::settings::in_project;
use crate::terminal::excerpt;

/// The most names of a line.
const NAMES: usize = 6;

/// The most characters of a name.
const CHARACTERS: usize = 40;

/// What is said of a file that is there and cannot be shown.
const UNREADABLE: &str = "cannot be read";

/// The most characters of a hook's command: it is what would be run.
const COMMAND: usize = 160;

/// The most hooks of a file that are shown.
const HOOKS: usize = 8;

/// The most characters of a rule: it is what would not be asked about.
const RULE: usize = 400;

/// The most rules that are shown.
const RULES: usize = 32;

/// The files of hooks: ours, and another agent's, which settings can switch on, the project's own too.
const HOOK_FILES: [(&str, &str); 3] = [
    (".harness/hooks.json", ""),
    (".claude/settings.json", ", if it is switched on"),
    (".claude/settings.local.json", ", if it is switched on"),
];

/// Lines such as `2 skills: review, deploy`, without anything that a terminal acts on.
pub(crate) fn lines(folder: &Path, home: Option<PathBuf>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |what: &str, names: &[String]| {
        if !names.is_empty() {
            lines.push(format!("{what}: {}", cut(names)));
        }
    };
    if let Some(path) = in_project(folder, Path::new(".harness/config.toml")) {
        match settings(&path) {
            Some(table) => {
                add("settings", &table.keys().cloned().collect::<Vec<_>>());
                add("addresses of models", &addresses(&table));
            }
            None => add("settings", &[UNREADABLE.to_owned()]),
        }
    }
    lines.extend(allowed(folder));
    let mut add = |what: &str, names: &[String]| {
        if !names.is_empty() {
            lines.push(format!("{what}: {}", cut(names)));
        }
    };
    let skills = skills(folder, home.clone());
    add(&counted(skills.len(), "skill"), &skills);
    let agents = agents(folder, home);
    add(&counted(agents.len(), "agent"), &agents);
    if let Some(path) = in_project(folder, Path::new(".harness/prompts")) {
        let prompts = prompts(&path);
        add(&counted(prompts.len(), "prompt"), &prompts);
    }
    for (name, when) in HOOK_FILES {
        if let Some(path) = in_project(folder, Path::new(name)) {
            let hooks = hooks(&path).unwrap_or_else(|| vec![UNREADABLE.to_owned()]);
            let shown = hooks.iter().take(HOOKS);
            lines.extend(
                shown.map(|hook| format!("hook ({name}{when}): {}", excerpt(hook, COMMAND))),
            );
            if let Some(more) = hooks.len().checked_sub(HOOKS).filter(|more| *more > 0) {
                lines.push(format!("and {}", counted(more, "more hook")));
            }
        }
    }
    lines
}

/// What its configuration allows, a line for each rule.
pub(crate) fn allowed(folder: &Path) -> Vec<String> {
    let path = in_project(folder, Path::new(".harness/config.toml"));
    let table = path.and_then(|path| settings(&path)).unwrap_or_default();
    let permissions = table.get("permissions").and_then(toml::Value::as_table);
    let rules = permissions.and_then(|it| it.get("allow")?.as_array());
    let rules: Vec<&str> = rules
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_str)
        .collect();
    let shown = rules.iter().take(RULES);
    let mut lines: Vec<String> = shown
        .map(|rule| format!("allows: {}", excerpt(rule, RULE)))
        .collect();
    if let Some(more) = rules.len().checked_sub(RULES).filter(|more| *more > 0) {
        lines.push(format!("and allows {}", counted(more, "more thing")));
    }
    lines
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn cut(names: &[String]) -> String {
    let shown = names.iter().take(NAMES);
    let mut text = shown
        .map(|name| excerpt(name, CHARACTERS))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > NAMES {
        text.push_str(", …");
    }
    text
}

fn settings(path: &Path) -> Option<toml::Table> {
    // A pipe would keep whoever opens it waiting.
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let text = is_file.then(|| named_file::read(path).ok())??;
    text.parse().ok()
}

/// Where the services of a configuration are.
fn addresses(table: &toml::Table) -> Vec<String> {
    let providers = table.get("providers").and_then(toml::Value::as_table);
    let addresses = providers.into_iter().flatten().filter_map(|(_, provider)| {
        let address = provider.get("base_url")?.as_str()?;
        Some(address.to_owned())
    });
    addresses.collect()
}

/// The names of its skills, sorted, wherever the project's settings could have them looked for.
fn skills(folder: &Path, home: Option<PathBuf>) -> Vec<String> {
    let mut roots = DefaultRoots::default();
    roots.working_dir = Some(folder.to_owned());
    roots.home = home;
    roots.claude = true;
    roots.pi = true;
    let mut roots = roots.roots(|_| true);
    roots.retain(|root| root.layer == Layer::Project);
    names(&Skills::discover(&roots).catalogue())
}

/// The names of its agents, sorted.
fn agents(folder: &Path, home: Option<PathBuf>) -> Vec<String> {
    names(&agent_roots::of_project(folder, home).catalogue())
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    let entries = catalogue.entries().iter();
    let names: BTreeSet<String> = entries.map(|it| it.skill.name()).collect();
    names.into_iter().collect()
}

/// The names of prompts, with those that cannot be used.
fn prompts(folder: &Path) -> Vec<String> {
    let mut library = Library::new();
    let problems = library.read_folder(PromptLayer::Project, folder);
    let listed = library.list();
    let of_project = listed.iter().filter(|it| it.layer == PromptLayer::Project);
    let mut names: BTreeSet<String> = of_project.map(|it| it.name.to_owned()).collect();
    let stems = problems.iter().filter_map(|it| it.path.file_stem());
    names.extend(stems.map(|stem| stem.to_string_lossy().into_owned()));
    names.into_iter().collect()
}

/// The commands of hooks, with their events; `None` if the file is none of hooks.
fn hooks(path: &Path) -> Option<Vec<String>> {
    let file = HookFile::read(path).ok()??;
    let hooks = file.hooks().iter();
    let commands = hooks.map(|hook| {
        let command = hook.command().unwrap_or("…");
        let lines: Vec<&str> = command.lines().map(str::trim).collect();
        format!("{}: {}", hook.event(), lines.join(" ⏎ "))
    });
    Some(commands.collect())
}
