//! A configuration file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness_core::{ModelId, ModelInfo, Prices, ThinkingLevel};
use harness_providers::{Api, Dialect};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::agent_settings::AgentsConfig;
use crate::failure::Failure;
use crate::hook_files::HooksConfig;
use crate::permission_settings::{PermissionsConfig, SandboxConfig};
use crate::skill_settings::SkillsConfig;

/// The most bytes of a configuration file.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a file may say. Every key is optional; keys that are not here are errors.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConfigFile {
    /// `PROVIDER/MODEL`.
    pub(crate) model: Option<String>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) max_turns: Option<u32>,
    #[serde(deserialize_with = "duration")]
    pub(crate) timeout: Option<Duration>,
    /// The tools on offer, by name.
    pub(crate) tools: Option<Vec<String>>,
    /// Whether the model keeps a list of tasks.
    pub(crate) task_list: Option<bool>,
    /// Whether the model may enter plan mode by itself.
    pub(crate) plan_mode: Option<bool>,
    /// Certificates to trust beside the system's: a PEM file.
    pub(crate) ca_file: Option<PathBuf>,
    /// What the workspace's files may add to the system prompt.
    pub(crate) context: ContextConfig,
    /// What may be done without a question, and what not at all.
    pub(crate) permissions: PermissionsConfig,
    /// What commands can reach.
    pub(crate) sandbox: SandboxConfig,
    /// Which commands of the user run at the points of a run.
    pub(crate) hooks: HooksConfig,
    /// Which skills are used, and where they are looked for.
    pub(crate) skills: SkillsConfig,
    /// Which agents work can be handed to, and where they are looked for.
    pub(crate) agents: AgentsConfig,
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
}

/// The files that are read into the system prompt.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ContextConfig {
    /// Whether any are; `--no-context` for one run.
    pub(crate) enabled: Option<bool>,
    /// Tokens that they may take together.
    pub(crate) tokens: Option<usize>,
    /// More files; relative ones are in the working folder.
    pub(crate) files: Option<Vec<PathBuf>>,
}

/// A service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    pub(crate) api: Option<Api>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) dialect: Option<DialectConfig>,
    pub(crate) models: BTreeMap<String, ModelConfig>,
}

/// A model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelConfig {
    pub(crate) context_window: Option<u64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) images: bool,
    pub(crate) thinking: Vec<ThinkingLevel>,
    pub(crate) prices: Option<Prices>,
    pub(crate) dialect: Option<DialectConfig>,
}

/// A dialect: a preset's name, or a table.
#[derive(Clone, Debug)]
pub(crate) enum DialectConfig {
    Preset(String),
    Table(Box<Dialect>),
}

