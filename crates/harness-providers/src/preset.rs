//! The known services: a table, and the look-up in it.

use reqwest::Url;

use crate::address;
use crate::api::Api;
use crate::dialect::{
    CallIds, Dialect, MaxTokensField, ReasoningControl, ReasoningEcho, SystemRole, ThinkingStyle,
};

/// A known service.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    /// Hosts, and the domains above them.
    hosts: &'static [&'static str],
    /// The port on which it usually listens on this machine.
    local_port: Option<u16>,
    pub(crate) dialect: Dialect,
}

const PLAIN: Dialect = Dialect::PLAIN;

pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "plain",
        hosts: &[],
        local_port: None,
        dialect: PLAIN,
    },
    Preset {
        name: "openai",
        hosts: &["api.openai.com"],
        local_port: None,
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            system_role: SystemRole::Developer,
            store: Some(false),
            strict_tools: Some(false),
            prompt_cache_key: true,
            call_ids: CallIds::UpTo40,
            ..PLAIN
        },
    },
    Preset {
        name: "anthropic",
        hosts: &["api.anthropic.com"],
        local_port: None,
        dialect: PLAIN,
    },
    Preset {
        name: "azure",
        hosts: &["openai.azure.com", "services.ai.azure.com"],
        local_port: None,
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            call_ids: CallIds::UpTo40,
            ..PLAIN
        },
    },
    Preset {
        name: "ollama",
        hosts: &[],
        local_port: Some(11434),
        dialect: PLAIN,
    },
    Preset {
        name: "lmstudio",
        hosts: &[],
        local_port: Some(1234),
        dialect: PLAIN,
    },
    Preset {
        name: "llamacpp",
        hosts: &[],
        local_port: None,
        dialect: Dialect {
            reasoning_echo: ReasoningEcho::ReasoningContent,
            reasoning_control: ReasoningControl::TemplateArguments,
            ..PLAIN
        },
    },
    Preset {
        name: "vllm",
        hosts: &[],
        local_port: None,
        dialect: Dialect {
            reasoning_control: ReasoningControl::TemplateArguments,
            ..PLAIN
        },
    },
    Preset {
        name: "openrouter",
        hosts: &["openrouter.ai"],
        local_port: None,
        dialect: Dialect {
            reasoning_echo: ReasoningEcho::Reasoning,
            reasoning_control: ReasoningControl::EffortObject,
            ..PLAIN
        },
    },
    Preset {
        name: "deepseek",
        hosts: &["api.deepseek.com"],
        local_port: None,
        dialect: Dialect {
            reasoning_echo: ReasoningEcho::ReasoningContent,
            reasoning_control: ReasoningControl::ThinkingType,
            ..PLAIN
        },
    },
    Preset {
        name: "moonshot",
        hosts: &["api.moonshot.ai", "api.moonshot.cn"],
        local_port: None,
        dialect: Dialect {
            reasoning_echo: ReasoningEcho::ReasoningContent,
            reasoning_control: ReasoningControl::ThinkingType,
            ..PLAIN
        },
    },
    Preset {
        name: "zai",
        hosts: &["api.z.ai", "open.bigmodel.cn"],
        local_port: None,
        dialect: Dialect {
            reasoning_echo: ReasoningEcho::ReasoningContent,
            reasoning_control: ReasoningControl::ThinkingType,
            ..PLAIN
        },
    },
    Preset {
        name: "qwen",
        hosts: &["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"],
        local_port: None,
        dialect: Dialect {
            reasoning_control: ReasoningControl::EnableThinking,
            ..PLAIN
        },
    },
    Preset {
        name: "groq",
        hosts: &["api.groq.com"],
        local_port: None,
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            ..PLAIN
        },
    },
    Preset {
        name: "mistral",
        hosts: &["api.mistral.ai"],
        local_port: None,
        dialect: Dialect {
            reasoning_control: ReasoningControl::None,
            stream_usage: false,
            call_ids: CallIds::Exactly9,
            tool_result_name: true,
            ..PLAIN
        },
    },
    Preset {
        name: "xai",
        hosts: &["api.x.ai"],
        local_port: None,
        dialect: PLAIN,
    },
    Preset {
        name: "gemini",
        hosts: &["generativelanguage.googleapis.com"],
        local_port: None,
        dialect: PLAIN,
    },
];

