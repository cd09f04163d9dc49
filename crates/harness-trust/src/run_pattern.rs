//! Patterns for commands.

use crate::shell::{OpaqueKind, SimpleCommand, Word};

/// The most options before the other words of a command that are looked at one by one.
const MAX_OPTIONS: usize = 64;

/// A pattern for one word: literal pieces between which any text may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WordPattern(Vec<String>);

/// Words, one by one; at the end any further ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunPattern {
    text: String,
    words: Vec<WordPattern>,
    and_more: bool,
}

impl RunPattern {
    /// Or what is wrong, and at which byte.
    pub(crate) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut words = Vec::new();
        let mut word: Option<(Vec<String>, bool)> = None;
        let mut quote = None;
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            let is_blank = matches!(c, ' ' | '\t') && quote.is_none();
            if is_blank {
                words.extend(word.take());
                continue;
            }
            if quote.is_none() && matches!(c, ';' | '&' | '|' | '<' | '>' | '`' | '\n') {
                let what = format!(
                    "`{c}` ends a command, and a pattern is for one command; write one rule for each"
                );
                return Err((at, what));
            }
            let (pieces, has_quotes) = word.get_or_insert_with(|| (vec![String::new()], false));
            match (c, quote) {
                ('*', None) => pieces.push(String::new()),
                ('\\', None | Some(('"', _))) => match chars.next() {
                    Some((_, escaped)) => push(pieces, escaped),
                    None => return Err((at, "nothing follows the `\\`".to_owned())),
                },
                ('\'' | '"', None) => {
                    quote = Some((c, at));
                    *has_quotes = true;
                }
                (c, Some((open, _))) if c == open => quote = None,
                (c, _) => push(pieces, c),
            }
        }
        if let Some((open, at)) = quote {
            return Err((at, format!("this {open} is not closed")));
        }
        words.extend(word.take());
        if words.is_empty() {
            return Err((0, "a command is missing between the brackets".to_owned()));
        }
        let is_more = |(pieces, quotes): &(Vec<String>, bool)| !quotes && *pieces == ["", ""];
        let and_more = words.last().is_some_and(is_more);
        if and_more {
            words.pop();
        }
        Ok(Self {
            text: text.to_owned(),
            words: words
                .into_iter()
                .map(|(pieces, _)| WordPattern(pieces))
                .collect(),
            and_more,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether this one word is meant.
    pub(crate) fn matches_text(&self, text: &str) -> bool {
        match self.words.as_slice() {
            [] => self.and_more,
            [word] => word.is_match(text, false),
            _ => false,
        }
    }

    /// Whether it is certain that this command is meant.
    pub(crate) fn matches(&self, command: &SimpleCommand) -> bool {
        self.is_for(&command.words, |pattern, word, at| match word {
            Word::Literal(text) => pattern.is_match(text, at == 0),
            // A name that begins with `-` would be an option that nobody has seen.
            Word::Glob { start, .. } => {
                at > 0 && pattern.is_any() && !word.may_be_option() && !start.is_empty()
            }
            Word::Unknown(_) => false,
        })
    }

    /// Whether this command could be meant, or one that is in its words or around it.
    pub(crate) fn could_match(&self, command: &SimpleCommand) -> bool {
        let could = |words: &[Word]| {
            self.is_for(words, |pattern, word, at| match word {
                Word::Literal(text) => {
                    let name = text.rsplit('/').next().unwrap_or(text);
                    pattern.is_match(text, false) || at == 0 && pattern.is_match(name, false)
                }
                Word::Glob { .. } | Word::Unknown(_) => true,
            })
        };
        let hidden = |words: &[Word]| {
            let starts = 1..words.len();
            starts
                .into_iter()
                .any(|at| words.get(at..).is_some_and(|rest| self.could_begin(rest)))
        };
        could(&command.words)
            || self.could_match_behind_options(&command.words, could)
            || command.around.iter().any(|words| could(words))
            || matches!(command.doubt, Some(OpaqueKind::Wrapper | OpaqueKind::Exec))
                && hidden(&command.words)
    }

    /// Whether the command could be meant without the options that stand before its other words, which are for the
    /// program as a whole: `git -C x --no-pager push` is a push. Of an option it is not known whether the next word is
    /// its value, so both are looked at; of more than anybody writes, it could be.
    fn could_match_behind_options(&self, words: &[Word], could: impl Fn(&[Word]) -> bool) -> bool {
        let program = words.get(..1).unwrap_or_default();
        let is_for_program = match self.words.get(..1) {
            Some(first) if !first.is_empty() => {
                let of_program = Self {
                    text: String::new(),
                    words: first.to_vec(),
                    and_more: false,
                };
                of_program.could_begin(program)
            }
            _ => false,
        };
        if !is_for_program {
            return false;
        }
        let is_option = |at: usize| {
            let word = words.get(at).and_then(Word::literal);
            word.is_some_and(|word| word.starts_with('-'))
        };
        let ends = (2..words.len()).take_while(|end| {
            let last = end - 1;
            is_option(last) || last > 1 && is_option(last - 1)
        });
        ends.enumerate().any(|(number, end)| {
            let rest = words.get(end..).unwrap_or_default();
            number >= MAX_OPTIONS || could(&[program, rest].concat())
        })
    }

    /// Whether a command that begins here and ends anywhere could be meant.
    fn could_begin(&self, words: &[Word]) -> bool {
        let is_match = |(at, (pattern, word)): (usize, (&WordPattern, &Word))| match word {
            Word::Literal(text) => {
                let name = text.rsplit('/').next().unwrap_or(text);
                pattern.is_match(text, false) || at == 0 && pattern.is_match(name, false)
            }
            Word::Glob { .. } | Word::Unknown(_) => true,
        };
        // `*` alone would find a command at every word.
        !self.words.is_empty()
            && words.first().is_some_and(|word| word.literal().is_some())
            && words.len() >= self.words.len()
            && self.words.iter().zip(words).enumerate().all(is_match)
    }

    fn is_for(
        &self,
        words: &[Word],
        is_match: impl Fn(&WordPattern, &Word, usize) -> bool,
    ) -> bool {
        let fits = if self.and_more {
            words.len() >= self.words.len()
        } else {
            words.len() == self.words.len()
        };
        let mut pairs = self.words.iter().zip(words).enumerate();
        let any = WordPattern(vec![String::new(), String::new()]);
        fits && pairs.all(|(at, (pattern, word))| is_match(pattern, word, at))
            && words
                .iter()
                .enumerate()
                .skip(self.words.len())
                .all(|(at, word)| {
                    // `run(*)` is for every program, wherever it is: no word of it is special.
                    is_match(&any, word, at.max(1))
                })
    }
}

fn push(pieces: &mut [String], c: char) {
    if let Some(last) = pieces.last_mut() {
        last.push(c);
    }
}

impl WordPattern {
    fn is_any(&self) -> bool {
        self.0.iter().all(String::is_empty) && self.0.len() > 1
    }

    /// `is_program`: a `*` does not reach over a `/`, so that a name stays a name.
    fn is_match(&self, text: &str, is_program: bool) -> bool {
        let Some((first, rest)) = self.0.split_first() else {
            return text.is_empty();
        };
        let Some(mut text) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some((last, middle)) = rest.split_last() else {
            return text.is_empty();
        };
        let skips = |skipped: &str| !(is_program && skipped.contains('/'));
        for piece in middle {
            let Some(at) = text.find(piece.as_str()) else {
                return false;
            };
            if !skips(text.get(..at).unwrap_or_default()) {
                return false;
            }
            text = text.get(at + piece.len()..).unwrap_or_default();
        }
        text.strip_suffix(last.as_str()).is_some_and(skips)
    }
}
