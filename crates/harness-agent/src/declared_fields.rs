//! From the fields of a file to those of a declaration. What cannot be read makes the declaration invalid: to leave
//! a bound out would make the agent more than its author meant it to be.

use std::time::Duration;

use harness_core::ThinkingLevel;
use harness_skills::{Code, Diagnostic, Identity, Node, Position, Severity, SkillFields};

use crate::agent_declaration::Isolation;
use crate::foreign_tool::ForeignTool;

const FIELD_TYPE: Code = Code::new("FIELD-TYPE");
const FIELD_VALUE: Code = Code::new("FIELD-VALUE");
const TOOL_NAME: Code = Code::new("TOOL-NAME");
const DUP_KEY: Code = Code::new("DUP-KEY");
const KEY_SPELLING: Code = Code::new("KEY-SPELLING");
const UNKNOWN_FIELD: Code = Code::new("UNKNOWN-FIELD");

/// The most characters of a name or a value in a message.
const SHOWN: usize = 60;

/// Our fields, as they are documented.
const FIELDS: [&str; 10] = [
    "tools",
    "disallowed_tools",
    "model",
    "thinking",
    "skills",
    "max_turns",
    "max_tokens",
    "max_cost",
    "timeout",
    "isolation",
];

/// Those that bound nothing: a file in which they are misspelt is no more than its author meant it to be.
const HARMLESS: [&str; 2] = ["model", "thinking"];

/// Fields of Claude Code's files, and what people write into any file. Nothing comes of them here.
const PASSED_OVER: [&str; 17] = [
    "author",
    "background",
    "category",
    "color",
    "description",
    "effort",
    "hooks",
    "initialprompt",
    "license",
    "mcpservers",
    "memory",
    "metadata",
    "name",
    "permissionmode",
    "tags",
    "title",
    "version",
];

/// What a file declares beyond name, description and role.
#[derive(Debug, Default)]
pub(crate) struct DeclaredFields {
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) disallowed_tools: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) skills: Option<Vec<String>>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) max_cost: Option<f64>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) isolation: Isolation,
}

/// One value, and whose it is.
struct Field<'f> {
    /// Its documented name.
    name: &'static str,
    /// Its name in the file.
    key: &'f str,
    value: &'f Node,
}

impl DeclaredFields {
    /// The fields, with what there is to say of them; with an error among it, they are not to be used.
    pub(crate) fn read(fields: &SkillFields) -> (Self, Vec<Diagnostic>) {
        let mut read = Self::default();
        let mut told = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for entry in &fields.extra {
            let key = entry.key.text.as_str();
            let at = entry.key.position;
            let plain = plain(key);
            // What skills call their tools.
            let is_skills_own = plain == "allowedtools";
            let name = FIELDS
                .into_iter()
                .find(|name| self::plain(name) == plain)
                .or(is_skills_own.then_some("tools"));
            let Some(name) = name else {
                if !PASSED_OVER.contains(&plain.as_str()) {
                    told.push(unknown(key, at));
                }
                continue;
            };
            if seen.contains(&name) {
                let message = format!("`{name}` is there twice");
                told.push(error(DUP_KEY, message, at, key));
                continue;
            }
            seen.push(name);
            if is_skills_own {
                let message = format!("`{}` is read as `tools`", shown(key));
                let note = Diagnostic::new(KEY_SPELLING, Severity::Warning, message);
                told.push(note.at(at).for_key(key));
            }
            let field = Field {
                name,
                key,
                value: &entry.value,
            };
            if let Err(problem) = read.take(&field) {
                told.push(*problem);
            }
        }
        (read, told)
    }

    /// What there is to say of the fields of a file.
    pub(crate) fn check(fields: &SkillFields) -> Vec<Diagnostic> {
        Self::read(fields).1
    }

