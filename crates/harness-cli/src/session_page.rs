//! All that there is to say of one session.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use harness_core::Message;
use harness_session::{Body, Entry, Error, Session};
use serde_json::{Value, json};

use crate::quantity::{date_time, size};
use crate::session_facts::Facts;
use crate::session_sent::Sent;
use crate::session_words::{line, messages, reply_text, user_text, word};
use crate::short_ids::ShortIds;
use crate::terminal::one_line;

/// The most characters of a call's arguments.
const ARGUMENTS: usize = 160;
/// The most lines of a result.
const RESULT_LINES: usize = 12;
/// The most characters of a result.
const RESULT: usize = 2_000;

/// A session, and what was counted in it.
pub(crate) struct SessionPage<'s> {
    session: &'s Session,
    path: &'s Path,
    facts: Facts,
    name: Option<String>,
    bytes: u64,
    ids: ShortIds,
}

impl<'s> SessionPage<'s> {
    pub(crate) fn of(session: &'s Session, path: &'s Path) -> Result<Self, Error> {
        Ok(Self {
            session,
            path,
            facts: Facts::of(session)?,
            name: session.name()?,
            bytes: fs::metadata(path).map_or(0, |metadata| metadata.len()),
            ids: ShortIds::of_entries(session)?,
        })
    }

    /// For people: the facts, and the conversation of the branch.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let mut text = self.head();
        let branch = self.branch()?;
        let sent = Sent::of(self.session, &branch)?;
        for (place, entry) in branch.iter().enumerate() {
            if let Body::Compaction(body) = &entry.body {
                let (id, said) = (
                    self.ids.short(&entry.id),
                    sent.compaction(&branch, place, body),
                );
                let _ = write!(
                    text,
                    "\n[compaction {id}, {}: {said}]\n",
                    one_line(&body.reason)
                );
            }
            self.put(&mut text, entry, sent.mark(place, entry))?;
        }
        Ok(text)
    }

    /// The facts, and a line for each entry of the session.
    pub(crate) fn entries(&self) -> Result<String, Error> {
        let mut text = self.head();
        text.push('\n');
        let log = self.session.log();
        let nodes = self.session.nodes()?;
        let widths = nodes.iter().map(|node| self.ids.short(&node.id).len());
        let width = widths.max().unwrap_or_default();
        for number in 0..log.len() {
            match log.read(number) {
                Ok(entry) => {
                    let line = line(log, &entry, &self.ids)?;
                    let (id, time) = (self.ids.short(&entry.id), date_time(entry.time));
                    let _ = writeln!(text, "{id:<width$}  {time}  {line}");
                }
                Err(error @ Error::Unreadable { .. }) => {
                    let _ = writeln!(text, "({})", one_line(&error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(text)
    }

    /// For programs: the facts and the messages, or with `entries` the entries.
    pub(crate) fn json(&self, entries: bool) -> Result<String, Error> {
        let header = self.session.header();
        let mut object = json!({
            "id": header.id,
            "file": self.path.display().to_string(),
            "bytes": self.bytes,
            "cwd": header.cwd.as_ref().map(|folder| folder.display().to_string()),
            "began": header.time,
            "parent": header.parent,
            "name": self.name,
            "leaf": self.session.leaf(),
        });
        if let (Some(object), Value::Object(facts)) = (object.as_object_mut(), self.facts.json()) {
            object.extend(facts);
        }
        let log = self.session.log();
        if entries {
            let mut lines = Vec::new();
            for entry in log.read_all(&(0..log.len()).collect::<Vec<_>>())? {
                lines.push(json!({
                    "id": entry.id,
                    "parent": entry.parent,
                    "time": entry.time,
                    "type": entry.body.kind(),
                    "line": line(log, &entry, &self.ids)?,
                }));
            }
            object["entry_list"] = lines.into();
        } else {
            let mut all = Vec::new();
            for entry in self.branch()? {
                for message in messages(log, &entry)? {
                    all.push(json!({
                        "entry": entry.id,
                        "time": entry.time,
                        "type": entry.body.kind(),
                        "message": message,
                    }));
                }
            }
            object["messages"] = all.into();
        }
        Ok(object.to_string())
    }

    fn branch(&self) -> Result<Vec<Entry>, Error> {
        self.session.log().read_all(&self.session.branch()?)
    }

    fn head(&self) -> String {
        let header = self.session.header();
        let mut lines = vec![
            ("session", header.id.to_string()),
            ("name", self.name.clone().unwrap_or_default()),
            (
                "file",
                format!("{} ({})", self.path.display(), size(self.bytes)),
            ),
        ];
        if let Some(folder) = &header.cwd {
            lines.push(("folder", folder.display().to_string()));
        }
        lines.push(("began", date_time(header.time)));
        if let Some(last) = self.facts.last {
            lines.push(("last entry", date_time(last)));
        }
        if let Some(agent) = header.agent() {
            lines.push(("subagent", agent.to_owned()));
        }
        if let Some(parent) = &header.parent {
            lines.push(("came from", parent.session.to_string()));
        }
        lines.extend(self.facts.lines());
        let mut text = String::new();
        for (name, value) in lines {
            if !value.is_empty() {
                let _ = writeln!(text, "{name:<14} {}", one_line(&value));
            }
        }
        text
    }

    /// What an entry brings into the conversation.
    fn put(&self, text: &mut String, entry: &Entry, mark: &str) -> Result<(), Error> {
        let kind = match &entry.body {
            Body::Compaction(_) => ", a summary of what was before",
            Body::BranchSummary(_) => ", a summary of what was left behind",
            _ => "",
        };
        for message in messages(self.session.log(), entry)? {
            let id = self.ids.short(&entry.id);
            match message {
                Message::User(user) => {
                    let said = user_text(&user);
                    let _ = write!(text, "\n[user {id}{kind}{mark}]\n{}\n", said.trim_end());
                }
                Message::Assistant(reply) => {
                    let said = reply_text(&reply, ARGUMENTS);
                    let _ = write!(text, "\n[assistant {id}{kind}{mark}]\n{said}");
                }
                Message::ToolResults(results) => {
                    for result in &results.results {
                        let (name, word) = (one_line(&result.name), word(&result.outcome));
                        let shown = bounded(&result.outcome.shown_text());
                        let _ = write!(text, "\n[{name}: {word}{mark}]\n{shown}");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The beginning of a result, with a note of what is left out.
fn bounded(text: &str) -> String {
    let text = text.trim_end();
    let mut end = text.floor_char_boundary(RESULT);
    if let Some((line_end, _)) = text.match_indices('\n').nth(RESULT_LINES - 1) {
        end = end.min(line_end);
    }
    let (shown, rest) = text.split_at(end);
    match rest.len() {
        0 => format!("{shown}\n"),
        more => format!("{shown}\n(… {more} more bytes)\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_bounded() {
        assert_eq!(bounded("one\ntwo\n"), "one\ntwo\n");
        let lines = "line\n".repeat(20);
        let shown = bounded(&lines);
        assert_eq!(shown.lines().count(), RESULT_LINES + 1, "{shown}");
        assert!(shown.ends_with("(… 40 more bytes)\n"), "{shown}");
        let wide = bounded(&"ä".repeat(2_000));
        assert!(wide.ends_with("(… 2000 more bytes)\n"), "{wide}");
    }
}
