//! The environment: the one module that reads variables, and the list of those it reads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use harness_core::Secret;
use harness_skills::MANAGED_FOLDER;

use crate::services::SERVICES;

/// `HARNESS_MODEL`: the model, as `PROVIDER/MODEL`.
pub(crate) const MODEL: &str = "HARNESS_MODEL";
/// `HARNESS_API`: the wire protocol.
pub(crate) const API: &str = "HARNESS_API";
/// `HARNESS_BASE_URL`: the service's address.
pub(crate) const BASE_URL: &str = "HARNESS_BASE_URL";
/// `HARNESS_API_KEY_ENV`: the name of the variable that holds the key.
pub(crate) const API_KEY_ENV: &str = "HARNESS_API_KEY_ENV";
/// `HARNESS_THINKING`: the thinking level.
pub(crate) const THINKING: &str = "HARNESS_THINKING";
/// `HARNESS_MAX_TURNS`: the most turns.
pub(crate) const MAX_TURNS: &str = "HARNESS_MAX_TURNS";
/// `HARNESS_TIMEOUT`: the most time.
pub(crate) const TIMEOUT: &str = "HARNESS_TIMEOUT";
/// `HARNESS_CA_FILE`: certificates to trust beside the system's.
pub(crate) const CA_FILE: &str = "HARNESS_CA_FILE";
/// `HARNESS_MANAGED_AGENTS`: where the owner of the machine puts declarations of agents.
pub(crate) const MANAGED_AGENTS: &str = "HARNESS_MANAGED_AGENTS";

/// Where that is unless something else is said.
const MANAGED_AGENTS_FOLDER: &str = "/etc/harness/agents";

/// `HARNESS_MANAGED_SKILLS`: where the owner of the machine puts skills.
pub(crate) const MANAGED_SKILLS: &str = "HARNESS_MANAGED_SKILLS";

/// `HARNESS_MANAGED_PERMISSIONS`: what the owner of the machine allows and forbids.
pub(crate) const MANAGED_PERMISSIONS: &str = "HARNESS_MANAGED_PERMISSIONS";

/// Where that stands unless the variable says otherwise.
const MANAGED_PERMISSIONS_FILE: &str = "/etc/harness/permissions.toml";

/// The variables of OpenTelemetry's specification. Of three, the first is for all that is sent, the others for
/// spans and for metrics alone.
pub(crate) mod otel {
    pub(crate) const DISABLED: &str = "OTEL_SDK_DISABLED";
    pub(crate) const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
    pub(crate) const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
    pub(crate) const PROPAGATORS: &str = "OTEL_PROPAGATORS";
    pub(crate) const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
    pub(crate) const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
    pub(crate) const BATCH_DELAY: &str = "OTEL_BSP_SCHEDULE_DELAY";
    pub(crate) const BATCH_QUEUE: &str = "OTEL_BSP_MAX_QUEUE_SIZE";
    pub(crate) const BATCH_SIZE: &str = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";
    pub(crate) const TRACES_EXPORTER: &str = "OTEL_TRACES_EXPORTER";
    pub(crate) const METRICS_EXPORTER: &str = "OTEL_METRICS_EXPORTER";
    pub(crate) const ENDPOINT: [&str; 3] = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    ];
    pub(crate) const PROTOCOL: [&str; 3] = [
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
    ];
    pub(crate) const HEADERS: [&str; 3] = [
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    ];
    pub(crate) const TIMEOUT: [&str; 3] = [
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
        "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
    ];
    pub(crate) const CERTIFICATE: [&str; 3] = [
        "OTEL_EXPORTER_OTLP_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
        "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE",
    ];
    pub(crate) const CAPTURE_CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
    pub(crate) const TRACEPARENT: &str = "TRACEPARENT";
    pub(crate) const TRACESTATE: &str = "TRACESTATE";
}