    fn take(&mut self, field: &Field<'_>) -> Result<(), Box<Diagnostic>> {
        match field.name {
            "tools" => self.tools = field.tools()?,
            "disallowed_tools" => {
                // Of everything, nothing is left.
                match field.tools()? {
                    Some(tools) => self.disallowed_tools = tools,
                    None => return Err(field.wrong("write `tools: []` for no tools at all")),
                }
            }
            "model" => {
                let text = field.text_or_nothing("a text")?;
                self.model = text.filter(|text| !is_inherited(text)).map(str::to_owned);
            }
            "thinking" => {
                let text = field.text_or_nothing("a text")?;
                let level = text.filter(|text| !is_inherited(text));
                let level = level.map(|text| text.to_ascii_lowercase().parse());
                self.thinking = level
                    .transpose()
                    .map_err(|problem: String| field.wrong(problem))?;
            }
            "skills" => self.skills = Some(field.words(|c| c == ',')?),
            "max_turns" => self.max_turns = Some(field.whole_number()?),
            "max_tokens" => self.max_tokens = Some(field.whole_number()?),
            "max_cost" => {
                let cost = field.text("a sum in US dollars, such as 0.50")?;
                let cost = cost.parse().ok().filter(|cost: &f64| {
                    // A sum without end is no bound.
                    cost.is_finite() && *cost > 0.0
                });
                let what = "it has to be a sum in US dollars of more than 0, such as 0.50";
                self.max_cost = Some(cost.ok_or_else(|| field.wrong(what))?);
            }
            "timeout" => self.timeout = Some(field.duration()?),
            _ => {
                let text = field.text("`none` or `worktree`")?;
                let kinds = Isolation::ALL.into_iter();
                let mut kinds = kinds.filter(|kind| text.eq_ignore_ascii_case(kind.as_str()));
                let what = "it has to be `none` or `worktree`";
                self.isolation = kinds.next().ok_or_else(|| field.wrong(what))?;
            }
        }
        Ok(())
    }
}

impl<'f> Field<'f> {
    fn error(&self, code: Code, message: String) -> Box<Diagnostic> {
        Box::new(error(code, message, self.value.position(), self.key))
    }

    /// A value that is none of those that there may be.
    fn wrong(&self, problem: impl Into<String>) -> Box<Diagnostic> {
        let problem: String = problem.into();
        self.error(FIELD_VALUE, format!("`{}`: {problem}", shown(self.key)))
    }

    fn type_of(&self, what: &str) -> Box<Diagnostic> {
        let message = format!(
            "`{}` has to be {what}, but is {}",
            shown(self.key),
            self.value.kind()
        );
        self.error(FIELD_TYPE, message)
            .with_hint("leave it out if there is nothing to say")
            .into()
    }

