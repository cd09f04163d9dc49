//! How many tokens a text is.

use crate::message::{AssistantPart, Image, Message, UserPart};
use crate::outcome::OutputPart;

/// What is taken until a provider has counted: on the high side for code and English.
pub(crate) const UNKNOWN_TOKENS_PER_BYTE: f64 = 1.0 / 3.0;

/// The least that is taken for what no provider has counted yet.
pub(crate) const LEAST_TOKENS_PER_BYTE: f64 = 0.25;

/// Counts tokens. Without one, they are estimated from bytes and from what the provider reported last.
pub trait TokenCounter: Send + Sync + 'static {
    /// How many tokens a text is.
    fn count(&self, text: &str) -> u64;
}

impl Message {
    /// How many tokens the texts of this message are, and what a picture is estimated at.
    pub fn count_tokens(&self, counter: &dyn TokenCounter) -> u64 {
        /// The marks around a part.
        const AROUND: u64 = 8;
        /// A picture, at three bytes a token.
        const IMAGE: u64 = Image::APPROXIMATE_BYTES as u64 / 3;
        let mut tokens = 0;
        let mut add = |text: &str| tokens += counter.count(text) + AROUND;
        let mut images = 0;
        match self {
            Self::User(user) => {
                for part in &user.content {
                    match part {
                        UserPart::Text(part) => add(&part.text),
                        UserPart::Image(_) => images += 1,
                    }
                }
            }
            Self::Assistant(reply) => {
                for part in &reply.content {
                    match part {
                        AssistantPart::Text(part) => add(&part.text),
                        AssistantPart::Thinking(part) => {
                            add(&part.text);
                            // Opaque, and as long as the thinking that it stands for.
                            add(part.signature.as_deref().unwrap_or_default());
                        }
                        AssistantPart::ToolCall(call) => {
                            add(&call.name);
                            add(&call.arguments);
                        }
                    }
                }
            }
            Self::ToolResults(results) => {
                for result in &results.results {
                    for part in result.outcome.shown() {
                        match part {
                            OutputPart::Text(part) => add(&part.text),
                            OutputPart::Image(_) => images += 1,
                        }
                    }
                }
            }
        }
        tokens + images * IMAGE
    }
}
