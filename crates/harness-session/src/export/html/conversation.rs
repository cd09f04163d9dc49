//! The messages: the branch of the leaf, and those of other branches behind a fold.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;

use harness_core::{AssistantMessage, AssistantPart, Message, UserMessage, UserPart};

use super::call::{Budget, call, left_out, lone_result, picture};
use super::escape::{attribute, escaped};
use super::head::time;
use super::rich_text::{code_block, rich_text};
use super::tree::Outline;
use crate::entry::{Body, Entry, Settled};
use crate::error::Error;
use crate::export::clip::{clip, dollars, grouped, one_line};
use crate::export::outcome::{Resolved, results};
use crate::export::overview::{Gist, Overview};
use crate::export::{put, read};
use crate::node::NodeKind;
use crate::store::Log;

/// The most bytes of one part of a message.
const TEXT: usize = 256 * 1024;

/// Writes messages, one at a time.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    log: &'a dyn Log,
    overview: &'a Overview,
    budget: Budget,
    /// Results that were shown with their calls.
    shown: HashSet<u64>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(log: &'a dyn Log, overview: &'a Overview) -> Self {
        Self {
            log,
            overview,
            budget: Budget::default(),
            shown: HashSet::new(),
        }
    }

    pub(super) fn write_branch(&mut self, out: &mut dyn io::Write) -> Result<(), Error> {
        put(out, b"<section id=\"conversation\" aria-labelledby=\"conversation-title\">\n<h2 id=\"conversation-title\">Conversation</h2>\n")?;
        if self.overview.branch.is_empty() {
            put(out, b"<p class=\"cut\">Nothing was said yet.</p>\n")?;
        }
        let branch = &self.overview.branch;
        self.write_all(branch, out)?;
        put(out, b"</section>\n")
    }

    pub(super) fn write_others(&mut self, out: &mut dyn io::Write) -> Result<(), Error> {
        let branches = other_branches(self.overview);
        if branches.is_empty() {
            return Ok(());
        }
        let opening = format!(
            "<section id=\"others\">\n<h2>Other branches</h2>\n<p class=\"hint\">{} left for the one above.</p>\n",
            match branches.len() {
                1 => "1 branch was".to_owned(),
                many => format!("{many} branches were"),
            }
        );
        put(out, opening.as_bytes())?;
        for branch in &branches {
            let Some(first) = branch.first().and_then(|first| self.overview.gist(*first)) else {
                continue;
            };
            let mut text = String::from("<details class=\"branch\"><summary>");
            attribute(&mut text, &first.text);
            let _ = writeln!(text, " <small>{} entries</small></summary>", branch.len());
            if let Some(parent) = first.parent {
                let _ = writeln!(
                    text,
                    "<p class=\"hint\"><a href=\"#e{0}\">Where it began</a></p>",
                    nearest(self.overview, parent)
                );
            }
            put(out, text.as_bytes())?;
            self.write_all(branch, out)?;
            put(out, b"</details>\n")?;
        }
        put(out, b"</section>\n")
    }

    fn write_all(&mut self, numbers: &[u64], out: &mut dyn io::Write) -> Result<(), Error> {
        let mut text = String::new();
        for (place, number) in numbers.iter().enumerate() {
            text.clear();
            let following = numbers.get(place + 1..).unwrap_or_default();
            match read(self.log, *number)? {
                Some(entry) => self.entry(&mut text, *number, &entry, following)?,
                None => note(&mut text, *number, "An entry that cannot be read"),
            }
            put(out, text.as_bytes())?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        out: &mut String,
        number: u64,
        entry: &Entry,
        following: &[u64],
    ) -> Result<(), Error> {
        match &entry.body {
            Body::Message(body) => match &*body.message {
                Message::User(user) => {
                    self.begin(out, "user", "User", number, entry);
                    self.user(out, user);
                    end(out);
                }
                Message::Assistant(reply) => {
                    self.reply(out, number, entry, reply, following)?;
                }
                _ => self.lone_results(out, number, entry)?,
            },
            Body::Results(_) => self.lone_results(out, number, entry)?,
            Body::CustomMessage(body) => {
                let who = format!("Program ({})", escaped(&one_line(&body.kind, 60)));
                self.begin(out, "user custom", &who, number, entry);
                self.user(out, &body.message);
                end(out);
            }
            Body::Compaction(body) => {
                self.begin(out, "summary", "Compaction", number, entry);
                let _ = writeln!(
                    out,
                    "<p class=\"hint\">From here on, this stands for the beginning of the conversation: about {} tokens before, {}.</p>",
                    grouped(body.tokens_before),
                    escaped(&one_line(&body.reason, 60))
                );
                for message in &body.messages {
                    self.message(out, message);
                }
                end(out);
            }
            Body::BranchSummary(body) => {
                self.begin(
                    out,
                    "summary",
                    "Summary of a branch that was left",
                    number,
                    entry,
                );
                self.message(out, &body.message);
                end(out);
            }
            _ => put_note(out, number, entry),
        }
        Ok(())
    }

    fn begin(&self, out: &mut String, class: &str, who: &str, number: u64, entry: &Entry) {
        let _ = write!(
            out,
            "<article class=\"entry {class}\" id=\"e{number}\"><h3><a href=\"#e{number}\">{who}</a> {}",
            time(entry.time)
        );
        if let Some(label) = self.overview.labels.get(&entry.id) {
            out.push_str(" <span class=\"label\">");
            attribute(out, label);
            out.push_str("</span>");
        }
        out.push_str("</h3>\n");
    }

    fn message(&mut self, out: &mut String, message: &Message) {
        match message {
            Message::User(user) => self.user(out, user),
            Message::Assistant(reply) => {
                for part in &reply.content {
                    if let AssistantPart::Text(text) = part {
                        self.text(out, &text.text);
                    }
                }
            }
            _ => {}
        }
    }

    fn user(&mut self, out: &mut String, user: &UserMessage) {
        for part in &user.content {
            match part {
                UserPart::Text(text) => self.text(out, &text.text),
                UserPart::Image(image) => picture(out, image, &mut self.budget),
                _ => {}
            }
        }
    }

    fn text(&mut self, out: &mut String, text: &str) {
        let clipped = clip(text, self.budget.take(text.len(), TEXT));
        rich_text(out, clipped.head);
        if clipped.left_out > 0 {
            left_out(out, clipped.left_out);
            rich_text(out, clipped.tail);
        }
    }

    fn reply(
        &mut self,
        out: &mut String,
        number: u64,
        entry: &Entry,
        reply: &AssistantMessage,
        following: &[u64],
    ) -> Result<(), Error> {
        self.begin(out, "assistant", "Model", number, entry);
        let results = self.results_of(out, number, reply, following)?;
        for part in &reply.content {
            match part {
                AssistantPart::Text(text) => self.text(out, &text.text),
                AssistantPart::Thinking(thinking) => {
                    out.push_str("<details class=\"thinking\"><summary>Thinking</summary>\n");
                    if thinking.text.trim().is_empty() {
                        out.push_str("<p class=\"cut\">The provider does not show it.</p>\n");
                    } else {
                        self.text(out, &thinking.text);
                    }
                    out.push_str("</details>\n");
                }
                AssistantPart::ToolCall(asked) => {
                    let result = results.iter().find(|result| result.call_id == asked.id);
                    call(out, asked, result, &mut self.budget);
                }
                _ => {}
            }
        }
        self.reply_facts(out, number, reply);
        end(out);
        Ok(())
    }

    fn reply_facts(&self, out: &mut String, number: u64, reply: &AssistantMessage) {
        out.push_str("<p class=\"meta\">");
        attribute(out, &one_line(&reply.model.to_string(), 120));
        if let Some(usage) = &reply.usage {
            let _ = write!(
                out,
                " · {} tokens in ({} cached), {} out",
                grouped(usage.input_tokens),
                grouped(usage.cache_read_tokens),
                grouped(usage.output_tokens)
            );
        }
        if let Some(cost) = self.overview.costs.get(&number) {
            let _ = write!(out, " · {}", dollars(*cost));
        }
        out.push_str(" · ");
        attribute(out, &one_line(&reply.stop.to_string(), 60));
        out.push_str("</p>\n");
    }

    /// The results of a reply's calls: those that follow it in the conversation, else those that were
    /// recorded before the process ended.
    fn results_of(
        &mut self,
        out: &mut String,
        number: u64,
        reply: &AssistantMessage,
        following: &[u64],
    ) -> Result<Vec<Resolved>, Error> {
        let next = following.iter().find(|number| {
            self.overview
                .gist(**number)
                .is_some_and(Gist::is_in_outline)
        });
        if let Some(next) = next
            && self
                .overview
                .gist(*next)
                .is_some_and(|gist| gist.kind == NodeKind::Results)
            && let Some(entry) = read(self.log, *next)?
        {
            let results = results(self.log, &entry)?;
            let all_are_asked = results
                .iter()
                .all(|result| reply.tool_calls().any(|call| call.id == result.call_id));
            if all_are_asked {
                self.shown.insert(*next);
                let _ = writeln!(out, "<span class=\"anchor\" id=\"e{next}\"></span>");
                return Ok(results);
            }
        }
        let mut recorded = Vec::new();
        for asked in reply.tool_calls() {
            if let Some(settlement) = self.overview.settlement_of(&asked.id, number)
                && let Some(entry) = read(self.log, settlement)?
                && let Body::Settlement(settlement) = entry.body
                && let Settled::Tool {
                    outcome, elapsed, ..
                } = settlement.what
            {
                recorded.push(Resolved {
                    call_id: asked.id.clone(),
                    name: asked.name.clone(),
                    outcome: Some(outcome),
                    elapsed: Some(elapsed),
                });
            }
        }
        Ok(recorded)
    }

    fn lone_results(&mut self, out: &mut String, number: u64, entry: &Entry) -> Result<(), Error> {
        if self.shown.contains(&number) {
            return Ok(());
        }
        self.begin(out, "results", "Results", number, entry);
        for result in results(self.log, entry)? {
            lone_result(out, &result, &mut self.budget);
        }
        end(out);
        Ok(())
    }
}

