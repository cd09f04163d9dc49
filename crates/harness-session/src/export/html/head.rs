//! The top of the page: what the session is, and what it used.

use std::fmt::Write as _;

use super::escape::{attribute, escaped};
use crate::export::calendar::{date_time, duration, machine_time};
use crate::export::clip::grouped;
use crate::export::overview::Overview;
use crate::export::span::SpanKind;
use crate::id::Timestamp;
use crate::store::Log;

pub(super) fn write(out: &mut String, log: &dyn Log, overview: &Overview) {
    let header = log.header();
    let title = overview
        .name
        .clone()
        .unwrap_or_else(|| super::first_words(overview));
    out.push_str("<header class=\"top\">\n<p class=\"kicker\">Session</p>\n<h1>");
    attribute(out, &title);
    out.push_str("</h1>\n<dl class=\"facts\">\n");
    if let Some(cwd) = &header.cwd {
        fact(out, "Folder", &escaped(&cwd.display().to_string()));
    }
    let models: Vec<String> = overview
        .models
        .iter()
        .map(|model| escaped(&model.to_string()))
        .collect();
    if !models.is_empty() {
        let name = if models.len() == 1 { "Model" } else { "Models" };
        fact(out, name, &models.join(", "));
    }
    fact(out, "Began", &time(header.time));
    if let Some(last) = overview.last {
        fact(out, "Last entry", &time(last));
    }
    fact(out, "Id", &format!("<code>{}</code>", header.id));
    if let Some(agent) = header.agent() {
        fact(out, "Subagent", &escaped(agent));
    }
    if let Some(parent) = &header.parent {
        fact(
            out,
            "Came from",
            &format!("session <code>{}</code>", parent.session),
        );
    }
    if overview.unreadable > 0 {
        let lost = grouped(overview.unreadable);
        fact(out, "Unreadable", &format!("{lost} entries cannot be read"));
    }
    out.push_str("</dl>\n");
    totals(out, overview);
    out.push_str("</header>\n");
}

fn totals(out: &mut String, overview: &Overview) {
    let totals = &overview.totals;
    let usage = &totals.usage;
    let spent: u64 = overview
        .spans
        .all
        .iter()
        .filter(|span| span.kind == SpanKind::Run)
        .map(|span| span.end - span.begin)
        .fold(0, u64::saturating_add);
    out.push_str("<ul class=\"totals\" aria-label=\"Totals of the session\">\n");
    total(out, "Turns", &grouped(totals.turns), "");
    let failed = match totals.failed {
        0 => "all were done".to_owned(),
        failed => format!("{} not done", grouped(failed)),
    };
    total(out, "Tool calls", &grouped(totals.calls), &failed);
    let cache = format!(
        "{} from the cache, {} into it",
        grouped(usage.cache_read_tokens),
        grouped(usage.cache_write_tokens)
    );
    total(out, "Tokens in", &grouped(usage.input_tokens), &cache);
    let thinking = format!("{} of them thinking", grouped(usage.reasoning_tokens));
    total(out, "Tokens out", &grouped(usage.output_tokens), &thinking);
    total(out, "Cost", &totals.cost.words(), "");
    if spent > 0 {
        total(out, "Time in runs", &duration(spent), "");
    }
    out.push_str("</ul>\n");
}

fn fact(out: &mut String, name: &str, html: &str) {
    let _ = writeln!(out, "<div><dt>{name}</dt><dd>{html}</dd></div>");
}

fn total(out: &mut String, name: &str, number: &str, note: &str) {
    let _ = write!(
        out,
        "<li><span class=\"name\">{name}</span> <b>{number}</b>"
    );
    if !note.is_empty() {
        let _ = write!(out, " <small>{note}</small>");
    }
    out.push_str("</li>\n");
}

/// A time, for people and for machines.
pub(super) fn time(time: Timestamp) -> String {
    format!(
        "<time datetime=\"{}\">{} UTC</time>",
        machine_time(time),
        date_time(time)
    )
}
