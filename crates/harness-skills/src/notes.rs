//! What is to be told beside the skills.

use std::collections::BTreeMap;
use std::path::Path;

use harness_frontmatter::{Code, Diagnostic, Severity};

use crate::finding::Finding;
use crate::rule::Rule;

/// How many notes of one kind are kept for a root: nobody reads thousands of them.
const MAX: usize = 20;

/// What is to be told of one root, beside its skills: of each kind the first, and how many more there are.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kept: Vec<Diagnostic>,
    counts: BTreeMap<(Code, Severity), usize>,
}

impl Notes {
    pub(crate) fn push(&mut self, note: Diagnostic) {
        let count = self.counts.entry((note.code, note.severity)).or_default();
        *count += 1;
        if *count <= MAX {
            self.kept.push(note);
        }
    }

    /// What a lenient reader says of a path.
    pub(crate) fn tell(&mut self, finding: &Finding, path: &Path) {
        if let Some(note) = finding.lenient() {
            self.push(note.in_file(path));
        }
    }

    pub(crate) fn add(&mut self, rule: &Rule, message: impl Into<String>, path: &Path) {
        self.tell(&Finding::new(rule, message), path);
    }

    /// All of them, with a line for what is left out; `root` is where to look for that.
    pub(crate) fn finish(self, root: Option<&Path>) -> Vec<Diagnostic> {
        let mut notes = self.kept;
        for ((code, severity), count) in self.counts {
            if count > MAX {
                let mut note =
                    Diagnostic::new(code, severity, format!("… and {} more", count - MAX));
                note.path = root.map(Into::into);
                notes.push(note);
            }
        }
        notes
    }
}
