//! Results of one batch that are too large to be shown as they are.

use std::sync::{Arc, Mutex, PoisonError};

use harness_core::{
    Image, Message, MessageRef, OutputPart, Text, ToolOutcome, ToolOutput, ToolResult, ToolResults,
};

use crate::loaded_skills::has_skill;

/// A token, in bytes. Not what the provider counted: what is shown must be the same on every turn.
const BYTES_PER_TOKEN: u64 = 3;

/// The least that is shown of a text, in bytes: enough to see what it is.
const LEAST: usize = 256;

/// What stands around a result, in bytes.
const AROUND: usize = 32;

/// The short forms of the messages that have one. In the attributes of a run's caller, so that the same
/// message in memory is shown again and what a client encoded of it is used again.
#[derive(Debug, Default)]
pub(crate) struct ShortResults(Mutex<Vec<Short>>);

#[derive(Clone, Debug)]
struct Short {
    window: u64,
    message: MessageRef,
    shown: MessageRef,
}

impl ShortResults {
    /// Puts the short forms in the place of what is too large. Those of messages that are gone are
    /// forgotten.
    pub(crate) fn show(&self, messages: &mut [MessageRef], window: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = Vec::new();
        for message in messages {
            if is_small(message, window) {
                continue;
            }
            let is_it = |short: &&Short| short.window == window && short.message.same(message);
            let short = known.iter().find(is_it).cloned().or_else(|| {
                let shown = short_form(message, window)?.into();
                let message = message.clone();
                Some(Short {
                    window,
                    message,
                    shown,
                })
            });
            if let Some(short) = short {
                *message = short.shown.clone();
                seen.push(short);
            }
        }
        *known = seen;
    }
}

/// How much of one batch is shown, in bytes: a quarter of the window.
fn most(window: u64) -> usize {
    (window / 4 * BYTES_PER_TOKEN) as usize
}

fn is_small(message: &Message, window: u64) -> bool {
    match message {
        Message::ToolResults(_) => message.approximate_bytes() <= most(window),
        _ => true,
    }
}

/// The results of a batch as they are shown in a window: heads and tails of what is large in them, if all
/// together are more than a quarter of it; else `None`. Depends on nothing else.
pub(crate) fn short_form(message: &Message, window: u64) -> Option<Message> {
    let Message::ToolResults(batch) = message else {
        return None;
    };
    if is_small(message, window) {
        return None;
    }
    let most = most(window);
    let is_fixed = |result: &&ToolResult| has_skill(result) || output(result).is_none();
    let fixed: usize = batch
        .results
        .iter()
        .filter(is_fixed)
        .map(|result| result.outcome.shown_text().len())
        .sum();
    let around = batch.results.len() * AROUND;
    let mut left = most.saturating_sub(fixed + around);
    // Pictures cannot be shortened: as many as there is room for in half of it.
    let mut pictures = left / 2 / Image::APPROXIMATE_BYTES;
    let texts = || {
        batch
            .results
            .iter()
            .filter(|result| !is_fixed(result))
            .filter_map(output)
            .flat_map(|output| &output.parts)
    };
    let all_pictures = texts()
        .filter(|part| matches!(part, OutputPart::Image(_)))
        .count();
    left -= pictures.min(all_pictures) * Image::APPROXIMATE_BYTES;
    let lengths = texts().filter_map(|part| match part {
        OutputPart::Text(text) => Some(text.text.len()),
        _ => None,
    });
    let each = level(lengths.collect(), left).max(LEAST);
    let results = batch.results.iter().map(|result| {
        if is_fixed(&result) {
            return result.clone();
        }
        let parts = output(result).map(|output| &output.parts);
        let parts = parts.into_iter().flatten();
        let parts = parts.map(|part| short_part(part, each, &mut pictures));
        ToolResult {
            call_id: result.call_id.clone(),
            name: result.name.clone(),
            outcome: Arc::new(with_parts(&result.outcome, parts.collect())),
        }
    });
    let results = results.collect();
    Some(Message::ToolResults(ToolResults { results }))
}

/// The length to which texts are cut so that all of them are not longer than `room`.
fn level(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    let mut count = lengths.len();
    for length in lengths {
        let each = left / count;
        if length > each {
            return each;
        }
        left -= length;
        count -= 1;
    }
    usize::MAX
}

fn output(result: &ToolResult) -> Option<&ToolOutput> {
    match &*result.outcome {
        ToolOutcome::Done(output) | ToolOutcome::Failed(output) => Some(output),
        _ => None,
    }
}

