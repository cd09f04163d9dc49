//! A part of a system prompt.

use std::sync::Arc;

use crate::tokens::estimate_tokens;

/// A named part of a system prompt. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// What it is about: `role`, `rules`, `instructions`, `skills`, …; unique in its prompt.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// Who wrote it: a template's or a middleware's name.
    pub source: Arc<str>,
    /// Whether it stays the same from turn to turn unless an input of it changes. Sections that are not
    /// stable come last.
    pub stable: bool,
    /// When the whole is too large, the sections of the smallest rank give way first; of equal ones,
    /// the last. [`ESSENTIAL`](Self::ESSENTIAL) ones never do.
    pub rank: u8,
    /// What stays of it when it has to give way.
    pub keep: Keep,
}

/// What stays of a text that is too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Its beginning.
    #[default]
    Start,
    /// Its end: what was written last.
    End,
    /// All or nothing of it.
    Whole,
}

impl Section {
    /// The rank of sections that never give way.
    pub const ESSENTIAL: u8 = u8::MAX;
    /// The rank of a section that says nothing of it.
    pub const USUAL: u8 = 100;

    /// A stable section of the usual rank.
    pub fn new(
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
        source: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            source: source.into(),
            stable: true,
            rank: Self::USUAL,
            keep: Keep::default(),
        }
    }

    /// The same section, as one that may change from turn to turn.
    pub fn volatile(mut self) -> Self {
        self.stable = false;
        self
    }

    /// The same section with another rank.
    pub fn with_rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// The same section, and what stays of it when it has to give way.
    pub fn with_keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The text as it is sent: without line breaks at its ends. Blank sections are not sent.
    pub fn sent(&self) -> &str {
        let text = self.text.trim_matches(['\n', '\r']);
        if text.trim().is_empty() { "" } else { text }
    }

    /// Bytes of the text.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Tokens of the text, [estimated](estimate_tokens).
    pub fn tokens(&self) -> usize {
        estimate_tokens(&self.text)
    }
}
