//! What stands in a hook file: looked through, entry by entry.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::hook::{Action, Hook};
use super::hook_diagnostic::HookDiagnostic;
use super::hook_event::{HookEvent, OnHookFailure};
use super::hook_json::HookJson;
use super::hook_words::{EVENTS, FAILURES, FILE_KEYS, GROUP_KEYS, HOOK_KEYS, HookWords, TYPES};
use super::matcher::Matcher;

/// How long a hook may run if its file does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a hook may run at most.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);

/// How many diagnostics of one file are kept.
const MAX_DIAGNOSTICS: usize = 50;

/// How many places are named where the same is to be said of several.
const MAX_PLACES: usize = 3;

/// The file names of Claude Code's settings, in which most keys are not about hooks.
const SETTINGS_NAME: &str = "settings";

/// Reads the entries of one file, and keeps what is to be said of them.
pub(super) struct HookReader<'f> {
    file: &'f Arc<Path>,
    hooks: Vec<Hook>,
    diagnostics: Vec<HookDiagnostic>,
    /// Keys of others, and where they are.
    foreign: Vec<(String, Vec<String>)>,
    /// How many diagnostics were too many.
    left_out: usize,
}

/// One hook, as it is written.
#[derive(Default)]
struct Written {
    kind: Option<String>,
    command: Option<String>,
    timeout: Option<Duration>,
    on_failure: Option<OnHookFailure>,
    has_args: bool,
    problem: Option<String>,
}

impl<'f> HookReader<'f> {
    pub(super) fn new(file: &'f Arc<Path>) -> Self {
        Self {
            file,
            hooks: Vec::new(),
            diagnostics: Vec::new(),
            foreign: Vec::new(),
            left_out: 0,
        }
    }

    /// The hooks, and what is to be said.
    pub(super) fn finish(mut self) -> (Vec<Hook>, Vec<HookDiagnostic>) {
        for (key, places) in std::mem::take(&mut self.foreign) {
            let shown = places.iter().take(MAX_PLACES).cloned();
            let mut place = shown.collect::<Vec<_>>().join(", ");
            if let Some(more) = places
                .len()
                .checked_sub(MAX_PLACES)
                .filter(|more| *more > 0)
            {
                place = format!("{place} and {more} more");
            }
            let told = format!("`{key}` is not supported; it is ignored");
            self.say(false, &place, told);
        }
        if self.left_out > 0 {
            let told = format!("and {} more of the like", self.left_out);
            let more = HookDiagnostic::new(true, self.file, "", told);
            self.diagnostics.push(more);
        }
        (self.hooks, self.diagnostics)
    }

