//! The services that need no configuration.

use std::time::Duration;

use harness_providers::Api;

/// A service that is known by name.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    pub(crate) base_url: &'static str,
    /// The variable in which its key is usually kept; `None`: it takes none.
    pub(crate) key_variable: Option<&'static str>,
    /// The model to use when nobody chose one.
    pub(crate) default_model: Option<&'static str>,
}

/// In the order in which their keys are looked for when no model is configured. Local servers come
/// last, in the order in which their usual ports are asked.
pub(crate) const SERVICES: &[Service] = &[
    Service {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        key_variable: Some("ANTHROPIC_API_KEY"),
        default_model: Some("claude-sonnet-4-5"),
    },
    Service {
        name: "openai",
        api: Api::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        default_model: Some("gpt-5"),
    },
    Service {
        name: "openrouter",
        api: Api::OpenAiChat,
        base_url: "https://openrouter.ai/api/v1",
        key_variable: Some("OPENROUTER_API_KEY"),
        default_model: Some("anthropic/claude-sonnet-4.5"),
    },
    Service {
        name: "deepseek",
        api: Api::OpenAiChat,
        base_url: "https://api.deepseek.com/v1",
        key_variable: Some("DEEPSEEK_API_KEY"),
        default_model: Some("deepseek-chat"),
    },
    Service {
        name: "groq",
        api: Api::OpenAiChat,
        base_url: "https://api.groq.com/openai/v1",
        key_variable: Some("GROQ_API_KEY"),
        default_model: Some("openai/gpt-oss-120b"),
    },
    Service {
        name: "mistral",
        api: Api::OpenAiChat,
        base_url: "https://api.mistral.ai/v1",
        key_variable: Some("MISTRAL_API_KEY"),
        default_model: Some("devstral-medium-latest"),
    },
    Service {
        name: "ollama",
        api: Api::OpenAiChat,
        base_url: "http://127.0.0.1:11434/v1",
        key_variable: None,
        default_model: None,
    },
    Service {
        name: "lmstudio",
        api: Api::OpenAiChat,
        base_url: "http://127.0.0.1:1234/v1",
        key_variable: None,
        default_model: None,
    },
    Service {
        name: "llamacpp",
        api: Api::OpenAiChat,
        base_url: "http://127.0.0.1:8080/v1",
        key_variable: None,
        default_model: None,
    },
    Service {
        name: "vllm",
        api: Api::OpenAiChat,
        base_url: "http://127.0.0.1:8000/v1",
        key_variable: None,
        default_model: None,
    },
];

/// The service of that name.
pub(crate) fn service(name: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| service.name == name)
}

/// The servers that may run on this machine.
pub(crate) fn local() -> impl Iterator<Item = &'static Service> {
    SERVICES
        .iter()
        .filter(|service| service.base_url.starts_with("http://127.0.0.1:"))
}

/// The servers on this machine that are asked when nothing is configured.
#[derive(Debug)]
pub(crate) struct LocalServers {
    pub(crate) services: Vec<&'static Service>,
    /// How long all of them together are waited for.
    pub(crate) wait: Duration,
}

impl LocalServers {
    /// Those on their usual ports.
    pub(crate) fn usual() -> Self {
        Self {
            services: local().collect(),
            wait: Duration::from_millis(100),
        }
    }
}
