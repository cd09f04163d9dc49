//! What a session's list needs to know, from the beginning and the end of its file.

use std::fs::File;
use std::path::Path;
use std::time::UNIX_EPOCH;

use harness_core::{Message, UserMessage, UserPart};
use memchr::memmem;

use crate::block_cache::read_up_to;
use crate::entry::{Body, Entry, Envelope, NameBody};
use crate::error::Error;
use crate::header::Header;
use crate::header_line;
use crate::id::{SessionId, Timestamp};
use crate::line_index;
use crate::migration::Migrations;
use crate::session_files::{SessionFiles, open_with_metadata};
use crate::store::Listed;

/// What is read first of the beginning, and at most.
const HEAD: [usize; 3] = [16 * 1024, 64 * 1024, 256 * 1024];
/// What is read first of the end, and at most, if the index does not tell more.
const TAIL: [u64; 2] = [16 * 1024, 256 * 1024];
/// The most bytes that are kept of what the user said first.
const PROMPT: usize = 400;

/// The buffers of one list.
#[derive(Debug, Default)]
pub(crate) struct Glance {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Glance {
    /// What a list says of a session. A session that cannot be read has a problem.
    pub(crate) fn at(&mut self, files: &SessionFiles, migrations: Migrations) -> Listed {
        let path = files.session();
        let (file, metadata) = match open_with_metadata(&path, false) {
            Ok(opened) => opened,
            Err(error) => {
                let error = Error::io("cannot read", &path)(error);
                return problem(files.id, Timestamp::default(), 0, &error);
            }
        };
        let since = metadata.modified().ok();
        let since = since.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = Timestamp(since.unwrap_or_default().as_millis() as u64);
        let size = metadata.len();
        match self.read(&file, &path, files, size, migrations) {
            Ok((header, first_prompt, name)) => {
                let mut listed = Listed::new(header, modified, size);
                listed.first_prompt = first_prompt;
                listed.name = name;
                listed
            }
            Err(error) => problem(files.id, modified, size, &error),
        }
    }

    fn read(
        &mut self,
        file: &File,
        path: &Path,
        files: &SessionFiles,
        size: u64,
        migrations: Migrations,
    ) -> Result<(Header, Option<String>, Option<String>), Error> {
        let cannot_read = |error| Error::io("cannot read", path)(error);
        self.head.clear();
        let mut first = None;
        let mut prompt = None;
        for length in HEAD {
            let start = self.head.len();
            self.head.resize(length, 0);
            let read = read_up_to(file, &mut self.head[start..], start as u64);
            self.head.truncate(start + read.map_err(cannot_read)?);
            let is_all = self.head.len() < length;
            let has_line = memchr::memchr(b'\n', &self.head).is_some();
            if first.is_none() && (has_line || is_all || length == HEAD[HEAD.len() - 1]) {
                first = Some(header_line::parse(&self.head, path, files.id, migrations)?);
            }
            if let Some(first) = &first {
                let entries = self.head.get(first.end as usize..).unwrap_or_default();
                prompt = first_prompt(entries);
            }
            if prompt.is_some() || is_all {
                break;
            }
        }
        let Some(first) = first else {
            return Err(Error::Invalid {
                place: path.display().to_string(),
                problem: "it has no first line".to_owned(),
            });
        };
        let name = self
            .name(file, files, first.end, size)
            .map_err(cannot_read)?;
        Ok((first.header, prompt, name))
    }