    fn say(&mut self, is_warning: bool, place: &str, text: impl fmt::Display) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            let text = text.to_string();
            let said = HookDiagnostic::new(is_warning, self.file, place, text);
            self.diagnostics.push(said);
        } else {
            self.left_out += 1;
        }
    }

    fn warn(&mut self, place: &str, text: impl fmt::Display) {
        self.say(true, place, text);
    }

    /// Reads a whole file. `Err` if it is not one of hooks.
    pub(super) fn take_file(&mut self, file: HookJson) -> Result<(), String> {
        let HookJson::Object(keys) = file else {
            return Err("it is not an object with `hooks`".to_owned());
        };
        let name = self.file.file_name().unwrap_or_default();
        let is_settings = name.to_string_lossy().starts_with(SETTINGS_NAME);
        let mut is_off = false;
        let mut events = Vec::new();
        for (key, value) in keys {
            match (key.as_str(), value) {
                ("hooks", HookJson::Object(more)) => events.extend(more),
                ("hooks", HookJson::Null) => {}
                ("hooks", _) => return Err("`hooks` is not an object of events".to_owned()),
                ("disableAllHooks", HookJson::Bool(off)) => is_off = off,
                ("disableAllHooks", _) => {
                    self.warn(
                        "",
                        "`disableAllHooks` is neither true nor false; it is ignored",
                    );
                }
                // What it was to forbid would be let through.
                (name, _) if EVENTS.has(name) => {
                    return Err(format!("`{name}` must be in `hooks`"));
                }
                // Whatever else is in settings is not about hooks.
                (name, _) if !FILE_KEYS.is_foreign(name) => {
                    let near = FILE_KEYS.near(name).or_else(|| EVENTS.near(name));
                    if near.is_some() || !is_settings {
                        self.unknown("", "a hook file", name, &FILE_KEYS);
                    }
                }
                _ => {}
            }
        }
        if is_off {
            if !events.is_empty() {
                self.warn("", "its hooks are off, by `disableAllHooks`");
            }
            return Ok(());
        }
        for (name, groups) in events {
            self.take_event(&name, groups);
        }
        Ok(())
    }

    /// Tells of a key that is not known.
    fn unknown(&mut self, place: &str, of: &str, key: &str, words: &HookWords) {
        if words.is_foreign(key) {
            let known = self.foreign.iter_mut().find(|(known, _)| known == key);
            match known {
                Some((_, places)) => places.push(place.to_owned()),
                None => self.foreign.push((key.to_owned(), vec![place.to_owned()])),
            }
            return;
        }
        let meant = words.question(key);
        let told = format!("`{key}` is no key of {of}, and is ignored{meant}");
        self.warn(place, told);
    }

    fn take_event(&mut self, name: &str, groups: HookJson) {
        let Some(event) = HookEvent::from_name(name) else {
            if EVENTS.is_foreign(name) {
                self.say(
                    false,
                    name,
                    "this event is not supported; its hooks are ignored",
                );
            } else {
                let meant = EVENTS.question(name);
                let told = format!("there is no such event, and its hooks never run{meant}");
                self.warn(name, told);
            }
            return;
        };
        let HookJson::List(groups) = groups else {
            let problem = "it is not a list of groups";
            self.unreadable(event, &Matcher::default(), None, name, problem);
            return;
        };
        for (index, group) in groups.into_iter().enumerate() {
            self.take_group(event, &format!("{name}[{index}]"), group);
        }
    }

    fn take_group(&mut self, event: HookEvent, place: &str, group: HookJson) {
        let HookJson::Object(keys) = group else {
            let problem = "it is not a group: an object with `hooks`";
            self.unreadable(event, &Matcher::default(), None, place, problem);
            return;
        };
        let mut matcher = Ok(Matcher::default());
        let mut hooks = None;
        let mut problem = None;
        let mut is_hook = false;
        for (key, value) in keys {
            match (key.as_str(), value) {
                ("matcher", HookJson::Text(text)) => matcher = Matcher::new(&text),
                ("matcher", HookJson::Null) => {}
                ("matcher", _) => matcher = Err("its `matcher` is not a text".to_owned()),
                ("hooks", HookJson::List(more)) => {
                    hooks.get_or_insert_with(Vec::new).extend(more);
                }
                ("hooks", _) => problem = Some("its `hooks` are not a list".to_owned()),
                (key @ ("type" | "command"), _) => {
                    is_hook = true;
                    let told = format!(
                        "`{key}` is a key of a hook, which must be in the `hooks` of a group"
                    );
                    self.warn(place, told);
                }
                (key, _) => self.unknown(place, "a group", key, &GROUP_KEYS),
            }
        }
        let (matcher, problem) = match matcher {
            Ok(matcher) => (matcher, problem),
            // For which tools it was is not known: for all.
            Err(wrong) => (Matcher::default(), Some(wrong)),
        };
        let problem = match (&hooks, problem) {
            (_, Some(problem)) => Some(problem),
            (None, None) if is_hook => Some("a hook stands where a group must be".to_owned()),
            (None, None) => Some("it has no `hooks`".to_owned()),
            (Some(_), None) => None,
        };
        if let Some(problem) = problem {
            self.unreadable(event, &matcher, None, place, &problem);
            return;
        }
        if !event.has_subject() && matcher.text() != "*" {
            let told = format!("{event} has no matcher; its hooks always run");
            self.warn(place, told);
        }
        for (index, hook) in hooks.unwrap_or_default().into_iter().enumerate() {
            self.take_hook(event, &matcher, &format!("{place}.hooks[{index}]"), hook);
        }
    }

    fn take_hook(&mut self, event: HookEvent, matcher: &Matcher, place: &str, hook: HookJson) {
        let HookJson::Object(keys) = hook else {
            let problem = "it is not a hook: an object with a `command`";
            self.unreadable(event, matcher, None, place, problem);
            return;
        };
        let written = self.read_hook(place, keys);
        let own = written.on_failure;
        let kind = written.kind.as_deref().unwrap_or("command");
        let unsupported = if TYPES.is_foreign(kind) {
            Some(format!("a hook of type `{kind}` is not supported"))
        } else if written.has_args {
            Some("a hook with `args` is not supported".to_owned())
        } else {
            None
        };
        if let Some(problem) = unsupported {
            self.unsupported(event, matcher, own, place, &problem);
            return;
        }
        let command = written.command.unwrap_or_default();
        let problem = if let Some(problem) = written.problem {
            Some(problem)
        } else if !TYPES.has(kind) {
            let meant = TYPES.question(kind);
            Some(format!("there is no type `{kind}` of hooks{meant}"))
        } else if command.trim().is_empty() {
            Some("it has no `command`".to_owned())
        } else if command.contains('\0') {
            Some("its `command` has a NUL character".to_owned())
        } else {
            None
        };
        if let Some(problem) = problem {
            self.unreadable(event, matcher, own, place, &problem);
            return;
        }
        let mut timeout = written.timeout.unwrap_or(DEFAULT_TIMEOUT);
        if timeout > MAX_TIMEOUT {
            timeout = MAX_TIMEOUT;
            let told = format!(
                "a hook may run {} s at most; `timeout` is in seconds",
                MAX_TIMEOUT.as_secs()
            );
            self.warn(place, told);
        }
        let on_failure = own.unwrap_or_else(|| event.on_failure());
        let action = Action::Run(command);
        self.push(event, matcher, action, timeout, on_failure, place);
    }

    /// The keys of a hook. What is wrong with one that the command can be run without is told.
    fn read_hook(&mut self, place: &str, keys: Vec<(String, HookJson)>) -> Written {
        let mut written = Written::default();
        let kind = keys.iter().find_map(|(key, value)| match value {
            HookJson::Text(kind) if key == "type" => Some(kind.clone()),
            _ => None,
        });
        // A hook of a kind that is not supported has keys of its own.
        let is_told = !kind.as_deref().is_some_and(|kind| TYPES.is_foreign(kind));
        for (key, value) in keys {
            match (key.as_str(), value) {
                ("type", HookJson::Text(kind)) => written.kind = Some(kind),
                ("command", HookJson::Text(command)) => written.command = Some(command),
                (key @ ("type" | "command"), _) => {
                    written.problem = Some(format!("its `{key}` is not a text"));
                }
                ("timeout" | "on_failure" | "onFailure", HookJson::Null) => {}
                ("timeout", HookJson::Number(seconds)) if seconds > 0.0 => {
                    let time = Duration::try_from_secs_f64(seconds);
                    written.timeout = Some(time.unwrap_or(Duration::MAX));
                }
                ("timeout", _) => {
                    let told = format!(
                        "`timeout` must be a number of seconds above 0; it is {} s",
                        DEFAULT_TIMEOUT.as_secs()
                    );
                    self.warn(place, told);
                }
                (key @ ("on_failure" | "onFailure"), value) => {
                    let word = match &value {
                        HookJson::Text(word) => word.as_str(),
                        _ => "",
                    };
                    match word {
                        "open" | "continue" => written.on_failure = Some(OnHookFailure::Open),
                        "closed" | "block" => written.on_failure = Some(OnHookFailure::Closed),
                        word => {
                            let meant = FAILURES.question(word);
                            let told = format!(
                                "`{key}` must be `open` or `closed`; what is there is ignored{meant}"
                            );
                            self.warn(place, told);
                        }
                    }
                }
                ("args", _) => written.has_args = true,
                (key, _) if is_told => self.unknown(place, "a hook", key, &HOOK_KEYS),
                _ => {}
            }
        }
        written
    }

    /// A hook of another agent's: ignored, unless it says that it blocks if it fails.
    fn unsupported(
        &mut self,
        event: HookEvent,
        matcher: &Matcher,
        own: Option<OnHookFailure>,
        place: &str,
        problem: &str,
    ) {
        if own == Some(OnHookFailure::Closed) {
            self.unreadable(event, matcher, own, place, problem);
        } else {
            // Something that was to deny is off.
            let is_guard = event.on_failure() == OnHookFailure::Closed;
            self.say(is_guard, place, format!("{problem}; it is ignored"));
        }
    }

    /// An entry of which it is not known what it was to do: it fails whenever it is asked, where that blocks.
    fn unreadable(
        &mut self,
        event: HookEvent,
        matcher: &Matcher,
        own: Option<OnHookFailure>,
        place: &str,
        problem: &str,
    ) {
        let on_failure = own.unwrap_or_else(|| event.on_failure());
        if on_failure == OnHookFailure::Open {
            self.warn(place, format_args!("{problem}; it is ignored"));
            return;
        }
        let what = match event {
            HookEvent::PreToolUse => "every call that it is for is refused",
            HookEvent::UserPromptSubmit => "every prompt is refused",
            _ => "it always fails, and so blocks",
        };
        self.warn(
            place,
            format_args!("{problem}; until that is mended, {what}"),
        );
        let action = Action::Fail(problem.to_owned());
        self.push(event, matcher, action, DEFAULT_TIMEOUT, on_failure, place);
    }

    fn push(
        &mut self,
        event: HookEvent,
        matcher: &Matcher,
        action: Action,
        timeout: Duration,
        on_failure: OnHookFailure,
        place: &str,
    ) {
        self.hooks.push(Hook {
            event,
            matcher: matcher.clone(),
            action,
            timeout,
            on_failure,
            file: Arc::clone(self.file),
            place: place.to_owned(),
        });
    }
}
