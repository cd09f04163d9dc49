//! The new text of a place that was found by overlooking something: what the model did not change
//! keeps the bytes of the file.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::folded::{Blur, Folded, is_blank};
use crate::text_file::{to_crlf, to_lf};

/// Beyond as many tokens, a text is compared in larger ones.
const MAX_TOKENS: usize = 4_000;

/// A place in a file and the edit that was found to mean it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Splice<'a> {
    /// The file, folded.
    pub(crate) view: &'a Folded<'a>,
    /// Where the folded old text begins in it.
    pub(crate) at: usize,
    /// The old text, as the model wrote it.
    pub(crate) old: &'a str,
    /// The new text, as the model wrote it.
    pub(crate) new: &'a str,
    /// How the file was folded.
    pub(crate) blur: Blur,
    /// How a line break is written here; `None` for as it comes.
    pub(crate) newline: Option<&'static str>,
}

impl Splice<'_> {
    /// The bytes of the file to replace, and by what. `folded_len` is the length of the old text,
    /// folded.
    pub(crate) fn build(self, folded_len: usize) -> (Range<usize>, String) {
        let (mut old, mut new) = (self.old, self.new);
        let mut end = self.at + folded_len;
        if self.view.is_past_end(end) {
            // The old text ends its last line and the file does not. The file goes on not to.
            old = without_line_break(old);
            new = without_line_break(new);
            end -= 1;
        }
        let span = self.view.start(self.at)..self.view.end(end).max(self.view.start(self.at));
        (span, self.text(old, new, end))
    }

    fn text(self, old: &str, new: &str, end: usize) -> String {
        let mut sizes = [Grain::Words, Grain::Lines].into_iter();
        let (old_tokens, new_tokens) = loop {
            let Some(grain) = sizes.next() else {
                return with_newline(new, self.newline);
            };
            let (old, new) = (tokens(old, grain), tokens(new, grain));
            if old.len() + new.len() <= MAX_TOKENS {
                break (old, new);
            }
        };
        let mut starts = Vec::with_capacity(old_tokens.len() + 1);
        let mut at = self.at;
        for (index, token) in old_tokens.iter().enumerate() {
            starts.push(at);
            let dropped = self.blur >= Blur::TrailingBlanks
                && token.chars().all(is_blank)
                && old_tokens.get(index + 1) == Some(&"\n");
            if !dropped {
                at += Folded::needle(token, self.blur).text.len();
            }
        }
        starts.push(end);
        // Blanks that the folding dropped belong to the line break after them.
        let place = |token: usize| match starts.get(token) {
            Some(at) if *at > self.at => self.view.end(*at),
            _ => self.view.start(self.at),
        };
        let original = |from: usize, to: usize| self.view.original(place(from)..place(to));
        let mut out = String::with_capacity(new.len());
        for op in capture_diff_slices(Algorithm::Myers, &old_tokens, &new_tokens) {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    out.push_str(original(old_index, old_index + len));
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert {
                    new_index, new_len, ..
                }
                | DiffOp::Replace {
                    new_index, new_len, ..
                } => {
                    for token in new_tokens.iter().skip(new_index).take(new_len) {
                        out.push_str(if *token == "\n" {
                            self.newline.unwrap_or(token)
                        } else {
                            token
                        });
                    }
                }
            }
        }
        out
    }
}

/// The text with every line break written like this.
pub(crate) fn with_newline(text: &str, newline: Option<&'static str>) -> String {
    match newline {
        None => text.to_owned(),
        Some("\n") => to_lf(text).into_owned(),
        Some(_) => to_crlf(text),
    }
}

fn without_line_break(text: &str) -> &str {
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Words,
    Lines,
}

/// Cuts a text into words, runs of blanks, line breaks (always given as `\n`) and single other
/// characters; or lines, their blanks at the end, and line breaks.
fn tokens(text: &str, grain: Grain) -> Vec<&str> {
    let mut tokens = Vec::new();
    for line in text.split_inclusive('\n') {
        let body = without_line_break(line);
        let trimmed = body.trim_end_matches(is_blank);
        match grain {
            Grain::Lines if trimmed.is_empty() => {}
            Grain::Lines => tokens.push(trimmed),
            Grain::Words => words(trimmed, &mut tokens),
        }
        if trimmed.len() < body.len() {
            tokens.push(body.get(trimmed.len()..).unwrap_or_default());
        }
        if body.len() < line.len() {
            tokens.push("\n");
        }
    }
    tokens
}

fn words<'a>(line: &'a str, tokens: &mut Vec<&'a str>) {
    let class = |c: char| match c {
        _ if is_blank(c) => 1,
        _ if c.is_alphanumeric() || c == '_' => 2,
        _ => 0,
    };
    let mut start = 0;
    let mut before = None;
    for (at, c) in line.char_indices() {
        let this = class(c);
        if before.is_some_and(|before| before != this || this == 0) {
            tokens.push(line.get(start..at).unwrap_or_default());
            start = at;
        }
        before = Some(this);
    }
    if start < line.len() {
        tokens.push(line.get(start..).unwrap_or_default());
    }
}
