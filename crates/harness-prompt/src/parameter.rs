//! What a template may be given.

use serde_json::Value;

/// A variable that a template declares.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, as it stands in `{{name}}`.
    pub name: String,
    /// What it is for; shown to people who write a template of their own.
    pub description: String,
    /// Whether a rendering without a value for it is an error.
    pub required: bool,
    /// Its value where none, or `null`, is given. `None` for required parameters.
    pub default: Option<Value>,
}

impl Parameter {
    /// A parameter that has to be given.
    pub fn required(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            required: true,
            default: None,
        }
    }

    /// A parameter that has a value of its own where none is given.
    pub fn optional(
        name: impl Into<String>,
        description: impl Into<String>,
        default: impl Into<Value>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            required: false,
            default: Some(default.into()),
        }
    }
}