/// The variables that the program reads, each with what it is for; `harness doctor` lists those that
/// are set. Beside them it reads the variables that hold keys: see [`Environment::key`].
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    (MODEL, "the model, as PROVIDER/MODEL"),
    (
        API,
        "the wire protocol: openai-chat, openai-responses or anthropic",
    ),
    (BASE_URL, "the service's address"),
    (API_KEY_ENV, "the name of the variable that holds the key"),
    (THINKING, "the thinking level"),
    (MAX_TURNS, "the most turns of a run"),
    (TIMEOUT, "the most time of a run"),
    (
        CA_FILE,
        "a PEM file with certificates to trust beside the system's",
    ),
    (
        MANAGED_SKILLS,
        "the folder of the machine's own skills, instead of /etc/harness/skills",
    ),
    (
        MANAGED_AGENTS,
        "the folder of the machine's own agents, instead of /etc/harness/agents",
    ),
    (
        MANAGED_PERMISSIONS,
        "the file with the machine's own rules, instead of /etc/harness/permissions.toml",
    ),
    (
        "HOME",
        "the home folder: `~`, and where configuration is looked for",
    ),
    (
        "XDG_CONFIG_HOME",
        "where configuration is looked for, instead of ~/.config",
    ),
    (
        "XDG_DATA_HOME",
        "where sessions are kept, instead of ~/.local/share",
    ),
    (
        "XDG_STATE_HOME",
        "where records of runs are kept, instead of ~/.local/state",
    ),
    (
        "XDG_CACHE_HOME",
        "where fetched skills are kept, instead of ~/.cache",
    ),
    ("PATH", "where bash is looked for"),
    (
        "BASH_ENV",
        "a file that bash reads before each command of the `bash` tool",
    ),
    ("TMPDIR", "where temporary files go, instead of /tmp"),
    (
        "HTTP_PROXY",
        "the proxy for http addresses (also http_proxy)",
    ),
    (
        "HTTPS_PROXY",
        "the proxy for https addresses (also https_proxy)",
    ),
    ("ALL_PROXY", "the proxy for both (also all_proxy)"),
    (
        "NO_PROXY",
        "hosts that are reached directly (also no_proxy)",
    ),
    (otel::DISABLED, "true: nothing is sent to a collector"),
    (
        otel::SERVICE_NAME,
        "what this program is called there, instead of harness",
    ),
    (
        otel::RESOURCE,
        "what else is said of it there, as NAME=VALUE,…",
    ),
    (
        otel::PROPAGATORS,
        "tracecontext: services and commands are told where they are in the trace",
    ),
    (otel::SAMPLER, "which traces are sent"),
    (otel::SAMPLER_ARG, "which part of them"),
    (
        otel::BATCH_DELAY,
        "the longest time that a span waits to be sent, in ms",
    ),
    (otel::BATCH_QUEUE, "the most spans that wait to be sent"),
    (otel::BATCH_SIZE, "the most spans that are sent at once"),
    (otel::TRACES_EXPORTER, "otlp or none"),
    (otel::METRICS_EXPORTER, "otlp or none"),
    (
        otel::CAPTURE_CONTENT,
        "true: prompts, replies, arguments and results are in traces",
    ),
    (
        otel::TRACEPARENT,
        "the place in a trace that a run goes on from",
    ),
    (otel::TRACESTATE, "more of that"),
    (otel::ENDPOINT[0], "the collector's address"),
    (otel::ENDPOINT[1], "of spans: the collector's address"),
    (otel::ENDPOINT[2], "of metrics: the collector's address"),
    (otel::PROTOCOL[0], "http/protobuf, http/json or grpc"),
    (
        otel::PROTOCOL[1],
        "of spans: http/protobuf, http/json or grpc",
    ),
    (
        otel::PROTOCOL[2],
        "of metrics: http/protobuf, http/json or grpc",
    ),
    (
        otel::HEADERS[0],
        "what is sent along to the collector, which may be secret",
    ),
    (
        otel::HEADERS[1],
        "of spans: what is sent along to the collector, which may be secret",
    ),
    (
        otel::HEADERS[2],
        "of metrics: what is sent along to the collector, which may be secret",
    ),
    (
        otel::TIMEOUT[0],
        "the longest time that a batch takes, in ms",
    ),
    (
        otel::TIMEOUT[1],
        "of spans: the longest time that a batch takes, in ms",
    ),
    (
        otel::TIMEOUT[2],
        "of metrics: the longest time that a batch takes, in ms",
    ),
    (
        otel::CERTIFICATE[0],
        "a PEM file with a certificate to trust",
    ),
    (
        otel::CERTIFICATE[1],
        "of spans: a PEM file with a certificate to trust",
    ),
    (
        otel::CERTIFICATE[2],
        "of metrics: a PEM file with a certificate to trust",
    ),
    ("NO_COLOR", "set: no colours"),
    ("TERM", "`dumb`: no progress line"),
];

/// Variables by which a shell, or a command that is held to only read, does something else than its words say. They
/// are kept from commands, whose words are what is judged; and so are exported functions ([`FUNCTION`]).
const CHANGE_COMMANDS: [&str; 6] = [
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "GREP_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "SHELLOPTS",
];

/// How the variables begin in which bash exports functions.
const FUNCTION: &str = "BASH_FUNC_";

/// A look at the environment, taken once.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    variables: BTreeMap<&'static str, OsString>,
    /// Where keys are looked up.
    keys: fn(&str) -> Option<OsString>,
}

