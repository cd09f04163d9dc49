//! The beginning of a system prompt that stays the same from turn to turn.

use harness_core::SystemPrompt;
use sha2::{Digest, Sha256};

/// Remembers the last prompt's digest, since most turns have the same one.
#[derive(Default)]
pub(super) struct PromptDigest {
    last: Option<(SystemPrompt, PromptFacts)>,
}

/// What a span tells of a prompt.
#[derive(Clone)]
pub(super) struct PromptFacts {
    pub(super) bytes: usize,
    pub(super) prefix_bytes: usize,
    /// 16 hex digits. Enough to compare, and nothing to read the prompt from.
    pub(super) prefix_hash: String,
}

impl PromptDigest {
    pub(super) fn of(&mut self, prompt: &SystemPrompt) -> PromptFacts {
        if let Some((last, facts)) = &self.last
            && last == prompt
        {
            return facts.clone();
        }
        let stable = prompt
            .sections()
            .iter()
            .take_while(|section| section.stable);
        let mut hash = Sha256::new();
        let mut prefix_bytes = 0;
        for section in stable {
            hash.update(section.sent());
            hash.update([0]);
            prefix_bytes += section.sent().len();
        }
        let digest = hash.finalize();
        let facts = PromptFacts {
            bytes: prompt.text().len(),
            prefix_bytes,
            prefix_hash: hex(&digest[..8]),
        };
        self.last = Some((prompt.clone(), facts.clone()));
        facts
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