fn end(out: &mut String) {
    out.push_str("</article>\n");
}

/// The branches beside that of the leaf, each as the entries of the outline that are on it alone.
fn other_branches(overview: &Overview) -> Vec<Vec<u64>> {
    let mut branches: Vec<Vec<u64>> = Vec::new();
    let mut at_depth: Vec<Option<usize>> = Vec::new();
    for row in Outline::new(overview).rows {
        if overview.gist(row.number).is_none_or(|gist| gist.on_branch) {
            continue;
        }
        // What is deeper than this row is over.
        at_depth.truncate(row.depth + 1);
        at_depth.resize(row.depth + 1, None);
        let Some(open) = at_depth.last_mut() else {
            continue;
        };
        let branch = match *open {
            Some(branch) if !row.begins => branch,
            _ => {
                branches.push(Vec::new());
                branches.len() - 1
            }
        };
        *open = Some(branch);
        if let Some(branch) = branches.get_mut(branch) {
            branch.push(row.number);
        }
    }
    branches
}

/// The nearest forebear that has a place in the page.
fn nearest(overview: &Overview, number: u64) -> u64 {
    let mut at = number;
    while let Some(gist) = overview.gist(at) {
        if gist.is_in_outline() {
            break;
        }
        match gist.parent {
            Some(parent) => at = parent,
            None => break,
        }
    }
    at
}