impl Environment {
    /// Reads the variables of [`VARIABLES`].
    pub(crate) fn read() -> Self {
        let mut variables = BTreeMap::new();
        for (name, _) in VARIABLES {
            let lower = name.ends_with("_PROXY").then(|| name.to_lowercase());
            // The small spelling wins for proxies, as curl has it.
            let value = lower
                .and_then(std::env::var_os)
                .or_else(|| std::env::var_os(name));
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                variables.insert(*name, value);
            }
        }
        Self {
            variables,
            keys: |name| std::env::var_os(name),
        }
    }

    /// One in which nothing is set.
    #[cfg(test)]
    pub(crate) fn bare() -> Self {
        Self {
            variables: BTreeMap::new(),
            keys: |_| None,
        }
    }

    /// A variable's text; `None` if it is not set, blank, or no Unicode.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let text = self.variables.get(name)?.to_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Whether a variable is set to anything.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// The home folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.variables
            .get("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute())
    }

    /// `PATH`.
    pub(crate) fn path(&self) -> Option<OsString> {
        self.variables.get("PATH").cloned()
    }

    /// The variables that change what the words of a command do.
    pub(crate) fn change_commands() -> impl Iterator<Item = OsString> {
        let is_function = |name: &OsString| name.to_string_lossy().starts_with(FUNCTION);
        let functions = std::env::vars_os()
            .map(|(name, _)| name)
            .filter(is_function);
        CHANGE_COMMANDS
            .into_iter()
            .map(OsString::from)
            .chain(functions)
    }

    /// The folders of `PATH`, without those that are relative, or in one of `folders`: there, `ls` could be anything.
    pub(crate) fn path_outside_of(&self, folders: &[&Path]) -> Vec<PathBuf> {
        let real = |path: &Path| path.ancestors().find_map(|it| it.canonicalize().ok());
        let folders: Vec<PathBuf> = folders.iter().filter_map(|it| real(it)).collect();
        let is_outside = |part: &PathBuf| {
            let is_in = |real: PathBuf| folders.iter().any(|folder| real.starts_with(folder));
            part.is_absolute() && !real(part).is_none_or(is_in)
        };
        let path = self.path().unwrap_or_default();
        std::env::split_paths(&path).filter(is_outside).collect()
    }

    /// `BASH_ENV`.
    pub(crate) fn bash_startup(&self) -> Option<OsString> {
        self.variables.get("BASH_ENV").cloned()
    }

    /// The folder for temporary files.
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        self.variables
            .get("TMPDIR")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// The folder of the user's configuration.
    pub(crate) fn config_folder(&self) -> Option<PathBuf> {
        self.base_folder("XDG_CONFIG_HOME", ".config")
    }

    /// The folder for what is kept from one run to the next.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        self.base_folder("XDG_STATE_HOME", ".local/state")
    }

    /// The folder for what the user would not want to lose.
    pub(crate) fn data_folder(&self) -> Option<PathBuf> {
        self.base_folder("XDG_DATA_HOME", ".local/share")
    }

    /// The folder for what can be fetched again.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.base_folder("XDG_CACHE_HOME", ".cache")
    }

    /// The folder of the skills that the owner of the machine wants.
    pub(crate) fn managed_skills(&self) -> PathBuf {
        self.folder(MANAGED_SKILLS)
            .unwrap_or_else(|| MANAGED_FOLDER.into())
    }

    /// The folder of the agents that the owner of the machine wants.
    pub(crate) fn managed_agents(&self) -> PathBuf {
        self.folder(MANAGED_AGENTS)
            .unwrap_or_else(|| MANAGED_AGENTS_FOLDER.into())
    }

    /// The file of what the owner of the machine allows and forbids.
    pub(crate) fn managed_permissions(&self) -> PathBuf {
        self.folder(MANAGED_PERMISSIONS)
            .unwrap_or_else(|| MANAGED_PERMISSIONS_FILE.into())
    }

    /// The program's own folder in one of the XDG base directories.
    fn base_folder(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let base = self.folder(variable);
        let base = base.or_else(|| self.home().map(|home| home.join(in_home)))?;
        Some(base.join("harness"))
    }

    /// The folder that a variable names. A `~` that no shell has expanded is the home; other relative paths
    /// are ignored, as the XDG base directory specification has it.
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        let folder = self.variables.get(variable)?;
        Some(self.expand_home(Path::new(folder))).filter(|folder| folder.is_absolute())
    }

    /// A path with the home folder in the place of a leading `~`.
    pub(crate) fn expand_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    /// The key that a variable holds.
    pub(crate) fn key(&self, variable: &str) -> Option<Secret> {
        let key = Secret::new((self.keys)(variable)?.into_string().ok()?);
        (!key.is_blank()).then_some(key)
    }

    /// The variables that hold keys of known services; children of the program do not get them.
    pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
        SERVICES.iter().filter_map(|service| service.key_variable)
    }
}
