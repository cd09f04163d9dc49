//! Files with hooks.

use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::hook::{Action, Hook};
use super::hook_event::{HookEvent, OnHookFailure};
use super::matcher::Matcher;
use crate::error::Error;

/// The most bytes of a file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The most hooks of a file.
const MAX_HOOKS: usize = 256;

/// How long a hook may run if its file does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a hook may run at most.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);

/// The hooks of one file: `{"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command",
/// "command": "…", "timeout": 60, "on_failure": "open"}]}]}}`.
///
/// That is the shape of the [hook files of Claude Code](https://code.claude.com/docs/en/hooks) and of
/// [codex](https://developers.openai.com/codex/hooks); `on_failure`, and the longest and the usual time are
/// ours. A whole `settings.json` of Claude Code is taken too: its other keys are ignored, but for
/// `disableAllHooks`. Events and kinds of hooks that are unknown here are told as
/// [warnings](Self::warnings); whatever else is wrong is an error, since a guard that is passed over
/// guards nothing.
///
/// A file is read up to 1 MiB and 256 hooks.
#[derive(Clone, Debug)]
pub struct HookFile {
    pub(super) path: Arc<Path>,
    pub(super) hooks: Vec<Hook>,
    pub(super) warnings: Vec<String>,
}

impl HookFile {
    /// Reads a file; `None` if there is none. [`Error::HookFile`] if it cannot be read or used, with line and
    /// column. Blocks.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref();
        let failed = |problem: String| Error::HookFile {
            path: path.to_owned(),
            problem,
        };
        let found = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|error| failed(error.to_string()))?,
        };
        // A pipe would keep whoever opens it waiting.
        if !found.is_file() {
            return Err(failed("it is not a file".to_owned()));
        }
        let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| failed(error.to_string()))?;
        Self::parse(path, &text).map(Some)
    }

    /// Takes the text of a file. The path is only what messages name it by.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, Error> {
        let path = path.as_ref();
        let failed = |problem: String| Error::HookFile {
            path: path.to_owned(),
            problem,
        };
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(failed(format!("it has more than {MAX_FILE_BYTES} bytes")));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root: Root = serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
        let mut file = Self {
            path: path.into(),
            hooks: Vec::new(),
            warnings: Vec::new(),
        };
        file.take_root(root);
        if file.hooks.len() > MAX_HOOKS {
            return Err(failed(format!("it has more than {MAX_HOOKS} hooks")));
        }
        Ok(file)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its hooks, in its order.
    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// What in it is not done, in words; each names the file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn warn(&mut self, what: impl fmt::Display) {
        self.warnings
            .push(format!("{}: {what}", self.path.display()));
    }

    fn take_root(&mut self, root: Root) {
        if root.disabled {
            if !root.hooks.groups.is_empty() {
                self.warn("its hooks are off, by `disableAllHooks`");
            }
            return;
        }
        for name in root.misplaced {
            self.warn(format_args!("`{name}` must be in `hooks`; it is ignored"));
        }
        for name in root.hooks.unknown {
            self.warn(format_args!(
                "there is no event `{name}` here; its hooks are ignored"
            ));
        }
        for (event, group) in root.hooks.groups {
            if !event.has_subject() && group.matcher.text() != "*" {
                self.warn(format_args!("{event} has no matcher; its hooks always run"));
            }
            for entry in group.hooks {
                self.take_entry(event, &group.matcher, entry);
            }
        }
    }

    fn take_entry(&mut self, event: HookEvent, matcher: &Matcher, entry: Entry) {
        let on_failure = match entry.own_on_failure() {
            Ok(on_failure) => on_failure,
            Err(word) => {
                self.warn(format_args!(
                    "{event}: `onFailure` knows no `{word}`; it is ignored"
                ));
                None
            }
        };
        let action = match entry.problem {
            None => Action::Run(entry.command),
            Some(problem) if on_failure == Some(OnHookFailure::Closed) => {
                self.warn(format_args!(
                    "{event}: {problem}; it always fails, and so blocks"
                ));
                Action::Fail(problem)
            }
            Some(problem) => {
                self.warn(format_args!("{event}: {problem}; it is ignored"));
                return;
            }
        };
        for key in entry.ignored {
            self.warn(format_args!("{event}: `{key}` of a hook is ignored"));
        }
        let mut timeout = entry.timeout.unwrap_or(DEFAULT_TIMEOUT);
        if timeout > MAX_TIMEOUT {
            timeout = MAX_TIMEOUT;
            self.warn(format_args!(
                "{event}: a hook may run {} s at most; `timeout` is in seconds",
                MAX_TIMEOUT.as_secs()
            ));
        }
        self.hooks.push(Hook {
            event,
            matcher: matcher.clone(),
            action,
            timeout,
            on_failure: on_failure.unwrap_or_else(|| event.on_failure()),
            file: Arc::clone(&self.path),
        });
    }
}

