//! Finding the text that an edit means.
//!
//! A ladder: what is written is looked for exactly; only if it is nowhere, the next rung overlooks a
//! little more. How often a text occurs is counted on the rung on which it was found.
//!
//! 1. exactly, and nowhere from the middle of `\r\n`;
//! 2. whatever the line endings, and whether or not the last line of the file has one;
//! 3. whatever blanks stand at the ends of lines;
//! 4. whichever of the quotes, dashes and spaces that look alike, and whatever is not seen;
//! 5. whole lines that are all indented more, or all less, by the same blanks.
//!
//! On rungs 2 to 5, the parts that the old and the new text share keep the bytes of the file.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use memchr::memmem;

use crate::folded::{Blur, Folded, is_blank};
use crate::splice::{Splice, with_newline};
use crate::text_file::LineEndings;

/// The largest text in which anything is overlooked: each rung takes as much memory again.
pub(crate) const TOLERANT_BYTES: usize = 16 * 1024 * 1024;

/// How many occurrences are counted before counting ends.
pub(crate) const MAX_COUNT: usize = 1_000;

/// How many places one call may replace. Each takes some hundred bytes of memory on its way.
pub(crate) const MAX_PLACES: usize = 1_000_000;

/// Where an edit applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// The bytes that are replaced.
    pub(crate) span: Range<usize>,
    /// By what, before line endings are settled.
    pub(crate) text: String,
    /// What was overlooked; `None` for an exact match.
    pub(crate) overlooked: Option<&'static str>,
}

/// Why an edit does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The text is nowhere.
    Nowhere,
    /// The text is at several places; where each begins.
    Several(Vec<usize>),
}

/// A file's text, with the views of it that were needed so far.
#[derive(Debug)]
pub(crate) struct Haystack<'a> {
    text: &'a str,
    endings: LineEndings,
    /// The place that was asked for last, the end of its line, and how that ends: very many places
    /// may be in one long line.
    last_ending: Cell<(usize, usize, &'static str)>,
    views: [OnceCell<Folded<'a>>; 3],
}

const BLURS: [(Blur, &str); 3] = [
    (Blur::LineEndings, "line endings"),
    (Blur::TrailingBlanks, "blanks at line ends"),
    (Blur::LookAlikes, "look-alike or invisible characters"),
];

impl<'a> Haystack<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let endings = LineEndings::of(text.as_bytes());
        Self {
            text,
            endings,
            last_ending: Cell::new((0, 0, "\n")),
            views: [const { OnceCell::new() }; 3],
        }
    }

    /// How a line break is written here: as in the whole file or, where that has both, as in this
    /// line. `None` if the file has no line break.
    fn newline(&self, at: usize) -> Option<&'static str> {
        match self.endings {
            LineEndings::None => None,
            LineEndings::Lf => Some("\n"),
            LineEndings::Crlf => Some("\r\n"),
            LineEndings::Mixed => {
                let (from, to, newline) = self.last_ending.get();
                if (from..to).contains(&at) {
                    return Some(newline);
                }
                let (before, after) = self.text.split_at_checked(at)?;
                let (ended, to) = match after.find('\n') {
                    Some(end) => (self.text.get(..at + end)?, at + end + 1),
                    None => (before.get(..before.rfind('\n')?)?, self.text.len()),
                };
                let newline = if ended.ends_with('\r') { "\r\n" } else { "\n" };
                self.last_ending.set((at, to, newline));
                Some(newline)
            }
        }
    }

    /// Whether somewhere this text begins between `\r` and `\n`. A model that was shown a line break
    /// does not mean one half of it, so then the next rung looks for the text.
    fn parts_an_ending(&self, old: &str) -> bool {
        old.starts_with('\n') && self.text.contains(&format!("\r{old}"))
    }

    fn view(&self, blur: Blur) -> &Folded<'a> {
        let [endings, blanks, alike] = &self.views;
        let cell = match blur {
            Blur::LineEndings => endings,
            Blur::TrailingBlanks => blanks,
            Blur::LookAlikes => alike,
        };
        cell.get_or_init(|| Folded::file(self.text, blur))
    }

    /// Finds `old` and says what `new` becomes there. With `all`, at every place; the places do not
    /// overlap.
    pub(crate) fn locate(&self, old: &str, new: &str, all: bool) -> Result<Vec<Located>, Missed> {
        let exact = places(self.text, old, all);
        if !exact.is_empty() && !self.parts_an_ending(old) {
            return one_or_all(exact, all, |at| {
                // Where a file has both endings and the model wrote the one that is there, it knows.
                let verbatim = self.endings == LineEndings::Mixed && old.contains('\n');
                let newline = if verbatim { None } else { self.newline(at) };
                let text = with_newline(new, newline);
                Located {
                    span: at..at + old.len(),
                    text,
                    overlooked: None,
                }
            });
        }
        if self.text.len() > TOLERANT_BYTES {
            return Err(Missed::Nowhere);
        }
        for (blur, overlooked) in BLURS {
            let view = self.view(blur);
            let needle = Folded::needle(old, blur);
            if needle.text.is_empty() {
                continue;
            }
            let mut found = places(&view.text, &needle.text, all);
            // Blanks before the first line break were dropped from the old text. They stood for a
            // line of blanks, so what is found must begin a line.
            if needle.text.starts_with('\n') && old.starts_with(is_blank) {
                found.retain(|at| begins_line(&view.text, *at));
            }
            if !found.is_empty() {
                return one_or_all(found, all, |at| {
                    let newline = self.newline(view.start(at));
                    let splice = Splice {
                        view,
                        at,
                        old,
                        new,
                        blur,
                        newline,
                    };
                    let (span, text) = splice.build(needle.text.len());
                    Located {
                        span,
                        text,
                        overlooked: Some(overlooked),
                    }
                })
                .map_err(|missed| missed.at_original(view));
            }
        }
        self.locate_shifted(old, new, all)
    }

    /// Rung 5.
    fn locate_shifted(&self, old: &str, new: &str, all: bool) -> Result<Vec<Located>, Missed> {
        let blur = Blur::LookAlikes;
        let view = self.view(blur);
        let needle = Folded::needle(old, blur);
        let mut found = Vec::new();
        let mut free = 0;
        for (at, shift) in shifted_places(&view.text, &needle.text) {
            if all && at < free {
                continue;
            }
            let (Some(old), Some(new)) = (shift.apply(old), shift.apply(new)) else {
                continue;
            };
            let len = Folded::needle(&old, blur).text.len();
            free = at + len;
            let newline = self.newline(view.start(at));
            let splice = Splice {
                view,
                at,
                old: &old,
                new: &new,
                blur,
                newline,
            };
            let (span, text) = splice.build(len);
            found.push(Located {
                span,
                text,
                overlooked: Some("indentation"),
            });
            if found.len() > if all { MAX_PLACES } else { MAX_COUNT } {
                break;
            }
        }
        match found.len() {
            0 => Err(Missed::Nowhere),
            1 => Ok(found),
            _ if all => Ok(found),
            _ => Err(Missed::Several(
                found
                    .into_iter()
                    .map(|located| located.span.start)
                    .collect(),
            )),
        }
    }
}

