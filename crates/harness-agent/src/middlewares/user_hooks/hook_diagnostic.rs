//! What is to be known of a hook file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Something in a hook file that is not done as it is written. Displays as one line: file, place and what it
/// is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookDiagnostic {
    file: Arc<Path>,
    place: String,
    text: String,
    is_warning: bool,
}

impl HookDiagnostic {
    pub(super) fn new(
        is_warning: bool,
        file: &Arc<Path>,
        place: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            file: Arc::clone(file),
            place: place.into(),
            text: text.into(),
            is_warning,
        }
    }

    /// Whether it is a mistake in all likelihood, or switches something off that was to deny. What else there
    /// is are notes: what other agents have and this one does not.
    pub fn is_warning(&self) -> bool {
        self.is_warning
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where in the file, as `PreToolUse[0].hooks[1]`, counted from 0; empty for the file as a whole.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What it is, in words.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for HookDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.text)
    }
}