    /// The name that the session was given last.
    fn name(
        &mut self,
        file: &File,
        files: &SessionFiles,
        header_end: u64,
        size: u64,
    ) -> std::io::Result<Option<String>> {
        for (step, length) in TAIL.into_iter().enumerate() {
            let start = size.saturating_sub(length).max(header_end);
            if start <= header_end && size.saturating_sub(header_end) <= self.head.len() as u64 {
                // All of it is here already.
                let entries = self.head.get(header_end as usize..).unwrap_or_default();
                return Ok(last_name(entries).and_then(|body| body.name));
            }
            self.tail.resize((size - start) as usize, 0);
            let read = read_up_to(file, &mut self.tail, start)?;
            self.tail.truncate(read);
            // The first line may have lost its beginning.
            let whole = match memchr::memchr(b'\n', &self.tail) {
                Some(at) if start > header_end => at + 1,
                _ => 0,
            };
            if let Some(body) = last_name(&self.tail[whole..]) {
                return Ok(body.name);
            }
            let begin = start + whole as u64;
            if step == 0
                && let Some((record, end)) = line_index::named(&files.index(), files.id, size)
                && end >= begin
            {
                let Some(record) = record else {
                    return Ok(None);
                };
                let mut line = vec![0; record.length as usize];
                let read = read_up_to(file, &mut line, record.offset)?;
                let named = Entry::parse(&line[..read]).ok();
                if let Some(entry) = named.filter(|entry| entry.id == record.id) {
                    return Ok(name_of(entry).and_then(|body| body.name));
                }
            }
        }
        Ok(None)
    }
}

/// A session that cannot be read.
fn problem(id: SessionId, modified: Timestamp, bytes: u64, error: &Error) -> Listed {
    let mut header = Header::new(None);
    header.id = id;
    header.time = id.time();
    let mut listed = Listed::new(header, modified, bytes);
    listed.problem = Some(error.to_string());
    listed
}

/// What the user said first, in the lines at a session's beginning; the last one may be cut.
fn first_prompt(mut lines: &[u8]) -> Option<String> {
    while !lines.is_empty() {
        let end = memchr::memchr(b'\n', lines);
        let line = &lines[..end.unwrap_or(lines.len())];
        lines = end.map_or(&[], |end| &lines[end + 1..]);
        if memmem::find(line, b"\"user\"").is_none() {
            continue;
        }
        let prompt = match Entry::parse(line) {
            Ok(entry) => prompt_of(&entry),
            Err(_) if end.is_none() => cut_prompt(line),
            Err(_) => None,
        };
        if prompt.is_some() {
            return prompt;
        }
    }
    None
}

/// What the user says in an entry, if it is a message of the user's.
pub(crate) fn prompt_of(entry: &Entry) -> Option<String> {
    match &entry.body {
        Body::Message(body) => match &*body.message {
            Message::User(user) => text_of(user),
            _ => None,
        },
        _ => None,
    }
}

fn text_of(user: &UserMessage) -> Option<String> {
    let text = user.content.iter().find_map(|part| match part {
        UserPart::Text(part) if !part.text.trim().is_empty() => Some(part.text.trim()),
        _ => None,
    })?;
    Some(cut(text).to_owned())
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(PROMPT)]
}

/// The beginning of the text in a line of which only the beginning is known.
fn cut_prompt(line: &[u8]) -> Option<String> {
    const START: &[u8] = b"{\"type\":\"message\"";
    const TEXT: &[u8] = b"\"text\":\"";
    // Only as this crate writes it.
    if !line.starts_with(START) {
        return None;
    }
    let user = memmem::find(line, b"\"role\":\"user\"")?;
    let start = user + memmem::find(&line[user..], TEXT)? + TEXT.len();
    let part = &line[start..(start + 2 * PROMPT).min(line.len())];
    let text = part.utf8_chunks().next()?.valid();
    // An escape may be cut, too: the longest part that can be read counts.
    (0..=12.min(text.len())).find_map(|less| {
        let part = text.get(..text.len() - less)?;
        let text: String = serde_json::from_str(&format!("\"{part}\"")).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| cut(text).to_owned())
    })
}

/// What the last line says that names the session.
fn last_name(lines: &[u8]) -> Option<NameBody> {
    let mut end = lines.len();
    // Few lines have this word; only those are read.
    while let Some(at) = memmem::rfind(&lines[..end], b"\"name\"") {
        let start = memchr::memrchr(b'\n', &lines[..at]).map_or(0, |at| at + 1);
        let stop = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |it| at + it);
        let line = &lines[start..stop];
        let is_name =
            serde_json::from_slice::<Envelope<'_>>(line).is_ok_and(|it| it.kind == "name");
        if is_name && let Some(body) = Entry::parse(line).ok().and_then(name_of) {
            return Some(body);
        }
        end = start;
    }
    None
}

fn name_of(entry: Entry) -> Option<NameBody> {
    match entry.body {
        Body::Name(body) => Some(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_found_in_a_line_that_is_cut_anywhere() {
        let text = format!("Say \"hé\\n\u{1}\" 👍 {}", "and so on ".repeat(100));
        let body = crate::entry::MessageBody {
            message: Message::user(text.clone()).into(),
            queued: None,
        };
        let id = crate::id::EntryId::after(None, Timestamp(1));
        let entry = Entry {
            id,
            parent: None,
            time: Timestamp(1),
            body: Body::Message(body),
        };
        let mut line = Vec::new();
        entry.write(&mut line).unwrap();
        let begins = memmem::find(&line, b"\"text\":\"").unwrap() + 9;
        for end in begins..=line.len() {
            let found = first_prompt(&line[..end]).unwrap_or_default();
            assert!(
                !found.is_empty() && text.starts_with(&found),
                "{end}: {found}"
            );
        }
    }
}
