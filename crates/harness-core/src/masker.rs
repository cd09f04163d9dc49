//! Masking of a text that comes in pieces.

use std::borrow::Cow;
use std::fmt;

use crate::secrets::{MASK, Secrets};

/// Masks a text that comes in pieces: all that it gives, put together, is what [`Secrets::mask`] gives for the
/// whole text, wherever that was cut.
///
/// It holds back what may be the beginning of a secret: at most one byte less than the longest form of one. Where
/// that is of base64 or hexadecimal digits, line breaks between them come on top, at most two bytes for each digit.
/// Nothing else is held back behind a line break that no secret has in it. Made by [`Secrets::masker`].
///
/// ```
/// use harness_core::Secrets;
///
/// let secrets: Secrets = ["sk-0123456789"].into_iter().collect();
/// let mut masker = secrets.masker();
/// let mut shown = masker.push("key: sk-012").into_owned();
/// assert_eq!(shown, "key: ");
/// shown.push_str(&masker.push("3456789 and s"));
/// shown.push_str(&masker.finish());
/// assert_eq!(shown, "key: [key] and s");
/// ```
#[derive(Clone)]
pub struct Masker {
    secrets: Secrets,
    /// What was not given yet.
    held: String,
    /// How many bytes of that a mask that was given stands for.
    covered: usize,
}

impl Masker {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            held: String::new(),
            covered: 0,
        }
    }

    /// Takes the next piece, and gives what is certain by now.
    pub fn push<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let Some(search) = self.secrets.search() else {
            return Cow::Borrowed(piece);
        };
        if self.held.is_empty() && search.found(piece).is_empty() {
            let (certain, held) = piece.split_at(search.beginning(piece));
            self.held.push_str(held);
            return Cow::Borrowed(certain);
        }
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let certain = search.beginning(&text);
        let given = self.give(&text, certain);
        self.held = text.split_off(certain);
        Cow::Owned(given)
    }

    /// What a next piece and all that is held back would be in sight of somebody who looks now. The beginning
    /// of a secret is masked as if all of it were there.
    pub fn preview(&self, next: &str) -> String {
        let mut ahead = self.clone();
        let mut shown = ahead.push(next).into_owned();
        let begun = self
            .secrets
            .search()
            .and_then(|search| search.without_beginning(&ahead.held));
        match begun {
            Some(_) if ahead.covered > 0 => {}
            Some(_) => shown.push_str(MASK),
            None => shown.push_str(&ahead.finish()),
        }
        shown
    }

    /// The end of the text. The masker can then be used for another one.
    pub fn finish(&mut self) -> String {
        let text = std::mem::take(&mut self.held);
        let given = self.give(&text, text.len());
        self.covered = 0;
        given
    }

    /// What stands for the text up to `end`; what lies behind is held on.
    fn give(&mut self, text: &str, end: usize) -> String {
        let mut given = String::with_capacity(end);
        let mut shown = self.covered;
        let found = self.secrets.search().map(|search| search.found(text));
        for place in found.unwrap_or_default() {
            // More of what the last mask stands for.
            if place.start < shown {
                shown = shown.max(place.end);
                continue;
            }
            if place.start >= end {
                break;
            }
            given.push_str(&text[shown..place.start]);
            given.push_str(MASK);
            shown = place.end;
        }
        given.push_str(text.get(shown..end).unwrap_or_default());
        self.covered = shown.saturating_sub(end);
        given
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker")
            .field("secrets", &self.secrets)
            .field("held_bytes", &self.held.len())
            .finish_non_exhaustive()
    }
}
