//! Fitting a system prompt into a number of tokens.

use std::collections::HashSet;
use std::sync::Arc;

use crate::cut::cut;
use crate::section::{Keep, Section};
use crate::system_prompt::{BETWEEN, SystemPrompt};
use crate::tokens::{WEIGHT_OF_A_TOKEN, weight};

/// A section of which less than this would be left is left out as a whole, in tokens.
const LEAST: usize = 50;

/// A system prompt that fits, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fitted {
    /// The prompt; where something is missing in it, a marker says so.
    pub prompt: SystemPrompt,
    /// The sections that had to give way.
    pub cuts: Vec<SectionCut>,
}

/// A section that had to give way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SectionCut {
    /// The section's name.
    pub section: String,
    /// How many bytes it had.
    pub bytes: usize,
    /// How many of them are left; 0 if it was left out.
    pub kept: usize,
}

impl SystemPrompt {
    /// Fits the prompt into `tokens`, as [`estimate_tokens`](crate::estimate_tokens) counts them.
    ///
    /// What fits stays as it is. Else sections give way by their [rank](Section::rank): one is cut as
    /// [`cut_to_tokens`](crate::cut_to_tokens) does, or left out if too little of it would be left, and
    /// a marker stands in its place. Essential sections stay whole, also if they alone are too large.
    pub fn fit(&self, tokens: usize) -> Fitted {
        let max = tokens.saturating_mul(WEIGHT_OF_A_TOKEN);
        let mut over = self.weight().saturating_sub(max);
        let mut fitted = Fitted {
            prompt: self.clone(),
            cuts: Vec::new(),
        };
        if over == 0 {
            return fitted;
        }
        let mut order: Vec<&Section> = self
            .sections()
            .iter()
            .filter(|section| section.rank < Section::ESSENTIAL && !section.sent().is_empty())
            .collect();
        // A stable sort from the back: of equal ranks the last gives way first.
        order.reverse();
        order.sort_by_key(|section| section.rank);
        for section in order {
            if over == 0 {
                break;
            }
            let text = section.sent();
            let whole = weight(text);
            let room = whole.saturating_sub(over);
            let keep = if room < LEAST * WEIGHT_OF_A_TOKEN {
                Keep::Whole
            } else {
                section.keep
            };
            let name = section.name.clone();
            let cut = cut(
                text,
                room.max(marker_room(&name)).min(whole),
                keep,
                |kept, all| marker(&name, kept, all, tokens),
            );
            over = over.saturating_sub(whole.saturating_sub(weight(&cut.text)));
            let shorter = Section {
                text: cut.text.into(),
                ..section.clone()
            };
            fitted.prompt = fitted.prompt.with(shorter);
            fitted.cuts.push(SectionCut {
                section: name.to_string(),
                bytes: text.len(),
                kept: cut.kept,
            });
        }
        // A section smaller than its marker is left out without one.
        let unmarked = |cut: &SectionCut| {
            let section = fitted.prompt.section(&cut.section);
            section.is_none_or(|section| section.sent().is_empty())
        };
        if over > 0 || fitted.cuts.iter().any(unmarked) {
            fitted.shrink_markers(self, tokens, max);
        }
        fitted
    }

    /// The weight of the text.
    fn weight(&self) -> usize {
        let parts = self.sections().iter().map(Section::sent);
        let parts = parts.filter(|part| !part.is_empty());
        let all: usize = parts.map(|part| weight(part) + BETWEEN.len()).sum();
        all.saturating_sub(BETWEEN.len())
    }
}

impl Fitted {
    /// One marker for all sections that are left out, since their own take too much.
    fn shrink_markers(&mut self, whole: &SystemPrompt, tokens: usize, max: usize) {
        let left_out: Vec<String> = self
            .cuts
            .iter()
            .filter(|cut| cut.kept == 0)
            .map(|cut| cut.section.clone())
            .collect();
        for name in &left_out {
            self.set_text(name, "".into());
        }
        let text = format!("[sections left out: limit {tokens} tokens]");
        let marked = self
            .prompt
            .clone()
            .with(Section::new("left-out", text, "budget").volatile());
        if marked.weight() <= max {
            self.prompt = marked;
        }
        // There may be room now for what gave way last. The weight is kept along: to weigh all of a long
        // prompt for each of many sections takes too long.
        let mut weighs = self.prompt.weight();
        let mut back = HashSet::new();
        for name in left_out.iter().rev() {
            let Some(section) = whole.section(name) else {
                continue;
            };
            let own = weight(section.sent());
            if weighs + own + BETWEEN.len() <= max {
                self.set_text(name, section.text.clone());
                weighs += own + if weighs == 0 { 0 } else { BETWEEN.len() };
                back.insert(name.as_str());
            }
        }
        self.cuts.retain(|cut| !back.contains(cut.section.as_str()));
    }

    fn set_text(&mut self, name: &str, text: Arc<str>) {
        let prompt = std::mem::take(&mut self.prompt);
        self.prompt = match prompt.section(name).cloned() {
            Some(section) => prompt.with(Section { text, ..section }),
            None => prompt,
        };
    }
}

fn marker(name: &str, kept: usize, all: usize, tokens: usize) -> String {
    if kept == 0 {
        format!(
            "[section `{name}` left out, {all} bytes: the system prompt is limited to {tokens} tokens]"
        )
    } else {
        format!(
            "[section `{name}` cut, {kept} of {all} bytes shown: the system prompt is limited to {tokens} tokens]"
        )
    }
}

/// Room for the marker of a section that is left out.
fn marker_room(name: &str) -> usize {
    weight(&marker(name, 0, usize::MAX, usize::MAX))
}