    /// A text that says something.
    fn text(&self, what: &str) -> Result<&'f str, Box<Diagnostic>> {
        self.text_or_nothing(what)?
            .ok_or_else(|| self.type_of(what))
    }

    /// The same; also `None` if nothing stands there.
    fn text_or_nothing(&self, what: &str) -> Result<Option<&'f str>, Box<Diagnostic>> {
        match self.value {
            Node::Scalar(scalar) if scalar.is_null() => Ok(None),
            Node::Scalar(scalar) if scalar.text.trim().contains(char::is_control) => {
                Err(self.wrong("it has more than one line, or control characters"))
            }
            Node::Scalar(scalar) => Ok(Some(scalar.text.trim()).filter(|text| !text.is_empty())),
            _ => Err(self.type_of(what)),
        }
    }

    /// Several words: a list of texts, or one text that is split.
    fn words(&self, splits: fn(char) -> bool) -> Result<Vec<String>, Box<Diagnostic>> {
        const WHAT: &str = "a list of names, or one text with commas between them";
        let mut words: Vec<&str> = Vec::new();
        if let Node::List(list) = self.value {
            for item in &list.items {
                let text = match item {
                    Node::Scalar(scalar) if !scalar.is_null() => scalar.text.trim(),
                    _ => "",
                };
                if text.is_empty() {
                    let message = format!("an item of `{}` is {}", shown(self.key), item.kind());
                    return Err(error(FIELD_TYPE, message, item.position(), self.key).into());
                }
                if text.contains(char::is_control) {
                    return Err(self.wrong("a name has more than one line, or control characters"));
                }
                words.push(text);
            }
        } else {
            let text = self.text(WHAT)?;
            let parts = text.split(splits).map(str::trim);
            words.extend(parts.filter(|word| !word.is_empty()));
            if words.is_empty() {
                return Err(self.type_of(WHAT));
            }
        }
        Ok(words.into_iter().map(str::to_owned).collect())
    }

    /// Tools by our names; `None` for all, which `*` says.
    fn tools(&self) -> Result<Option<Vec<String>>, Box<Diagnostic>> {
        let words = self.words(|c| c == ',' || c.is_whitespace())?;
        if words == ["*"] {
            return Ok(None);
        }
        let mut tools: Vec<String> = Vec::with_capacity(words.len());
        for word in words {
            let is_plain = word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'));
            if !is_plain {
                let message = format!("`{}` is no name of a tool", shown(&word));
                let hint =
                    "name the whole tool: what it may do in detail is for the permissions to say";
                return Err(self.error(TOOL_NAME, message).with_hint(hint).into());
            }
            let ours = ForeignTool::ours_of(&word);
            let names = if ours.is_empty() {
                vec![word]
            } else {
                ours.into_iter().map(str::to_owned).collect()
            };
            for name in names {
                if !tools.contains(&name) {
                    tools.push(name);
                }
            }
        }
        Ok(Some(tools))
    }

    /// A number of at least 1; `_` may part its digits.
    fn whole_number<N: std::str::FromStr + From<u8> + PartialOrd>(
        &self,
    ) -> Result<N, Box<Diagnostic>> {
        const WHAT: &str = "a whole number of at least 1";
        let digits = self.text(WHAT)?.replace('_', "");
        let number = digits.parse::<N>().ok();
        let number = number.filter(|number| *number >= N::from(1));
        number.ok_or_else(|| self.wrong(format!("it has to be {WHAT}")))
    }

    /// `90s`, `10m`, `1h30m`; a bare number counts seconds.
    fn duration(&self) -> Result<Duration, Box<Diagnostic>> {
        const WHAT: &str = "a time such as 90s, 10m or 1h30m";
        let text = self.text(WHAT)?;
        let duration = match text.parse() {
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) => humantime::parse_duration(text).ok(),
        };
        let duration = duration.filter(|duration| !duration.is_zero());
        duration.ok_or_else(|| self.wrong(format!("it has to be {WHAT}, and more than 0")))
    }
}

/// A key without case and without what parts its words: `max_turns`, `maxTurns`, `max-turns`.
fn plain(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

fn is_inherited(text: &str) -> bool {
    text.eq_ignore_ascii_case("inherit")
}

/// A field that nobody reads. If it reads like a bound, the author meant one.
fn unknown(key: &str, at: Position) -> Diagnostic {
    let plain = Identity::of(&plain(key));
    let plains = FIELDS.iter().map(|name| self::plain(name));
    // Of those that are like it, the one of nearest length: `tool` is in `disallowed_tools`, too.
    let length = plain.as_str().len();
    let near = plain.near(plains).into_iter();
    let near = near.min_by_key(|name| name.len().abs_diff(length));
    let near = near.and_then(|near| FIELDS.into_iter().find(|name| self::plain(name) == near));
    let severity = match near {
        Some(near) if !HARMLESS.contains(&near) => Severity::Error,
        _ => Severity::Warning,
    };
    let message = format!("there is no field `{}`", shown(key));
    let told = Diagnostic::new(UNKNOWN_FIELD, severity, message);
    let told = told.at(at).for_key(key);
    match near {
        Some(near) => told.with_hint(format!("did you mean `{near}`?")),
        None => told.with_hint("it is passed over"),
    }
}

fn error(code: Code, message: String, at: Position, key: &str) -> Diagnostic {
    Diagnostic::new(code, Severity::Error, message)
        .at(at)
        .for_key(key)
}

/// A text of a file in a message: short, and without what a terminal acts on.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(SHOWN).collect();
    text.escape_debug().to_string()
}
