//! The bounds of a run.

use std::time::Duration;

/// What ends a run that does not end by itself. Everything that repeats has a bound here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The most turns; at least 1. Default 1,000.
    pub max_turns: u32,
    /// The most tokens, input and output of all turns together. Looked at before each turn.
    pub max_tokens: Option<u64>,
    /// The most US dollars. Looked at before each turn; needs models whose prices are known.
    pub max_cost: Option<f64>,
    /// The most time. Looked at before each turn and while a turn runs.
    pub max_time: Option<Duration>,
    /// The most tokens of the system prompt, [estimated](crate::estimate_tokens); sections that do not
    /// fit are cut or left out by their rank, and a marker says so. Default: half of the model's context
    /// window, if that is known.
    pub system_prompt_tokens: Option<u64>,
    /// The most empty replies in a row. Default 3.
    pub max_empty_replies: u32,
    /// The most replies in a row whose calls were cut off by the output cap. Default 3.
    pub max_cut_replies: u32,
    /// The most failures of one and the same call with one and the same result, with no success in
    /// between. Default 5.
    pub max_identical_failures: u32,
    /// The most times that the conversation may be made shorter. Default 1,000.
    pub max_compactions: u32,
    /// The most time for one request, from its start to the reply's end. Default 30 minutes.
    pub attempt_time: Duration,
    /// The most bytes of one reply. Default 32 MiB.
    pub reply_bytes: usize,
    /// The most bytes of text in one tool result; what is over is cut, and the result says so.
    /// Default 256 KiB. The built-in tools stay far below it.
    pub result_bytes: usize,
    /// The most calls in one reply; those beyond are refused. Default 128.
    pub calls_per_turn: usize,
    /// How long a cancelled tool may take to end by itself. Default 1.5 s.
    pub cancel_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 1_000,
            max_tokens: None,
            max_cost: None,
            max_time: None,
            system_prompt_tokens: None,
            max_empty_replies: 3,
            max_cut_replies: 3,
            max_identical_failures: 5,
            max_compactions: 1_000,
            attempt_time: Duration::from_mins(30),
            reply_bytes: crate::reply::MAX_REPLY_BYTES,
            result_bytes: 256 * 1024,
            calls_per_turn: 128,
            cancel_grace: Duration::from_millis(1_500),
        }
    }
}

impl Limits {
    /// What is wrong with them.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.max_turns == 0 {
            return Err("the limit of turns must be at least 1".to_owned());
        }
        if self.system_prompt_tokens == Some(0) {
            return Err("the limit of the system prompt must be at least 1 token".to_owned());
        }
        if self.max_tokens == Some(0) {
            return Err("the limit of tokens must be at least 1".to_owned());
        }
        if self
            .max_cost
            .is_some_and(|cost| !cost.is_finite() || cost <= 0.0)
        {
            return Err("the limit of cost must be more than 0".to_owned());
        }
        if self.max_time.is_some_and(|time| time.is_zero()) || self.attempt_time.is_zero() {
            return Err("the limits of time must be more than 0".to_owned());
        }
        let counts = [
            self.max_empty_replies,
            self.max_cut_replies,
            self.max_identical_failures,
            self.max_compactions,
        ];
        let sizes = [self.calls_per_turn, self.reply_bytes, self.result_bytes];
        if counts.contains(&0) || sizes.contains(&0) {
            return Err("limits that count must be at least 1".to_owned());
        }
        Ok(())
    }
}
