//! A session as Markdown.

use std::fmt::Write as _;
use std::io;

use harness_core::{AssistantMessage, AssistantPart, Message, OutputPart, UserMessage, UserPart};

use super::arguments::laid_out;
use super::calendar::{date_time, duration};
use super::clip::{clip, dollars, grouped};
use super::outcome::{Resolved, results};
use super::overview::Overview;
use super::prose::{fenced, prose, words};
use super::span::SpanKind;
use super::{flush, put, read};
use crate::entry::{Body, Entry, Settled};
use crate::error::Error;
use crate::store::Log;

/// The most bytes of a result.
const RESULT: usize = 8 * 1024;
/// The most bytes of any other text.
const TEXT: usize = 256 * 1024;

pub(super) fn write(log: &dyn Log, out: &mut dyn io::Write) -> Result<(), Error> {
    let overview = Overview::read(log)?;
    let mut text = String::new();
    head(&mut text, log, &overview);
    put(out, text.as_bytes())?;
    for number in &overview.branch {
        text.clear();
        match read(log, *number)? {
            Some(entry) => put_entry(&mut text, log, &overview, *number, &entry)?,
            None => text.push_str("\n*An entry that cannot be read.*\n"),
        }
        put(out, text.as_bytes())?;
    }
    text.clear();
    totals(&mut text, &overview);
    put(out, text.as_bytes())?;
    flush(out)
}

fn head(out: &mut String, log: &dyn Log, overview: &Overview) {
    let header = log.header();
    let name = overview.name.as_deref().unwrap_or("Session");
    let _ = writeln!(out, "# {}\n", words(name));
    let _ = writeln!(out, "- Session: `{}`", header.id);
    if let Some(cwd) = &header.cwd {
        let _ = writeln!(out, "- Folder: {}", words(&cwd.display().to_string()));
    }
    let _ = writeln!(out, "- Began: {} UTC", date_time(header.time));
    if let Some(last) = overview.last {
        let _ = writeln!(out, "- Last entry: {} UTC", date_time(last));
    }
    if let Some(agent) = header.agent() {
        let _ = writeln!(out, "- Subagent: {}", words(agent));
    }
    if let Some(parent) = &header.parent {
        let _ = writeln!(out, "- Came from session: `{}`", parent.session);
    }
    for model in &overview.models {
        let _ = writeln!(out, "- Model: {}", words(&model.to_string()));
    }
    let elsewhere = overview
        .entries
        .iter()
        .filter(|gist| !gist.on_branch && gist.kind.is_message())
        .count();
    if elsewhere > 0 {
        let _ = writeln!(out, "- Messages on other branches, not shown: {elsewhere}");
    }
    if overview.unreadable > 0 {
        let _ = writeln!(
            out,
            "- Entries that cannot be read: {}",
            overview.unreadable
        );
    }
}

fn totals(out: &mut String, overview: &Overview) {
    let totals = &overview.totals;
    let usage = &totals.usage;
    out.push_str("\n---\n\n## Totals of the session\n\n");
    let _ = writeln!(out, "- Turns: {}", grouped(totals.turns));
    let _ = writeln!(
        out,
        "- Tool calls: {}, of which {} were not done",
        grouped(totals.calls),
        grouped(totals.failed)
    );
    let _ = writeln!(
        out,
        "- Tokens in: {} ({} from the cache, {} into it)",
        grouped(usage.input_tokens),
        grouped(usage.cache_read_tokens),
        grouped(usage.cache_write_tokens)
    );
    let _ = writeln!(
        out,
        "- Tokens out: {} ({} of them thinking)",
        grouped(usage.output_tokens),
        grouped(usage.reasoning_tokens)
    );
    let _ = writeln!(out, "- Cost: {}", totals.cost.words());
    let spent: u64 = overview
        .spans
        .all
        .iter()
        .filter(|span| span.kind == SpanKind::Run)
        .map(|span| span.end - span.begin)
        .fold(0, u64::saturating_add);
    if spent > 0 {
        let _ = writeln!(out, "- Time in runs: {}", duration(spent));
    }
}

fn heading(out: &mut String, overview: &Overview, entry: &Entry, who: &str) {
    let _ = write!(out, "\n## {who} · {} UTC", date_time(entry.time));
    if let Some(label) = overview.labels.get(&entry.id) {
        let _ = write!(out, " · “{}”", words(label));
    }
    out.push_str("\n\n");
}

