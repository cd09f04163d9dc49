//! What a template may be given.

use serde_json::{Map, Value};

use crate::guard::kind;

/// A variable that a template declares.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, as it stands in `{{name}}`.
    pub name: String,
    /// What it is for; shown to people who write a template of their own.
    pub description: String,
    /// What values it takes.
    pub kind: ParameterKind,
    /// Whether a rendering without a value for it is an error.
    pub required: bool,
    /// Its value where none, or `null`, is given. `None` for required parameters.
    pub default: Option<Value>,
}

/// What values a parameter takes. Another kind of value is an
/// [`Error::WrongKind`](crate::Error::WrongKind) before anything is rendered.
///
/// What a template gives to a partial by name is not held against the partial's kinds: those are of the
/// values that come from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A string.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list, of anything.
    List,
    /// Named values.
    Object,
    /// Anything.
    #[default]
    Any,
}

impl Parameter {
    /// A parameter that has to be given, of any kind.
    pub fn required(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            kind: ParameterKind::Any,
            required: true,
            default: None,
        }
    }

    /// A parameter of any kind that has a value of its own where none is given.
    pub fn optional(
        name: impl Into<String>,
        description: impl Into<String>,
        default: impl Into<Value>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            kind: ParameterKind::Any,
            required: false,
            default: Some(default.into()),
        }
    }

    /// The same parameter, for values of that kind only.
    pub fn of_kind(mut self, kind: ParameterKind) -> Self {
        self.kind = kind;
        self
    }
}

impl ParameterKind {
    /// Its name, as frontmatter has it: `text`, `number`, `boolean`, `list`, `object`, `any`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    /// The kind of that name, as it stands in a template file: `text`, `number`, `boolean`, `list`,
    /// `object`, `any`; `string` is `text`, and `bool` is `boolean`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "text" | "string" => Self::Text,
            "number" => Self::Number,
            "boolean" | "bool" => Self::Boolean,
            "list" => Self::List,
            "object" => Self::Object,
            "any" => Self::Any,
            _ => return None,
        })
    }

    /// Whether `value` is of this kind.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::Any => true,
        }
    }

    /// What stands for "nothing was given": false in an `{{#if}}`, and no error where it is written.
    pub(crate) fn nothing(self) -> Value {
        match self {
            Self::Text | Self::Any => Value::String(String::new()),
            Self::Number => Value::Null,
            Self::Boolean => Value::Bool(false),
            Self::List => Value::Array(Vec::new()),
            Self::Object => Value::Object(Map::new()),
        }
    }

    /// Its name in errors, with its article.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::List => "a list",
            Self::Object => "an object",
            Self::Any => "anything",
        }
    }

    /// What is wrong with `value`: what is wanted and what was found.
    pub(crate) fn mismatch(self, value: &Value) -> Option<(&'static str, &'static str)> {
        (!self.accepts(value)).then(|| (self.wanted(), kind(value)))
    }
}