fn with_parts(outcome: &ToolOutcome, parts: Vec<OutputPart>) -> ToolOutcome {
    match outcome {
        ToolOutcome::Done(output) => ToolOutcome::Done(ToolOutput {
            parts,
            details: output.details.clone(),
        }),
        ToolOutcome::Failed(output) => ToolOutcome::Failed(ToolOutput {
            parts,
            details: output.details.clone(),
        }),
        other => other.clone(),
    }
}

fn short_part(part: &OutputPart, each: usize, pictures: &mut usize) -> OutputPart {
    let text = match part {
        OutputPart::Text(text) if text.text.len() > each => head_and_tail(&text.text, each),
        OutputPart::Image(_) if *pictures == 0 => {
            "[a picture is left out here: there is no room for it]".to_owned()
        }
        OutputPart::Image(_) => {
            *pictures -= 1;
            return part.clone();
        }
        _ => return part.clone(),
    };
    OutputPart::Text(Text { text })
}

/// The beginning and the end of a text, at lines where there are any, with what was left out between them.
fn head_and_tail(text: &str, bytes: usize) -> String {
    let half = bytes.saturating_sub(80) / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let head = match head.rfind('\n') {
        Some(end) if end > half / 2 => &head[..end],
        _ => head,
    };
    let tail = match tail.find('\n') {
        Some(start) if start < half / 2 => &tail[start + 1..],
        _ => tail,
    };
    let left_out = text.len() - head.len() - tail.len();
    let all = text.len();
    format!("{head}\n[{left_out} of {all} bytes are left out here]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(outcomes: Vec<ToolOutcome>) -> Message {
        let result = |(number, outcome)| ToolResult {
            call_id: format!("c{number}"),
            name: "read".to_owned(),
            outcome: Arc::new(outcome),
        };
        let results = outcomes.into_iter().enumerate().map(result).collect();
        Message::ToolResults(ToolResults { results })
    }

    #[test]
    fn large_results_are_shown_by_their_ends() {
        let lines: Vec<String> = (0..4_000).map(|it| format!("line {it}\n")).collect();
        let long = lines.concat();
        let message = batch(vec![ToolOutcome::done(&long), ToolOutcome::failed("short")]);
        assert_eq!(short_form(&message, 100_000), None);
        let shown = short_form(&message, 4_000).unwrap();
        assert!(
            shown.approximate_bytes() <= 3_000,
            "{}",
            shown.approximate_bytes()
        );
        let Message::ToolResults(results) = &shown else {
            panic!("{shown:?}");
        };
        let text = results.results[0].outcome.shown_text();
        assert!(
            text.starts_with("line 0\n") && text.ends_with("line 3999\n"),
            "{text}"
        );
        assert!(text.contains("bytes are left out here]"), "{text}");
        assert_eq!(results.results[1].outcome.shown_text(), "short");
        assert_eq!(short_form(&message, 4_000), Some(shown));
    }

    #[test]
    fn many_results_share_the_room() {
        let outcomes = (0..50).map(|_| ToolOutcome::done("ä".repeat(3_000)));
        let message = batch(outcomes.collect());
        for window in [8_000, 20_000, 50_000, 100_000] {
            let shown = short_form(&message, window).unwrap();
            let most = most(window).max(50 * (LEAST + 40));
            assert!(shown.approximate_bytes() <= most + 50 * 32, "{window}");
        }
    }

    #[test]
    fn pictures_that_have_no_room_are_told_of() {
        let image = Image {
            media_type: "image/png".to_owned(),
            data: "AAAA".into(),
        };
        let output = (0..9).fold(ToolOutput::text("nine"), |output, _| {
            output.with_image(image.clone())
        });
        let message = batch(vec![ToolOutcome::Done(output)]);
        let shown = short_form(&message, 20_000).unwrap();
        let Message::ToolResults(results) = &shown else {
            panic!("{shown:?}");
        };
        let parts = results.results[0].outcome.shown();
        let pictures = parts
            .iter()
            .filter(|part| matches!(part, OutputPart::Image(_)));
        assert_eq!(pictures.count(), 1);
        assert_eq!(parts.len(), 10);
    }

    #[test]
    fn the_same_message_is_shown_again() {
        let message: MessageRef = batch(vec![ToolOutcome::done("x".repeat(50_000))]).into();
        let short = ShortResults::default();
        let shown = |window| {
            let mut messages = [message.clone()];
            short.show(&mut messages, window);
            messages[0].clone()
        };
        assert!(shown(4_000).same(&shown(4_000)));
        assert!(!shown(4_000).same(&shown(8_000)));
        assert!(shown(1_000_000).same(&message));
    }
}
