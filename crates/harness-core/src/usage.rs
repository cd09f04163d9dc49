//! Tokens and money.

use serde::{Deserialize, Serialize};

/// Tokens that a provider reported for one reply, or a sum over several.
///
/// `input_tokens` counts everything that went in, cached or not, as the OpenTelemetry conventions
/// for generative AI define it; the two cache figures are parts of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All tokens of the request, cache reads and writes included.
    pub input_tokens: u64,
    /// All tokens of the reply, thinking included.
    pub output_tokens: u64,
    /// The part of `input_tokens` that came from the provider's prompt cache.
    pub cache_read_tokens: u64,
    /// The part of `input_tokens` that was written to the provider's prompt cache.
    pub cache_write_tokens: u64,
    /// The part of `output_tokens` that the model spent on thinking, where it is told.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Input and output together.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds another reply's usage; saturates instead of wrapping.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self
            .cache_read_tokens
            .saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

/// What a model costs, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Input that was not read from a cache.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the provider's cache; as dear as `input` when not given.
    pub cache_read: Option<f64>,
    /// Input written to the provider's cache; as dear as `input` when not given.
    pub cache_write: Option<f64>,
}

impl Prices {
    /// The cost of `usage` in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage
            .cache_read_tokens
            .saturating_add(usage.cache_write_tokens);
        let fresh = usage.input_tokens.saturating_sub(cached);
        let dollars = fresh as f64 * self.input
            + usage.cache_read_tokens as f64 * self.cache_read.unwrap_or(self.input)
            + usage.cache_write_tokens as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        dollars / 1_000_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_counts_each_token_once() {
        let prices = Prices {
            input: 2.0,
            output: 10.0,
            cache_read: Some(0.5),
            cache_write: Some(4.0),
        };
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_read_tokens: 400_000,
            cache_write_tokens: 100_000,
            reasoning_tokens: 50_000,
        };
        assert!((prices.cost(&usage) - (1.0 + 0.2 + 0.4 + 1.0)).abs() < 1e-9);
    }
}
