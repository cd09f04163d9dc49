//! Counting tokens with a real tokenizer.

use bpe_openai::Tokenizer;
use harness_core::TokenCounter;

/// How much of a text is counted; a longer one is estimated from this much of it.
const COUNTED_BYTES: usize = 256 * 1024;

/// Counts tokens as OpenAI's models do: exactly for them, closely for others, more closely than bytes tell
/// for all. For [`AgentHarnessBuilder::token_counter`](crate::AgentHarnessBuilder::token_counter).
///
/// The vocabularies are in the program, and each is unpacked once, when it is first used: that takes a moment
/// and some ten megabytes. Counting takes time in proportion to the text, also for hostile ones; of a text of
/// more than 256 KiB, the beginning and the end are counted, and the rest is taken to be like them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BpeTokens {
    /// `o200k_base`: GPT-4o and all that came after it.
    #[default]
    O200k,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100k,
}

impl BpeTokens {
    fn tokenizer(self) -> &'static Tokenizer {
        match self {
            Self::O200k => bpe_openai::o200k_base(),
            Self::Cl100k => bpe_openai::cl100k_base(),
        }
    }
}

impl TokenCounter for BpeTokens {
    fn count(&self, text: &str) -> u64 {
        let tokenizer = self.tokenizer();
        if text.len() <= COUNTED_BYTES {
            return tokenizer.count(text) as u64;
        }
        let half = COUNTED_BYTES / 2;
        let head = &text[..text.floor_char_boundary(half)];
        let tail = &text[text.ceil_char_boundary(text.len() - half)..];
        let counted = tokenizer.count(head) + tokenizer.count(tail);
        let share = text.len() as f64 / (head.len() + tail.len()) as f64;
        (counted as f64 * share).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_as_the_models_do() {
        for (text, o200k, cl100k) in [
            ("", 0, 0),
            ("Hello, world!", 4, 4),
            ("안녕하세요", 2, 5),
            ("fn main() {\n    println!(\"hi\");\n}\n", 10, 10),
        ] {
            assert_eq!(BpeTokens::O200k.count(text), o200k, "{text}");
            assert_eq!(BpeTokens::Cl100k.count(text), cl100k, "{text}");
        }
    }

    #[test]
    fn of_a_huge_text_a_part_is_counted() {
        let tokens = BpeTokens::default();
        let line = "Some words that stand in a line.\n";
        let per_line = tokens.count(line);
        let lines = 2 * COUNTED_BYTES / line.len();
        let counted = tokens.count(&line.repeat(lines));
        let exact = per_line * lines as u64;
        assert!(counted.abs_diff(exact) < exact / 100, "{counted} {exact}");
    }
}