impl Missed {
    fn at_original(self, view: &Folded<'_>) -> Self {
        match self {
            Self::Several(places) => {
                Self::Several(places.into_iter().map(|at| view.start(at)).collect())
            }
            Self::Nowhere => Self::Nowhere,
        }
    }
}

fn one_or_all(
    found: Vec<usize>,
    all: bool,
    located: impl Fn(usize) -> Located,
) -> Result<Vec<Located>, Missed> {
    if found.len() > 1 && !all {
        return Err(Missed::Several(found));
    }
    Ok(found.into_iter().map(located).collect())
}

/// Where `needle` is. With `all`, places that do not overlap; without, all that there are, up to a
/// bound, because overlapping ones leave it just as open which is meant.
fn places(text: &str, needle: &str, all: bool) -> Vec<usize> {
    if needle.is_empty() {
        return Vec::new();
    }
    let finder = memmem::Finder::new(needle.as_bytes());
    if all {
        let found = finder.find_iter(text.as_bytes());
        return found.take(MAX_PLACES + 1).collect();
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text
        .as_bytes()
        .get(from..)
        .and_then(|rest| finder.find(rest))
    {
        found.push(from + at);
        from += at + 1;
        if found.len() >= MAX_COUNT {
            break;
        }
    }
    found
}

fn begins_line(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n')
}

/// A change of indentation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shift {
    /// The file has these blanks in addition.
    Deeper(String),
    /// The file lacks these blanks.
    Shallower(String),
}

impl Shift {
    fn between(needle: &str, file: &str) -> Option<Self> {
        if let Some(more) = file.strip_suffix(needle) {
            (!more.is_empty()).then(|| Self::Deeper(more.to_owned()))
        } else {
            needle
                .strip_suffix(file)
                .map(|less| Self::Shallower(less.to_owned()))
        }
    }

    /// The text, indented as in the file; `None` if a line has not the blanks to give up.
    fn apply(&self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            if line.trim().is_empty() {
                out.push_str(line);
                continue;
            }
            match self {
                Self::Deeper(more) => {
                    out.push_str(more);
                    out.push_str(line);
                }
                Self::Shallower(less) => out.push_str(line.strip_prefix(less.as_str())?),
            }
        }
        Some(out)
    }
}

/// Where the lines of `needle` are, all shifted alike; both texts are folded.
fn shifted_places(text: &str, needle: &str) -> Vec<(usize, Shift)> {
    let ended = needle.ends_with('\n');
    let lines: Vec<&str> = needle
        .strip_suffix('\n')
        .unwrap_or(needle)
        .split('\n')
        .collect();
    let Some(anchor) = lines.iter().position(|line| !line.trim().is_empty()) else {
        return Vec::new();
    };
    let anchor_text = lines.get(anchor).copied().unwrap_or_default().trim_start();
    let file: Vec<&str> = text.split('\n').collect();
    let mut found = Vec::new();
    let mut at = 0;
    let mut start_of: Vec<usize> = Vec::with_capacity(file.len());
    for line in &file {
        start_of.push(at);
        at += line.len() + 1;
    }
    for (index, line) in file.iter().enumerate() {
        if line.trim_start() != anchor_text || index < anchor {
            continue;
        }
        let first = index - anchor;
        let Some(window) = file.get(first..first + lines.len()) else {
            continue;
        };
        // After an ended needle the file must have a line break too.
        if ended && first + lines.len() >= file.len() {
            continue;
        }
        let mut shift: Option<Shift> = None;
        let fits = lines.iter().zip(window).all(|(ours, theirs)| {
            if ours.trim().is_empty() || theirs.trim().is_empty() {
                return ours.is_empty() && theirs.is_empty();
            }
            let (our_body, their_body) = (ours.trim_start(), theirs.trim_start());
            if our_body != their_body {
                return false;
            }
            let our_indent = ours.strip_suffix(our_body).unwrap_or_default();
            let their_indent = theirs.strip_suffix(their_body).unwrap_or_default();
            match (Shift::between(our_indent, their_indent), &shift) {
                (Some(this), None) => {
                    shift = Some(this);
                    true
                }
                (Some(this), Some(before)) => this == *before,
                (None, _) => false,
            }
        });
        if let (true, Some(shift), Some(start)) = (fits, shift, start_of.get(first)) {
            found.push((*start, shift));
        }
    }
    found
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
