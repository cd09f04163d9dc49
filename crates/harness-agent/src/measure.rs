//! How many tokens something is, for planning.

use std::sync::Arc;

use harness_core::{Message, TokenCounter};

/// What is taken for a byte while no provider has counted: on the high side.
pub(crate) const UNKNOWN_TOKENS_PER_BYTE: f64 = 1.0 / 3.0;

/// Measures in tokens: counts, if there is something that counts, or estimates from bytes.
#[derive(Clone)]
pub(crate) struct Measure {
    counter: Option<Arc<dyn TokenCounter>>,
    tokens_per_byte: f64,
}

impl Measure {
    pub(crate) fn new(counter: Option<Arc<dyn TokenCounter>>, tokens_per_byte: f64) -> Self {
        Self {
            counter,
            tokens_per_byte,
        }
    }

    /// Nothing is known of the model.
    pub(crate) fn unknown(counter: Option<Arc<dyn TokenCounter>>) -> Self {
        Self::new(counter, UNKNOWN_TOKENS_PER_BYTE)
    }

    pub(crate) fn text(&self, text: &str) -> u64 {
        match &self.counter {
            Some(counter) => counter.count(text),
            None => self.bytes(text.len()),
        }
    }

    pub(crate) fn message(&self, message: &Message) -> u64 {
        match &self.counter {
            Some(counter) => message.count_tokens(&**counter),
            None => self.bytes(message.approximate_bytes()),
        }
    }

    fn bytes(&self, bytes: usize) -> u64 {
        (bytes as f64 * self.tokens_per_byte).ceil() as u64
    }
}

impl std::fmt::Debug for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measure")
            .field("counts", &self.counter.is_some())
            .field("tokens_per_byte", &self.tokens_per_byte)
            .finish()
    }
}