/// A whole file.
#[derive(Default)]
struct Root {
    hooks: Events,
    disabled: bool,
    /// Events that are not in `hooks`.
    misplaced: Vec<String>,
}

/// What is in `hooks`.
#[derive(Default)]
struct Events {
    groups: Vec<(HookEvent, Group)>,
    unknown: Vec<String>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: Matcher,
    #[serde(default)]
    hooks: Vec<Entry>,
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Root;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with `hooks`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Root, A::Error> {
                let mut root = Root::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "hooks" => {
                            let more: Events = map.next_value()?;
                            root.hooks.groups.extend(more.groups);
                            root.hooks.unknown.extend(more.unknown);
                        }
                        "disableAllHooks" => root.disabled = map.next_value()?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            if HookEvent::from_name(&key).is_some() {
                                root.misplaced.push(key);
                            }
                        }
                    }
                }
                Ok(root)
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Events;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of events")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Events, A::Error> {
                let mut events = Events::default();
                while let Some(key) = map.next_key::<String>()? {
                    if let Some(event) = HookEvent::from_name(&key) {
                        let groups: Vec<Group> = map.next_value()?;
                        let groups = groups.into_iter().map(|group| (event, group));
                        events.groups.extend(groups);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                        events.unknown.push(key);
                    }
                }
                Ok(events)
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

/// One hook, as it is written.
#[derive(Deserialize)]
struct Written {
    #[serde(default = "command_kind", rename = "type")]
    kind: String,
    command: Option<String>,
    timeout: Option<f64>,
    on_failure: Option<OnHookFailure>,
    /// Claude Code's word for it, since its version 2.1.295.
    #[serde(rename = "onFailure")]
    on_failure_there: Option<String>,
    args: Option<IgnoredAny>,
    #[serde(rename = "if")]
    condition: Option<IgnoredAny>,
    #[serde(rename = "async")]
    is_async: Option<IgnoredAny>,
    #[serde(rename = "asyncRewake")]
    async_rewake: Option<IgnoredAny>,
    once: Option<IgnoredAny>,
    shell: Option<IgnoredAny>,
}

fn command_kind() -> String {
    "command".to_owned()
}

/// One hook, looked through.
#[derive(Deserialize)]
#[serde(try_from = "Written")]
struct Entry {
    command: String,
    timeout: Option<Duration>,
    on_failure: Option<OnHookFailure>,
    on_failure_there: Option<String>,
    /// Why it cannot be run here.
    problem: Option<String>,
    ignored: Vec<&'static str>,
}

impl Entry {
    /// What the file says of its failure; `Err` with a word that is unknown.
    fn own_on_failure(&self) -> Result<Option<OnHookFailure>, String> {
        match (self.on_failure, self.on_failure_there.as_deref()) {
            (Some(own), _) => Ok(Some(own)),
            (None, None) => Ok(None),
            (None, Some("block")) => Ok(Some(OnHookFailure::Closed)),
            (None, Some(other)) => Err(other.to_owned()),
        }
    }
}

impl TryFrom<Written> for Entry {
    type Error = serde_json::Error;

    fn try_from(written: Written) -> Result<Self, serde_json::Error> {
        let wrong = |problem: &str| Err(serde_json::Error::custom(problem));
        let timeout = match written.timeout {
            None => None,
            Some(seconds) if seconds > 0.0 => {
                let seconds = Duration::try_from_secs_f64(seconds);
                Some(seconds.unwrap_or(Duration::MAX))
            }
            Some(_) => return wrong("`timeout` must be more than 0 seconds"),
        };
        let problem = if written.kind != "command" {
            Some(format!("a hook of type `{}` cannot be run", written.kind))
        } else if written.args.is_some() {
            Some("a hook with `args` cannot be run".to_owned())
        } else {
            None
        };
        let command = match (&problem, written.command) {
            (_, Some(command)) if command.contains('\0') => {
                return wrong("`command` has a NUL character");
            }
            (None, Some(command)) if command.trim().is_empty() => {
                return wrong("`command` is empty");
            }
            (None, None) => return wrong("a hook needs a `command`"),
            (_, command) => command.unwrap_or_default(),
        };
        let ignored = [
            (written.condition, "if"),
            (written.is_async, "async"),
            (written.async_rewake, "asyncRewake"),
            (written.once, "once"),
            (written.shell, "shell"),
        ];
        let ignored = ignored.into_iter().filter(|(found, _)| found.is_some());
        Ok(Self {
            command,
            timeout,
            on_failure: written.on_failure,
            on_failure_there: written.on_failure_there,
            problem,
            ignored: ignored.map(|(_, key)| key).collect(),
        })
    }
}
