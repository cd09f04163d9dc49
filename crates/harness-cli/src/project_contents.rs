//! What a project brings of its own, for who is asked whether it is trusted. Nothing of it is used for that: the
//! files are only looked at.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::settings::in_project;
use crate::terminal::excerpt;

/// The most names of a line.
const NAMES: usize = 6;

/// The most characters of a name.
const CHARACTERS: usize = 40;

/// The most bytes of a file that is looked into.
const BYTES: u64 = 256 * 1024;

/// Lines such as `2 skills: review, deploy`, without anything that a terminal acts on.
pub(crate) fn lines(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |what: &str, names: &[String]| {
        if !names.is_empty() {
            lines.push(format!("{what}: {}", cut(names)));
        }
    };
    let config = in_project(folder, Path::new(".harness/config.toml"));
    if let Some(text) = config.and_then(|path| read(&path)) {
        match text.parse::<toml::Table>() {
            Ok(table) => {
                add("settings", &table.keys().cloned().collect::<Vec<_>>());
                add("addresses of models", &addresses(&table));
            }
            Err(_) => add("settings", &["not readable".to_owned()]),
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
    for name in [".harness/hooks.json", ".claude/settings.json"] {
        let file = in_project(folder, Path::new(name));
        if let Some(text) = file.and_then(|path| read(&path)) {
            let commands = hooks(&text);
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
    let paths = found.into_iter().flatten().flatten().map(|it| it.path());
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

/// The commands of hooks, with their events.
fn hooks(text: &str) -> Vec<String> {
    let Ok(file) = serde_json::from_str::<Value>(text) else {
        return vec!["not readable".to_owned()];
    };
    let mut commands = Vec::new();
    for (event, groups) in file
        .get("hooks")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let groups = groups.as_array().into_iter().flatten();
        let hooks = groups.filter_map(|group| group.get("hooks")?.as_array());
        for hook in hooks.flatten() {
            let command = hook.get("command").and_then(Value::as_str);
            commands.push(format!("{event} {}", command.unwrap_or("…")));
        }
    }
    commands
}
