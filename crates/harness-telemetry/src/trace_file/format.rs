//! In which format a trace is written.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::error::TraceFileError;

/// In which format a trace is written. Reading finds it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceFormat {
    /// OTLP as JSON: for Jaeger, collectors and what else speaks OpenTelemetry.
    #[default]
    Otlp,
    /// Trace events: for Perfetto and `chrome://tracing`.
    Chrome,
}

/// The ends of names that stand for [`TraceFormat::Chrome`].
const CHROME: [&str; 3] = [".chrome.json", ".perfetto.json", ".trace"];

impl TraceFormat {
    /// The format that a file's name asks for: [`Chrome`](Self::Chrome) if it ends in `.chrome.json`,
    /// `.perfetto.json` or `.trace`, in small or large letters, else [`Otlp`](Self::Otlp).
    pub fn of_path(path: &Path) -> Self {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase());
        match name {
            Some(name) if CHROME.iter().any(|end| name.ends_with(end)) => Self::Chrome,
            _ => Self::Otlp,
        }
    }

    /// The word for it: `otlp`, `chrome`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Otlp => "otlp",
            Self::Chrome => "chrome",
        }
    }
}

impl FromStr for TraceFormat {
    type Err = TraceFileError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [Self::Otlp, Self::Chrome]
            .into_iter()
            .find(|format| format.word() == word)
            .ok_or_else(|| TraceFileError::UnknownFormat(word.to_owned()))
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
