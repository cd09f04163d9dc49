//! What a project brings of its own, for who is asked whether it is trusted. Nothing of it is used for that: the
//! files are only looked at.

use std::fs;
use std::path::Path;

use harness_agent::middlewares::{Hook, HookFile};

use crate::settings::in_project;
use crate::terminal::excerpt;

/// The most names of a line.
const NAMES: usize = 6;

/// The most characters of a name.
const CHARACTERS: usize = 40;

/// The most bytes of a configuration that is looked into.
const BYTES: u64 = 256 * 1024;

/// The most entries of a folder that are looked at.
const ENTRIES: usize = 4096;

/// Stands for what is in a file that cannot be looked into: it is there all the same.
const UNREADABLE: &str = "not readable";

/// The files of a project that can have hooks.
const HOOK_FILES: [&str; 3] = [
    ".harness/hooks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
];

/// Lines such as `2 skills: review, deploy`, without anything that a terminal acts on.
pub(crate) fn lines(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |what: &str, names: &[String]| {
        if !names.is_empty() {
            lines.push(format!("{what}: {}", cut(names)));
        }
    };
    let config = in_project(folder, Path::new(".harness/config.toml"));
    if let Some(path) = config {
        match read(&path).and_then(|text| text.parse::<toml::Table>().ok()) {
            Some(table) => {
                add("settings", &table.keys().cloned().collect::<Vec<_>>());
                add("addresses of models", &addresses(&table));
            }
            None => add("settings", &[UNREADABLE.to_owned()]),
        }
    }
    let skills = [".harness/skills", ".agents/skills", ".claude/skills"];
    let skills: Vec<String> = skills
        .iter()
        .flat_map(|name| entries(folder, name, "SKILL.md"))
        .collect();
    add(&counted(skills.len(), "skill"), &skills);
    let prompts = entries(folder, ".harness/prompts", "");
    add(&counted(prompts.len(), "prompt"), &prompts);
    for name in HOOK_FILES {
        if let Some(path) = in_project(folder, Path::new(name)) {
            let commands = hooks(&path);
            add(
                &format!("{} ({name})", counted(commands.len(), "hook")),
                &commands,
            );
        }
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

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= BYTES).then(|| fs::read_to_string(path).ok())?
}

/// The names of what lies in a folder of the project, sorted: of folders that hold this file, or of Markdown files.
fn entries(folder: &Path, name: &str, inner: &str) -> Vec<String> {
    let found = in_project(folder, Path::new(name)).and_then(|path| fs::read_dir(path).ok());
    let found = found.into_iter().flatten().take(ENTRIES).flatten();
    let paths = found.map(|it| it.path());
    let is_it = |path: &Path| match inner {
        "" => path.extension().is_some_and(|it| it == "md"),
        inner => path.join(inner).exists(),
    };
    let mut names: Vec<String> = paths
        .filter(|path| is_it(path))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
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

/// The commands of a file's hooks, with their events: read as a run would read them.
fn hooks(path: &Path) -> Vec<String> {
    let Ok(file) = HookFile::read(path) else {
        return vec![UNREADABLE.to_owned()];
    };
    let described = |hook: &Hook| format!("{} {}", hook.event(), hook.command().unwrap_or("…"));
    let hooks = file.iter().flat_map(HookFile::hooks);
    hooks.map(described).collect()
}
