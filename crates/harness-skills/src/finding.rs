//! Something found in a file, for both kinds of readers.

use harness_frontmatter::{Code, Diagnostic, Error, Position, Severity};

use crate::rule::Rule;

/// How many findings of a kind are told of one file.
const MOST: usize = 5;

/// Something found in a file, with what a strict and a lenient reader make of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind.
    pub code: Code,
    /// How bad it is for `validate`. `None`: it says nothing.
    pub strict: Option<Severity>,
    /// How bad it is for `load`. `None`: it says nothing.
    pub lenient: Option<Severity>,
    /// Where, if it is at a place.
    pub position: Option<Position>,
    /// The field that it is about.
    pub key: Option<String>,
    /// What it is.
    pub message: String,
    /// What can be done.
    pub hint: Option<String>,
}

impl Finding {
    pub(crate) fn new(rule: &Rule, message: impl Into<String>) -> Self {
        Self {
            code: rule.code,
            strict: rule.strict,
            lenient: rule.lenient,
            position: None,
            key: None,
            message: message.into(),
            hint: None,
        }
    }

    /// What a reader of frontmatter says, which is an error for both.
    pub(crate) fn of(error: &Error) -> Self {
        let diagnostic = error.diagnostic();
        Self {
            code: diagnostic.code,
            strict: Some(Severity::Error),
            lenient: Some(Severity::Error),
            position: diagnostic.position,
            key: diagnostic.key,
            message: diagnostic.message,
            hint: diagnostic.hint,
        }
    }

    pub(crate) fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    pub(crate) fn for_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// For `validate` alone.
    pub(crate) fn strict_only(mut self) -> Self {
        self.lenient = None;
        self
    }

    /// For `load`, it makes the skill unusable.
    pub(crate) fn fatal(mut self) -> Self {
        self.lenient = Some(Severity::Error);
        self
    }

    /// As `validate` tells it.
    pub fn strict(&self) -> Option<Diagnostic> {
        self.strict.map(|severity| self.diagnostic(severity))
    }

    /// As `load` tells it.
    pub fn lenient(&self) -> Option<Diagnostic> {
        self.lenient.map(|severity| self.diagnostic(severity))
    }

    fn diagnostic(&self, severity: Severity) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(self.code, severity, self.message.as_str());
        diagnostic.position = self.position;
        diagnostic.key.clone_from(&self.key);
        diagnostic.hint.clone_from(&self.hint);
        diagnostic
    }
}

/// Of each kind the first few, and one more that says how many there are: a file can have thousands, and
/// each is kept with a path. What a reader makes of the file stays the same.
pub(crate) fn bounded(findings: Vec<Finding>) -> Vec<Finding> {
    let mut bounded: Vec<Finding> = Vec::new();
    // How many there are of a kind, and where that is said.
    let mut kinds: Vec<(_, usize, usize)> = Vec::new();
    for mut finding in findings {
        let kind = (finding.code, finding.strict, finding.lenient);
        let Some((_, count, at)) = kinds.iter_mut().find(|(known, ..)| *known == kind) else {
            kinds.push((kind, 1, 0));
            bounded.push(finding);
            continue;
        };
        *count += 1;
        if *count == MOST + 1 {
            *at = bounded.len();
            finding.key = None;
            finding.hint = None;
        }
        if *count <= MOST + 1 {
            bounded.push(finding);
        }
    }
    for (_, count, at) in kinds.into_iter().filter(|(_, count, _)| *count > MOST) {
        if let Some(last) = bounded.get_mut(at) {
            last.message = format!("there are {count} of this kind, of which {MOST} are told");
        }
    }
    bounded
}
