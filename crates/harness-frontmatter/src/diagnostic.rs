//! Findings, as they are shown to people.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use crate::code::Code;
use crate::position::Position;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// It was read, and is not as it should be.
    Warning,
    /// It was not read.
    Error,
}

impl Severity {
    /// `I`, `W` or `E`.
    pub fn letter(self) -> char {
        match self {
            Self::Info => 'I',
            Self::Warning => 'W',
            Self::Error => 'E',
        }
    }

    /// `info`, `warning` or `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A finding in a file.
///
/// It is shown as `skills/a/SKILL.md:3:14: E-YAML: what is wrong`, without the parts that are not
/// known, and with the hint in a line of its own. What would act on a terminal is shown escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub path: Option<PathBuf>,
    /// The place in the file.
    pub position: Option<Position>,
    /// The field that it is about.
    pub key: Option<String>,
    /// What is wrong, without the place.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            path: None,
            position: None,
            key: None,
            message: message.into(),
            hint: None,
        }
    }

    /// The same at a place in its file.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    /// The same in a file.
    #[must_use]
    pub fn in_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same about a field.
    #[must_use]
    pub fn for_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The letter of the severity and the code: `E-YAML`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.severity.letter(), self.code)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            escaped(f, &path.to_string_lossy())?;
            f.write_char(':')?;
        }
        if let Some(position) = self.position {
            write!(f, "{}:{}:", position.line, position.column)?;
        }
        if self.path.is_some() || self.position.is_some() {
            f.write_char(' ')?;
        }
        write!(f, "{}-{}: ", self.severity.letter(), self.code)?;
        escaped(f, &self.message)?;
        if let Some(hint) = &self.hint {
            f.write_str("\n  hint: ")?;
            escaped(f, hint)?;
        }
        Ok(())
    }
}

/// Writes `text` with escapes for what acts on a terminal, or hides or turns what stands beside it.
fn escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if acts(c) {
            write!(f, "{}", c.escape_default())?;
        } else {
            f.write_char(c)?;
        }
    }
    Ok(())
}

/// Control characters, ends of lines, and characters without a shape or that turn the direction.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}