fn note(out: &mut String, number: u64, text: &str) {
    let _ = write!(out, "<p class=\"note\" id=\"e{number}\">");
    attribute(out, text);
    out.push_str("</p>\n");
}

/// One line for what is beside the conversation; nothing for what is only the journal's.
fn put_note(out: &mut String, number: u64, entry: &Entry) {
    match &entry.body {
        Body::ModelChange(body) => {
            let model = one_line(&body.model.to_string(), 120);
            note(out, number, &format!("Model from here on: {model}"));
        }
        Body::ThinkingChange(body) => {
            let level = body.thinking.as_str();
            note(out, number, &format!("Thinking from here on: {level}"));
        }
        Body::Leaf(_) => note(out, number, "The conversation went on from here"),
        Body::Name(body) => {
            let name = one_line(body.name.as_deref().unwrap_or("none"), 120);
            note(out, number, &format!("Name of the session: {name}"));
        }
        Body::Usage(body) => {
            let mut text = format!(
                "{}: {} tokens in, {} out",
                one_line(&body.purpose, 60),
                grouped(body.usage.input_tokens),
                grouped(body.usage.output_tokens)
            );
            if let Some(cost) = body.cost {
                let _ = write!(text, ", {}", dollars(cost));
            }
            note(out, number, &text);
        }
        Body::Settlement(settlement) => match &settlement.what {
            Settled::Run { outcome, error, .. } => {
                let mut text = format!("The run ended: {}", one_line(outcome, 60));
                if let Some(error) = error {
                    let _ = write!(text, ", {}", one_line(error, 400));
                }
                if outcome == "failed" || outcome == "limit" {
                    failure(out, number, &text);
                } else {
                    note(out, number, &text);
                }
            }
            Settled::Model {
                error: Some(error), ..
            } => {
                let text = format!("A request failed: {}", one_line(error, 400));
                failure(out, number, &text);
            }
            _ => {}
        },
        Body::Custom(body) => {
            let kind = one_line(&body.kind, 60);
            folded(
                out,
                number,
                &format!("Entry of a program: {kind}"),
                &body.data.to_string(),
            );
        }
        Body::Decision(body) => {
            let kind = one_line(&body.kind, 60);
            let title = format!("Decision about a call: {kind}");
            folded(out, number, &title, &body.decision.to_string());
        }
        Body::Unknown(body) => {
            let kind = one_line(&body.kind, 60);
            folded(
                out,
                number,
                &format!("Entry of an unknown type: {kind}"),
                body.line.get(),
            );
        }
        _ => {}
    }
}

fn failure(out: &mut String, number: u64, text: &str) {
    let _ = write!(out, "<p class=\"note failed\" id=\"e{number}\">✗ ");
    attribute(out, text);
    out.push_str("</p>\n");
}

fn folded(out: &mut String, number: u64, title: &str, text: &str) {
    let _ = write!(out, "<details class=\"note\" id=\"e{number}\"><summary>");
    attribute(out, title);
    out.push_str("</summary>\n");
    let clipped = clip(text, 4_096);
    code_block(out, clipped.head);
    if clipped.left_out > 0 {
        left_out(out, clipped.left_out);
        code_block(out, clipped.tail);
    }
    out.push_str("</details>\n");
}
