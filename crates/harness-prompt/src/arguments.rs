//! What is typed behind a slash command.

use std::borrow::Cow;
use std::ops::Range;

/// The arguments of a slash command: the text as it was typed, and the words in it.
///
/// Words are split as a shell does it: at white space, line breaks included; `'…'` and `"…"` anywhere in
/// a word keep what is in them together; a backslash takes the next character as it is (in `"…"`, only a
/// quote or a backslash; in `'…'`, nothing). No text is an error: a quote that is not closed, as in
/// `don't`, is a character like any other, and so is a backslash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments<'a> {
    raw: &'a str,
    words: Vec<Word<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word<'a> {
    text: Cow<'a, str>,
    /// Where it stands in the raw text, quotes included.
    place: Range<usize>,
}

impl<'a> Arguments<'a> {
    /// Splits `raw`.
    pub fn split(raw: &'a str) -> Self {
        let raw = raw.trim();
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(offset) = raw[at..].find(|c: char| !c.is_whitespace()) {
            let start = at + offset;
            let (text, end) = word(raw, start);
            words.push(Word {
                text,
                place: start..end,
            });
            at = end;
        }
        Self { raw, words }
    }

    /// The text as it was typed, without white space at either end.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words, without their quotes, in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &*word.text)
    }

    /// The word of that number, counted from 1, without its quotes.
    pub fn get(&self, number: usize) -> Option<&str> {
        let word = self.words.get(number.checked_sub(1)?)?;
        Some(&word.text)
    }

    /// The text as it was typed from word `first` on (counted from 1; 0 is 1), for `count` words or to
    /// the end.
    pub fn raw_from(&self, first: usize, count: Option<usize>) -> &'a str {
        let first = first.max(1) - 1;
        let end = match count {
            Some(count) => first.saturating_add(count).min(self.words.len()),
            None => self.words.len(),
        };
        match self.words.get(first..end) {
            Some([only]) => &self.raw[only.place.clone()],
            Some([from, .., to]) => &self.raw[from.place.start..to.place.end],
            _ => "",
        }
    }
}

/// The word that begins at `start`, and where it ends.
fn word(raw: &str, start: usize) -> (Cow<'_, str>, usize) {
    let mut text = String::new();
    // From `kept` to `at`, the text is as it stands in `raw`.
    let (mut kept, mut at) = (start, start);
    while let Some(c) = raw[at..].chars().next() {
        let inside = at + c.len_utf8();
        match c {
            c if c.is_whitespace() => break,
            '\\' => {
                let Some(next) = raw[inside..].chars().next() else {
                    break;
                };
                text.push_str(&raw[kept..at]);
                kept = inside;
                at = inside + next.len_utf8();
            }
            '\'' | '"' => match quoted(&raw[inside..], c) {
                Some(length) => {
                    text.push_str(&raw[kept..at]);
                    push_quoted(&mut text, &raw[inside..inside + length], c);
                    at = inside + length + 1;
                    kept = at;
                }
                None => at = inside,
            },
            _ => at = inside,
        }
    }
    // A backslash at the end has nothing to take.
    let end = if raw[at..] == *"\\" { raw.len() } else { at };
    if kept == start {
        return (Cow::Borrowed(&raw[start..end]), end);
    }
    text.push_str(&raw[kept..end]);
    (Cow::Owned(text), end)
}

/// The length of what is quoted at the beginning of `rest`; `None` if the quote is not closed.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    if quote == '\'' {
        return rest.find(quote);
    }
    let mut escaped = false;
    rest.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

fn push_quoted(text: &mut String, inner: &str, quote: char) {
    if quote == '\'' {
        return text.push_str(inner);
    }
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some(next @ ('"' | '\\'))) => {
                text.push(next);
                chars.next();
            }
            _ => text.push(c),
        }
    }
}
