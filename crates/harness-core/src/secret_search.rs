//! How secrets are found in a text.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::secret::Secret;
use crate::secret_forms::{forms, is_digit};

/// The fewest bytes of a secret that are masked where a text ends in the middle of it. Fewer tell nothing, and
/// would hit ordinary words.
const SHORTEST_BEGINNING: usize = 4;

/// All forms of all secrets, looked for in one pass; and in a second one, over what is broken into lines, those that
/// may be broken.
pub(crate) struct Search {
    all: Known,
    broken: Known,
}

/// Forms.
struct Known {
    /// In the order of their bytes.
    forms: Vec<String>,
    longest: usize,
    shortest: usize,
    automaton: AhoCorasick,
}

impl Known {
    #[expect(
        clippy::expect_used,
        reason = "an automaton fails to build only when its texts together are gigabytes"
    )]
    fn new(forms: BTreeSet<String>) -> Self {
        let forms: Vec<String> = forms.into_iter().collect();
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&forms)
            .expect("an automaton of a few keys");
        let lengths = || forms.iter().map(String::len);
        Self {
            longest: lengths().max().unwrap_or_default(),
            shortest: lengths().min().unwrap_or_default(),
            forms,
            automaton,
        }
    }

    fn found(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let found = self.automaton.find_overlapping_iter(text);
        found.map(|found| found.range())
    }

    /// Where the longest beginning of a form starts that the text ends in.
    fn beginning(&self, text: &str) -> Option<usize> {
        let earliest = text.len().saturating_sub(self.longest.saturating_sub(1));
        (earliest..text.len()).find(|&start| {
            text.get(start..).is_some_and(|end| {
                let next = self.forms.partition_point(|form| form.as_str() <= end);
                self.forms
                    .get(next)
                    .is_some_and(|form| form.starts_with(end))
            })
        })
    }
}

impl Search {
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let (mut all, mut broken) = (BTreeSet::new(), BTreeSet::new());
        for forms in secrets.iter().map(forms) {
            all.extend(forms.plain);
            all.extend(forms.broken.iter().cloned());
            broken.extend(forms.broken);
        }
        Self {
            all: Known::new(all),
            broken: Known::new(broken),
        }
    }

    /// The places of secrets, in order. Those that overlap are one.
    pub(crate) fn found(&self, text: &str) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = self.all.found(text).collect();
        self.find_broken(text, &mut places);
        places.sort_by_key(|place| place.start);
        places.dedup_by(|next, place| {
            let overlaps = next.start < place.end;
            if overlaps {
                place.end = place.end.max(next.end);
            }
            overlaps
        });
        places
    }

    /// Adds the places of secrets that go over line breaks. Each byte is looked at once more at most: what is broken
    /// into lines is joined run by run, and runs do not overlap.
    fn find_broken(&self, text: &str, places: &mut Vec<Range<usize>>) {
        let bytes = text.as_bytes();
        let mut looked = 0;
        for (at, _) in text.match_indices('\n') {
            let Some(end) = joined_at(bytes, at).filter(|_| at >= looked) else {
                continue;
            };
            let before = bytes.get(..end).unwrap_or_default();
            let digits = before.iter().rev().take_while(|byte| is_digit(**byte));
            let run = Run::of(bytes, end - digits.count());
            looked = run.end;
            if run.joined.len() < self.broken.shortest {
                continue;
            }
            for found in self.broken.found(&run.joined) {
                let place = run.place(found.start)..run.place(found.end - 1) + 1;
                if place.len() > found.len() {
                    places.push(place);
                }
            }
        }
    }

    /// Where the longest beginning of a secret starts that the text ends in; its length if there is none. A
    /// whole secret at the end counts only as the beginning of a longer one.
    pub(crate) fn beginning(&self, text: &str) -> usize {
        let plain = self.all.beginning(text).unwrap_or(text.len());
        self.broken_beginning(text)
            .map_or(plain, |broken| broken.min(plain))
    }

    /// The same for what goes over line breaks, or ends in one.
    fn broken_beginning(&self, text: &str) -> Option<usize> {
        let whole = text.as_bytes();
        let bytes = match whole {
            [before @ .., b'\r', b'\n'] | [before @ .., b'\n' | b'\r'] => before,
            _ => whole,
        };
        // The last lines of digits, as far back as a secret could begin.
        let (mut start, mut digits) = (bytes.len(), 0);
        while digits + 1 < self.broken.longest {
            match bytes.get(..start) {
                Some([.., last]) if is_digit(*last) => {
                    start -= 1;
                    digits += 1;
                }
                Some([.., b'\n']) => match joined_at(bytes, start - 1) {
                    Some(end) => start = end,
                    None => break,
                },
                _ => break,
            }
        }
        if digits == 0 || start + digits == whole.len() {
            return None;
        }
        let run = Run::of(bytes, start);
        let begun = self.broken.beginning(&run.joined)?;
        Some(run.place(begun))
    }

    /// The text without the beginning of a secret that it ends in, if that is long enough to tell something.
    pub(crate) fn without_beginning<'a>(&self, text: &'a str) -> Option<&'a str> {
        let start = self.beginning(text);
        (text.len() - start >= SHORTEST_BEGINNING).then(|| &text[..start])
    }
}

/// Where the digits end that stand before the line break at `at`, if digits stand before and behind it.
fn joined_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at + 1).filter(|byte| is_digit(**byte))?;
    let before = bytes.get(..at)?;
    let before = before.strip_suffix(b"\r").unwrap_or(before);
    before.last().filter(|byte| is_digit(**byte))?;
    Some(before.len())
}

/// Digits and the line breaks between them.
struct Run {
    start: usize,
    end: usize,
    /// The digits alone.
    joined: String,
    /// For each line break, how many digits stand before it, and how many bytes of line breaks up to its end.
    breaks: Vec<(usize, usize)>,
}

impl Run {
    fn of(bytes: &[u8], start: usize) -> Self {
        let mut run = Self {
            start,
            end: start,
            joined: String::new(),
            breaks: Vec::new(),
        };
        let mut left_out = 0;
        while let Some(byte) = bytes.get(run.end) {
            if is_digit(*byte) {
                run.joined.push(char::from(*byte));
                run.end += 1;
                continue;
            }
            let length = match bytes.get(run.end..) {
                Some([b'\r', b'\n', ..]) => 2,
                Some([b'\n', ..]) => 1,
                _ => break,
            };
            if joined_at(bytes, run.end + length - 1).is_none() {
                break;
            }
            left_out += length;
            run.breaks.push((run.joined.len(), left_out));
            run.end += length;
        }
        run
    }

    /// Where the digit of this number stands in the text.
    fn place(&self, digit: usize) -> usize {
        let before = self.breaks.partition_point(|(digits, _)| *digits <= digit);
        let left_out = before.checked_sub(1).and_then(|last| self.breaks.get(last));
        self.start + digit + left_out.map_or(0, |(_, bytes)| *bytes)
    }
}
