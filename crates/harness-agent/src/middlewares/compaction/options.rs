//! When a conversation is made shorter, and how much of it stays.

use std::sync::Arc;

use harness_core::Model;

/// When a conversation is made shorter, and how much of it stays.
///
/// All figures are tokens. In a small window, they count for less: what is kept free and what is kept of the
/// conversation take a quarter of it each at most, and a summary begins an eighth of it early at most.
#[derive(Clone)]
#[non_exhaustive]
pub struct CompactionOptions {
    /// How much of the window is kept free for the reply: a request that leaves less is preceded by a
    /// compaction. 16,384.
    pub reserve_tokens: u64,
    /// About how much of the end of the conversation stays as it is. 20,000.
    pub keep_recent_tokens: u64,
    /// How far below the threshold the summary is begun, while the run goes on; `None`: not before it is
    /// needed. 32,768.
    pub background_tokens: Option<u64>,
    /// Who writes the summaries; `None`: the model of the run.
    pub model: Option<Arc<dyn Model>>,
    /// The most requests for one summary. 3.
    pub max_attempts: u32,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self {
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
            background_tokens: Some(32_768),
            model: None,
            max_attempts: 3,
        }
    }
}

impl std::fmt::Debug for CompactionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompactionOptions")
            .field("reserve_tokens", &self.reserve_tokens)
            .field("keep_recent_tokens", &self.keep_recent_tokens)
            .field("background_tokens", &self.background_tokens)
            .field("model", &self.model.as_ref().map(|model| &model.info().id))
            .field("max_attempts", &self.max_attempts)
            .finish()
    }
}

/// The figures for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) window: u64,
    /// A request above this is preceded by a compaction.
    pub(crate) threshold: u64,
    /// Above this, the summary is begun.
    pub(crate) background: u64,
    /// About how much of the end stays.
    pub(crate) keep: u64,
    /// The most tokens of a summary.
    pub(crate) summary: u64,
}

impl Bounds {
    pub(crate) fn of(options: &CompactionOptions, window: u64) -> Self {
        // The loop asks for a reply of this much even where there is no room for it.
        let least = 1_024.min(window / 4) + window / 64 + 16;
        let reserve = options.reserve_tokens.min(window / 4).max(least);
        let threshold = window.saturating_sub(reserve);
        let margin = options.background_tokens.map(|it| it.min(window / 8));
        Self {
            window,
            threshold,
            background: margin.map_or(u64::MAX, |margin| threshold.saturating_sub(margin)),
            keep: options.keep_recent_tokens.min(window / 4),
            summary: (reserve * 4 / 5).min(window / 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_windows_have_smaller_figures() {
        let of = |window| {
            let bounds = Bounds::of(&CompactionOptions::default(), window);
            [
                bounds.threshold,
                bounds.background,
                bounds.keep,
                bounds.summary,
            ]
        };
        assert_eq!(of(200_000), [183_616, 158_616, 20_000, 13_107]);
        assert_eq!(of(32_000), [24_000, 20_000, 8_000, 4_000]);
        assert_eq!(of(4_096), [2_992, 2_480, 1_024, 512]);
        assert_eq!(of(0), [0, 0, 0, 0]);
    }
}
