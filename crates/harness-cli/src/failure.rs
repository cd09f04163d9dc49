//! What is told to a person when something is wrong: the error, and what to do about it.

use std::process::ExitCode;

/// Exit statuses, as the README promises them to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The run finished.
    Finished,
    /// The run failed.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// A limit ended the run.
    Limit,
    /// What was asked about would be asked about.
    Asked,
    /// It would be refused.
    Denied,
    /// A signal ended the run: 128 + its number.
    Signal(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Finished => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Limit => 3,
            Exit::Asked => 4,
            Exit::Denied => 5,
            Exit::Signal(number) => 128 + number,
        })
    }
}

/// An error before a run began, or after it: one line, and a hint.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The kind, as a word, for JSON.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// Wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            kind: "usage",
            message: message.into(),
            hint: None,
        }
    }

    /// Wrong configuration.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            kind: "configuration",
            message: message.into(),
            hint: None,
        }
    }

    /// Something that was asked for failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            kind: "failed",
            message: message.into(),
            hint: None,
        }
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What else can be done about it.
    pub(crate) fn also(mut self, hint: &str) -> Self {
        self.hint = Some(match self.hint {
            Some(first) => format!("{first}; {hint}"),
            None => hint.to_owned(),
        });
        self
    }

    /// Adds what else is to be known of it.
    pub(crate) fn about(mut self, note: &str) -> Self {
        self.message = format!("{} ({note})", self.message);
        self
    }

    /// As one line of JSON, for `--output json`.
    pub(crate) fn json(&self) -> String {
        serde_json::json!({
            "type": "error",
            "kind": self.kind,
            "message": self.message,
            "hint": self.hint,
        })
        .to_string()
    }

    /// As text for standard error: one line, the hint on the same line.
    pub(crate) fn text(&self) -> String {
        let message = crate::terminal::one_line(&self.message);
        match &self.hint {
            Some(hint) => format!("error: {message}; {}", crate::terminal::one_line(hint)),
            None => format!("error: {message}"),
        }
    }
}