/// By hand, because the error of a derived one does not say which key is wrong.
impl<'de> Deserialize<'de> for DialectConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = DialectConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a dialect, or a table")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<DialectConfig, E> {
                Ok(DialectConfig::Preset(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DialectConfig, A::Error> {
                let dialect = Dialect::deserialize(MapAccessDeserializer::new(map))?;
                Ok(DialectConfig::Table(Box::new(dialect)))
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl ModelConfig {
    /// What is known about the model of that name.
    pub(crate) fn info(&self, id: ModelId) -> ModelInfo {
        let mut info = ModelInfo::new(id);
        info.context_window = self.context_window;
        info.max_output_tokens = self.max_output_tokens;
        info.images = self.images;
        info.thinking.clone_from(&self.thinking);
        info.prices = self.prices;
        info
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    crate::arguments::duration(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

impl ConfigFile {
    /// Reads a file; `None` if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let problem = |what: String| Failure::configuration(format!("{}: {what}", path.display()));
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(problem(error.to_string())),
        };
        if !metadata.is_file() {
            return Err(problem("it is not a file".to_owned()));
        }
        if metadata.len() > MAX_BYTES {
            return Err(problem(format!("it is larger than {MAX_BYTES} bytes")));
        }
        let bytes = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| problem(format!("it is not UTF-8: {}", error.utf8_error())))?;
        Self::parse(&text, path).map(Some)
    }

    /// Parses a file's text. The error names the file, the line and the column.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = toml::from_str::<Self>(text);
        let mut file = file.map_err(|error| unreadable(text, path, &error))?;
        file.permissions.locate(text);
        Ok(file)
    }
}

/// What is wrong with a file: with its place, and what was likely meant.
pub(crate) fn unreadable(text: &str, path: &Path, error: &toml::de::Error) -> Failure {
    let place = error.span().map_or_else(String::new, |span| {
        let (line, column) = position(text, span.start);
        format!(":{line}:{column}")
    });
    let message = format!("{}{place}: {}", path.display(), error.message().trim());
    let failure = Failure::configuration(message);
    match suggestion(error.message()) {
        Some(key) => failure.hint(format!("did you mean `{key}`?")),
        None => failure,
    }
}

/// Line and column, from 1, in characters.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}

/// The key or value nearest to an unknown one, from serde's words for it:
/// "unknown field `modle`, expected one of `model`, `thinking`".
fn suggestion(message: &str) -> Option<String> {
    let rest = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"))?;
    let (unknown, expected) = rest.split_once('`')?;
    nearest(unknown, expected.split('`').skip(1).step_by(2))
}

/// The candidate nearest to a mistyped or unfinished name, if one is near.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<String> {
    let distance = |candidate: &str| {
        let is_unfinished = name.len() >= 3 && candidate.starts_with(name);
        if is_unfinished {
            1
        } else {
            strsim::damerau_levenshtein(name, candidate)
        }
    };
    candidates
        .map(|candidate| (distance(candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.chars().count() / 3))
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        ConfigFile::parse(text, Path::new("config.toml"))
            .map(|_| ())
            .unwrap_err()
            .text()
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = r#"
            model = "local/qwen3"
            thinking = "low"
            max_turns = 40
            timeout = "10m"
            [providers.local]
            api = "openai-chat"
            base_url = "http://127.0.0.1:8000"
            api_key_env = "LOCAL_KEY"
            dialect = "vllm"
            headers = { "X-Team" = "blue" }
            [providers.local.models.qwen3]
            context_window = 131072
            max_output_tokens = 8192
            prices = { input = 0.5, output = 1.5 }
        "#;
        let file = ConfigFile::parse(text, Path::new("config.toml")).unwrap();
        assert_eq!(file.timeout, Some(Duration::from_mins(10)));
        let provider = &file.providers["local"];
        assert_eq!(provider.api, Some(Api::OpenAiChat));
        let info = provider.models["qwen3"].info(ModelId::new("local", "qwen3"));
        assert_eq!(info.context_window, Some(131_072));
        assert_eq!(info.prices.map(|prices| prices.output), Some(1.5));
    }

    #[test]
    fn the_example_of_the_readme_is_read() {
        let readme = include_str!("../README.md");
        let (_, rest) = readme.split_once("```toml\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        let file = ConfigFile::parse(example, Path::new("README.md")).unwrap();
        assert!(file.providers["local"].models.contains_key("qwen3"));
    }

    /// CLI-12, CLI-13: an error names the file, the place and, for a mistyped key, the right one.
    #[test]
    fn cli_12_cli_13_a_broken_file_is_an_error_with_its_place() {
        let checks = [
            (
                "modle = \"a/b\"",
                "config.toml:1:1",
                "did you mean `model`?",
            ),
            (
                "[providers.x]\napi_key = \"K\"",
                "config.toml:2:1",
                "did you mean `api_key_env`?",
            ),
            ("model = [1,,]", "config.toml:1:", "error: "),
            ("max_turns = \"many\"", "config.toml:1:13", "invalid type"),
            ("thinking = \"deep\"", "config.toml:1:12", "unknown variant"),
            (
                "thinking = \"hihg\"",
                "config.toml:1:12",
                "did you mean `high`?",
            ),
            (
                "[providers.x]\ndialect = { streem_usage = false }",
                "config.toml:2:",
                "did you mean `stream_usage`?",
            ),
            (
                "[providers.x]\ndialect = 3",
                "config.toml:2:",
                "the name of a dialect, or a table",
            ),
            ("timeout = \"0s\"", "config.toml:1:11", "more than zero"),
            ("model = \"a\nb\"", "config.toml:2:", "error: "),
        ];
        for (text, place, words) in checks {
            let problem = problem(text);
            assert!(problem.contains(place), "{text:?} gave {problem:?}");
            assert!(problem.contains(words), "{text:?} gave {problem:?}");
            assert!(!problem.contains('\n'), "{text:?} gave {problem:?}");
        }
        assert!(ConfigFile::parse("\u{feff}model = \"a/b\" # yes", Path::new("c")).is_ok());
    }
}
