//! Telling by their bytes which lines a search need not read.

use memchr::memchr2_iter;

/// Letters, the most frequent first: what is looked for is the rarest one.
const FREQUENT: &[u8] = b"etaoinsrhldcumfpgwybvkxjqz\":,{}";

/// Pieces of text that each line with all words of a search has, as JSON spells them.
#[derive(Clone, Debug)]
pub(crate) struct Prefilter {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    /// In lower case.
    bytes: Vec<u8>,
    /// The place of its rarest byte.
    rarest: usize,
}

impl Prefilter {
    /// For words in lower case. Where JSON may spell a character in another way, a piece ends.
    pub(crate) fn new(words: &[String]) -> Self {
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '/');
        let pieces = words
            .iter()
            .flat_map(|word| word.split(move |c| !plain(c)))
            .filter(|piece| !piece.is_empty())
            // The lower case of some characters beyond ASCII is `k` or `i`.
            .flat_map(|piece| piece.split(['k', 'i']))
            .filter(|piece| !piece.is_empty())
            .map(|piece| Piece::new(piece.as_bytes()))
            .collect();
        Self { pieces }
    }

    /// Whether a line may have all words.
    pub(crate) fn lets_through(&self, line: &[u8]) -> bool {
        self.pieces.iter().all(|piece| piece.is_in(line))
    }
}

impl Piece {
    fn new(bytes: &[u8]) -> Self {
        let rank = |byte: &u8| {
            let place = FREQUENT.iter().position(|it| it == byte);
            place.unwrap_or(FREQUENT.len())
        };
        let rarest = (0..bytes.len()).max_by_key(|at| rank(&bytes[*at]));
        Self {
            bytes: bytes.to_vec(),
            rarest: rarest.unwrap_or_default(),
        }
    }

    fn is_in(&self, line: &[u8]) -> bool {
        let rarest = self.bytes[self.rarest];
        memchr2_iter(rarest, rarest.to_ascii_uppercase(), line).any(|at| {
            let Some(start) = at.checked_sub(self.rarest) else {
                return false;
            };
            let part = line.get(start..start + self.bytes.len());
            part.is_some_and(|part| part.eq_ignore_ascii_case(&self.bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_all_words_are_let_through() {
        let cases = [
            ("fox", "The FOX", true),
            ("fox dog", "The fox", false),
            ("näher", "N\\u00c4HER n h er", true),
            ("a\"b\\c/d", r#"a\"b\\c\/d"#, true),
            ("kind", "\u{212a}\u{130}ND", true),
            ("übung", "nothing", false),
            ("é", "anything", true),
        ];
        for (words, line, expected) in cases {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let found = Prefilter::new(&words).lets_through(line.as_bytes());
            assert_eq!(found, expected, "{words:?} {line}");
        }
    }
}
