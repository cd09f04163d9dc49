//! A text seen through half-closed eyes, with the way back to its bytes.

use crate::invisible::is_invisible;
use crate::lookalike;

/// What is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blur {
    /// Whether a line ends in `\n` or `\r\n`, and whether the last line ends at all.
    LineEndings,
    /// Also blanks at the ends of lines.
    TrailingBlanks,
    /// Also which of several quotes, dashes or spaces that look alike was used, and characters that
    /// are not seen.
    LookAlikes,
}

/// A folded text. Folded characters come in the order of the originals, each from one original
/// character, or from `\r\n`; some originals have none.
#[derive(Debug)]
pub(crate) struct Folded<'a> {
    original: &'a str,
    /// The folded text.
    pub(crate) text: String,
    /// Where the distance between folded and original position changes: (folded, original).
    steps: Vec<(usize, usize)>,
    /// Whether a line break was added at the end.
    closed: bool,
}

impl<'a> Folded<'a> {
    /// Folds the text of a file. Its last line gets an ending if it has none.
    pub(crate) fn file(original: &'a str, blur: Blur) -> Self {
        let mut folded = Self::fold(original, blur);
        if !original.is_empty() && !original.ends_with('\n') {
            folded.step(original.len());
            folded.text.push('\n');
            folded.closed = true;
        }
        folded
    }

    /// Folds a text to look for. Blanks at its very end stay: what follows them is not known.
    pub(crate) fn needle(original: &'a str, blur: Blur) -> Self {
        Self::fold(original, blur)
    }

    fn fold(original: &'a str, blur: Blur) -> Self {
        let text = String::with_capacity(original.len() + 1);
        let mut folded = Self {
            original,
            text,
            steps: Vec::new(),
            closed: false,
        };
        let mut at = 0;
        for line in original.split_inclusive('\n') {
            let ended = line.ends_with('\n');
            let ending = if line.ends_with("\r\n") {
                2
            } else {
                usize::from(ended)
            };
            let mut body = line.get(..line.len() - ending).unwrap_or_default();
            if ended && blur >= Blur::TrailingBlanks {
                body = body.trim_end_matches(is_blank);
            }
            folded.push(body, at, blur);
            at += line.len();
            if ended {
                folded.step(at - ending);
                folded.text.push('\n');
            }
        }
        folded
    }

    fn push(&mut self, body: &str, at: usize, blur: Blur) {
        if blur < Blur::LookAlikes || body.is_ascii() {
            self.step(at);
            self.text.push_str(body);
            return;
        }
        for (offset, c) in body.char_indices() {
            if is_invisible(c) {
                continue;
            }
            self.step(at + offset);
            self.text.push(lookalike::fold(c));
        }
    }

    /// The next folded character comes from here.
    fn step(&mut self, original: usize) {
        let folded = self.text.len();
        let expected = self.steps.last().map_or(0, |(f, o)| o + (folded - f));
        if expected != original {
            self.steps.push((folded, original));
        }
    }

    /// Where the folded character at this position comes from. The end of the folded text comes from
    /// the end of the original.
    pub(crate) fn start(&self, folded: usize) -> usize {
        if folded >= self.text.len() {
            return self.original.len();
        }
        let next = self.steps.partition_point(|(f, _)| *f <= folded);
        match next.checked_sub(1).and_then(|last| self.steps.get(last)) {
            Some((f, o)) => o + (folded - f),
            None => folded,
        }
    }

    /// Where the folded text before this position ends in the original.
    pub(crate) fn end(&self, folded: usize) -> usize {
        let Some(last) = self
            .text
            .get(..folded)
            .and_then(|text| text.chars().next_back())
        else {
            return 0;
        };
        let start = self.start(folded - last.len_utf8());
        let rest = self.original.get(start..).unwrap_or_default();
        if rest.starts_with("\r\n") {
            start + 2
        } else {
            start + rest.chars().next().map_or(0, char::len_utf8)
        }
    }

    /// Some bytes of the original.
    pub(crate) fn original(&self, range: std::ops::Range<usize>) -> &'a str {
        self.original.get(range).unwrap_or_default()
    }

    /// Whether the text before this position includes the line break that was added.
    pub(crate) fn is_past_end(&self, folded: usize) -> bool {
        self.closed && folded == self.text.len()
    }
}

/// A blank within a line.
pub(crate) fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folding_and_the_way_back() {
        let file = Folded::file("\u{201c}a\u{201d} \t\r\nb  \r\nc", Blur::LookAlikes);
        assert_eq!(file.text, "\"a\"\nb\nc\n");
        assert_eq!((file.start(0), file.end(3)), (0, 7));
        assert_eq!((file.start(3), file.end(4)), (9, 11));
        assert_eq!((file.start(7), file.end(8)), (17, 17));
        assert!(file.is_past_end(8) && !file.is_past_end(7));
    }

    proptest! {
        #[test]
        fn every_folded_character_comes_from_one_original(text in "[a \t\u{201c}\u{20ac}\u{200b}\r\n]{0,30}") {
            for blur in [Blur::LineEndings, Blur::TrailingBlanks, Blur::LookAlikes] {
                let file = Folded::file(&text, blur);
                let mut before = 0;
                for (at, c) in file.text.char_indices() {
                    let (start, end) = (file.start(at), file.end(at + c.len_utf8()));
                    prop_assert!(before <= start && start <= end);
                    let original = &text[start..end];
                    if c == '\n' {
                        prop_assert!(["\n", "\r\n", ""].contains(&original));
                    } else if blur == Blur::LookAlikes {
                        let folded: String = original.chars().map(lookalike::fold).collect();
                        prop_assert_eq!(folded, c.to_string());
                    } else {
                        prop_assert_eq!(original, c.to_string());
                    }
                    before = end;
                }
            }
        }
    }
}