/// Parts of the names of models whose thinking is adaptive.
///
/// Source: Anthropic's documentation of adaptive thinking (the fixed budget is deprecated on 4.6
/// and refused from Opus 4.7 on).
const ADAPTIVE: &[&str] = &[
    "opus-4-6",
    "opus-4.6",
    "opus-4-7",
    "opus-4.7",
    "opus-4-8",
    "opus-4.8",
    "sonnet-4-6",
    "sonnet-4.6",
];

/// Starts of the names of OpenAI's models that do not reason, and refuse to be asked for their
/// reasoning.
const NOT_REASONING: &[&str] = &["gpt-3.5", "gpt-4", "chatgpt-4o"];

pub(crate) fn guess(api: Api, base_url: &str, model: &str) -> Dialect {
    let base = match base_url.trim() {
        "" => api.default_base_url(),
        base => base,
    };
    let mut dialect = Url::parse(base)
        .ok()
        .and_then(|url| find(&url))
        .unwrap_or(PLAIN);
    if ADAPTIVE.iter().any(|part| model.contains(part)) {
        dialect.thinking_style = ThinkingStyle::Adaptive;
    }
    if NOT_REASONING.iter().any(|start| model.starts_with(start)) {
        dialect.encrypted_reasoning = false;
    }
    dialect
}

fn find(url: &Url) -> Option<Dialect> {
    let host = url.host_str()?;
    let local = address::is_loopback(url);
    PRESETS
        .iter()
        .find(|preset| {
            let known = preset.hosts.iter().any(|known| {
                host.strip_suffix(known)
                    .is_some_and(|left| left.is_empty() || left.ends_with('.'))
            });
            known || (local && preset.local_port.is_some() && preset.local_port == url.port())
        })
        .map(|preset| preset.dialect.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse() {
        let mut names: Vec<&str> = Dialect::presets().collect();
        for name in &names {
            assert!(name.parse::<Dialect>().is_ok(), "{name}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let error = "nobody".parse::<Dialect>().unwrap_err().to_string();
        assert!(error.contains("deepseek, moonshot"), "{error}");
    }

    #[test]
    fn the_host_decides_and_nothing_that_only_looks_like_it() {
        let echo = |base| guess(Api::OpenAiChat, base, "m").reasoning_echo;
        assert_eq!(
            echo("https://api.deepseek.com/v1"),
            ReasoningEcho::ReasoningContent
        );
        assert_eq!(
            echo("https://notapi.deepseek.com.example/v1"),
            ReasoningEcho::Off
        );
        assert_eq!(
            echo("http://127.0.0.1:8080/api.deepseek.com"),
            ReasoningEcho::Off
        );
        let role = |base| guess(Api::OpenAiChat, base, "m").system_role;
        assert_eq!(role(""), SystemRole::Developer);
        assert_eq!(role("http://localhost:11434"), SystemRole::System);
    }

    #[test]
    fn the_model_family_decides_how_thinking_is_told() {
        let style = |model| guess(Api::Anthropic, "", model).thinking_style;
        assert_eq!(style("claude-sonnet-4-5"), ThinkingStyle::Budget);
        assert_eq!(style("claude-opus-4-7"), ThinkingStyle::Adaptive);
    }

    #[test]
    fn a_dialect_in_a_file_names_only_what_differs_and_nothing_unknown() {
        let dialect: Dialect =
            serde_json::from_str(r#"{"system_role":"developer","stream_usage":false}"#).unwrap();
        assert_eq!(
            dialect,
            Dialect {
                system_role: SystemRole::Developer,
                stream_usage: false,
                ..PLAIN
            }
        );
        assert!(serde_json::from_str::<Dialect>(r#"{"streem_usage":false}"#).is_err());
    }
}
