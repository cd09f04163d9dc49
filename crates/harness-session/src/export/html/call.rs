//! Tool calls and what came of them.

use std::fmt::Write as _;

use harness_core::{Image, OutputPart, ToolCall};

use super::escape::{attribute, escaped};
use super::rich_text::code_block;
use crate::export::arguments::laid_out;
use crate::export::calendar::duration;
use crate::export::clip::{clip, grouped, one_line};
use crate::export::outcome::{Resolved, State};

/// How much of the session the page can still take.
#[derive(Debug)]
pub(super) struct Budget {
    text: usize,
    pictures: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            text: 24 * 1024 * 1024,
            pictures: 24 * 1024 * 1024,
        }
    }
}

/// The most bytes of a text when the page is full.
const LEAST: usize = 400;
/// The most bytes of a call's arguments, and of its result.
const OUTPUT: usize = 32 * 1024;
/// The most bytes of base64 of one picture.
const PICTURE: usize = 8 * 1024 * 1024;

impl Budget {
    /// How many bytes of a text of this length may be shown.
    pub(super) fn take(&mut self, length: usize, most: usize) -> usize {
        let granted = length.min(most).min(self.text.max(LEAST));
        self.text = self.text.saturating_sub(granted);
        granted
    }

    fn take_picture(&mut self, length: usize) -> bool {
        let granted = length <= PICTURE.min(self.pictures);
        if granted {
            self.pictures -= length;
        }
        granted
    }
}

/// Puts a call into the page, with its result.
pub(super) fn call(
    out: &mut String,
    call: &ToolCall,
    result: Option<&Resolved>,
    budget: &mut Budget,
) {
    let state = result.map_or(State::Open, Resolved::state);
    begin(out, &call.name, &gist(&call.arguments), state, result);
    out.push_str("<p class=\"part\">Arguments</p>\n");
    let json = laid_out(&call.arguments);
    bounded(out, json.as_deref().unwrap_or(&call.arguments), budget);
    match result {
        Some(result) => output(out, result, budget),
        None => out.push_str("<p class=\"part\">No result</p>\n"),
    }
    out.push_str("</details>\n");
}

/// Puts a result into the page whose call is not beside it.
pub(super) fn lone_result(out: &mut String, result: &Resolved, budget: &mut Budget) {
    begin(out, &result.name, "", result.state(), Some(result));
    output(out, result, budget);
    out.push_str("</details>\n");
}

fn begin(out: &mut String, name: &str, gist: &str, state: State, result: Option<&Resolved>) {
    let class = if state == State::Done {
        "done"
    } else {
        "failed"
    };
    let _ = write!(
        out,
        "<details class=\"call {class}\"><summary><span class=\"state\" title=\"{0}\">{1}<span class=\"{2}\"> {0}</span></span> <b>{3}</b> <span class=\"gist\">{4}</span>",
        state.word(),
        state.mark(),
        if state == State::Done {
            "unseen"
        } else {
            "said"
        },
        escaped(&one_line(name, 80)),
        escaped(gist),
    );
    if let Some(elapsed) = result.and_then(|result| result.elapsed) {
        let _ = write!(
            out,
            " <span class=\"took\">{}</span>",
            duration(elapsed.as_millis() as u64)
        );
    }
    out.push_str("</summary>\n");
}

/// The one argument that says most: the first that is a text.
fn gist(arguments: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(arguments);
    let Ok(serde_json::Value::Object(fields)) = value else {
        return one_line(arguments, 100);
    };
    let text = ["command", "path", "pattern", "query"]
        .iter()
        .find_map(|name| fields.get(*name)?.as_str())
        .or_else(|| fields.values().find_map(serde_json::Value::as_str));
    one_line(text.unwrap_or_default(), 100)
}

fn output(out: &mut String, result: &Resolved, budget: &mut Budget) {
    let state = result.state();
    let _ = writeln!(out, "<p class=\"part\">Result: {}</p>", state.word());
    let Some(outcome) = &result.outcome else {
        return;
    };
    for part in outcome.shown() {
        match part {
            OutputPart::Text(text) => bounded(out, &text.text, budget),
            OutputPart::Image(image) => picture(out, &image, budget),
            _ => {}
        }
    }
}

/// Puts a long text into the page as it is, its middle left out.
fn bounded(out: &mut String, text: &str, budget: &mut Budget) {
    let clipped = clip(text, budget.take(text.len(), OUTPUT));
    code_block(out, clipped.head);
    if clipped.left_out > 0 {
        left_out(out, clipped.left_out);
        code_block(out, clipped.tail);
    }
}

pub(super) fn left_out(out: &mut String, bytes: usize) {
    let _ = writeln!(
        out,
        "<p class=\"cut\">… {} bytes are left out here …</p>",
        grouped(bytes as u64)
    );
}

/// Puts a picture into the page, if it is certain to be one.
pub(super) fn picture(out: &mut String, image: &Image, budget: &mut Budget) {
    let known = matches!(
        image.media_type.as_str(),
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    );
    let plain = image
        .data
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let note = if !known || !plain {
        "is not of a kind that is shown"
    } else if !budget.take_picture(image.data.len()) {
        "is left out for its size"
    } else {
        let _ = writeln!(
            out,
            "<img alt=\"A picture\" src=\"data:{};base64,{}\">",
            image.media_type, image.data
        );
        return;
    };
    out.push_str("<p class=\"cut\">A picture (");
    attribute(out, &one_line(&image.media_type, 60));
    let _ = writeln!(
        out,
        ", {} bytes) {note}.</p>",
        grouped(image.data.len() as u64 / 4 * 3)
    );
}