fn put_entry(
    out: &mut String,
    log: &dyn Log,
    overview: &Overview,
    number: u64,
    entry: &Entry,
) -> Result<(), Error> {
    match &entry.body {
        Body::Message(body) => match &*body.message {
            Message::User(user) => {
                heading(out, overview, entry, "User");
                put_user(out, user);
            }
            Message::Assistant(reply) => {
                heading(out, overview, entry, "Assistant");
                put_reply(out, reply, overview.costs.get(&number).copied());
            }
            _ => put_results(out, log, overview, entry)?,
        },
        Body::Results(_) => put_results(out, log, overview, entry)?,
        Body::CustomMessage(body) if body.display => {
            let who = format!("User, by {}", words(&body.kind));
            heading(out, overview, entry, &who);
            put_user(out, &body.message);
        }
        Body::Compaction(body) => {
            heading(out, overview, entry, "Compaction");
            let _ = writeln!(
                out,
                "*From here on, this stands for the beginning of the conversation (about {} tokens, {}):*\n",
                grouped(body.tokens_before),
                words(&body.reason)
            );
            for message in &body.messages {
                put_message(out, message);
            }
        }
        Body::BranchSummary(body) => {
            heading(out, overview, entry, "Summary of a branch that was left");
            put_message(out, &body.message);
        }
        Body::ModelChange(body) => {
            let _ = writeln!(
                out,
                "\n*Model from here on: {}*",
                words(&body.model.to_string())
            );
        }
        Body::ThinkingChange(body) => {
            let _ = writeln!(out, "\n*Thinking from here on: {}*", body.thinking.as_str());
        }
        Body::Settlement(settlement) => match &settlement.what {
            Settled::Run { outcome, error, .. } if outcome != "finished" => {
                let _ = write!(out, "\n*The run ended: {}", words(outcome));
                if let Some(error) = error {
                    let _ = write!(out, ", {}", words(error));
                }
                out.push_str("*\n");
            }
            Settled::Model {
                error: Some(error), ..
            } => {
                let _ = writeln!(out, "\n*A request failed: {}*", words(error));
            }
            _ => {}
        },
        Body::Unknown(body) => {
            let _ = writeln!(
                out,
                "\n*An entry of the unknown type {}.*",
                words(&body.kind)
            );
        }
        _ => {}
    }
    Ok(())
}

fn put_message(out: &mut String, message: &Message) {
    match message {
        Message::User(user) => put_user(out, user),
        Message::Assistant(reply) => put_reply(out, reply, None),
        _ => {}
    }
}

fn put_user(out: &mut String, user: &UserMessage) {
    for part in &user.content {
        match part {
            UserPart::Text(text) => put_text(out, &text.text),
            UserPart::Image(image) => put_picture(out, &image.media_type, image.data.len()),
            _ => {}
        }
    }
}

fn put_text(out: &mut String, text: &str) {
    let clipped = clip(text, TEXT);
    if clipped.left_out == 0 {
        prose(out, text);
    } else {
        fenced(out, "text", clipped.head);
        left_out(out, clipped.left_out);
        fenced(out, "text", clipped.tail);
    }
}

fn put_picture(out: &mut String, media_type: &str, base64: usize) {
    let _ = writeln!(
        out,
        "*A picture ({}, {} bytes).*\n",
        words(media_type),
        grouped(base64 as u64 / 4 * 3)
    );
}

fn put_reply(out: &mut String, reply: &AssistantMessage, cost: Option<f64>) {
    for part in &reply.content {
        match part {
            AssistantPart::Text(text) => put_text(out, &text.text),
            AssistantPart::Thinking(thinking) if thinking.text.trim().is_empty() => {}
            AssistantPart::Thinking(thinking) => {
                out.push_str("*Thinking:*\n\n");
                put_fenced(out, "text", &thinking.text, TEXT);
                out.push('\n');
            }
            AssistantPart::ToolCall(call) => {
                let _ = writeln!(out, "**Calls {}**\n", words(&call.name));
                match laid_out(&call.arguments) {
                    Some(json) => put_fenced(out, "json", &json, TEXT),
                    None => put_fenced(out, "text", &call.arguments, TEXT),
                }
                out.push('\n');
            }
            _ => {}
        }
    }
    let _ = write!(out, "*{}", words(&reply.model.to_string()));
    if let Some(usage) = &reply.usage {
        let _ = write!(
            out,
            " · {} tokens in, {} out",
            grouped(usage.input_tokens),
            grouped(usage.output_tokens)
        );
    }
    if let Some(cost) = cost {
        let _ = write!(out, " · {}", dollars(cost));
    }
    out.push_str("*\n");
}

fn put_results(
    out: &mut String,
    log: &dyn Log,
    overview: &Overview,
    entry: &Entry,
) -> Result<(), Error> {
    heading(out, overview, entry, "Results");
    for result in results(log, entry)? {
        put_result(out, &result);
    }
    Ok(())
}

fn put_result(out: &mut String, result: &Resolved) {
    let state = result.state();
    let _ = write!(out, "**{} {}", words(&result.name), state.word());
    if let Some(elapsed) = result.elapsed {
        let _ = write!(out, " in {}", duration(elapsed.as_millis() as u64));
    }
    out.push_str("**\n\n");
    let parts = result
        .outcome
        .as_ref()
        .map(|outcome| outcome.shown())
        .unwrap_or_default();
    for part in parts {
        match part {
            OutputPart::Text(text) => put_fenced(out, "text", &text.text, RESULT),
            OutputPart::Image(image) => put_picture(out, &image.media_type, image.data.len()),
            _ => {}
        }
        out.push('\n');
    }
}

fn put_fenced(out: &mut String, language: &str, text: &str, most: usize) {
    let clipped = clip(text, most);
    fenced(out, language, clipped.head);
    if clipped.left_out > 0 {
        left_out(out, clipped.left_out);
        fenced(out, language, clipped.tail);
    }
}

fn left_out(out: &mut String, bytes: usize) {
    let _ = writeln!(
        out,
        "\n*… {} bytes are left out …*\n",
        grouped(bytes as u64)
    );
}
