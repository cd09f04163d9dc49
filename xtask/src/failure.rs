//! Why a step failed, in words for the closing table.

use std::fmt;

/// The reason that a step, or `xtask` itself, did not do its work.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(reason: impl Into<String>) -> Failure {
        Failure(reason.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<xshell::Error> for Failure {
    fn from(error: xshell::Error) -> Failure {
        Failure(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure(format!("cargo metadata did not answer in JSON: {error}"))
    }
}
