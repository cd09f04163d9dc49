//! A session for other programs and for people: as JSONL, as Markdown, as a page for a browser.

mod arguments;
mod calendar;
mod clip;
mod html;
mod markdown;
mod outcome;
mod overview;
mod prose;
mod span;
mod totals;

use std::io;

use crate::entry::Entry;
use crate::error::Error;
use crate::header::Header;
use crate::store::Log;

/// Writes the session as JSONL: a line with its header, then each entry that can be read, in the order in
/// which they were appended. Entries of types that this version does not know are written byte for byte.
pub fn export_jsonl(log: &dyn Log, out: &mut dyn io::Write) -> Result<(), Error> {
    #[derive(serde::Serialize)]
    struct First<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
        #[serde(flatten)]
        header: &'a Header,
    }

    let first = First {
        kind: "session",
        header: log.header(),
    };
    let mut line = serde_json::to_vec(&first).map_err(unwritable)?;
    line.push(b'\n');
    put(out, &line)?;
    for number in 0..log.len() {
        let Some(entry) = read(log, number)? else {
            continue;
        };
        line.clear();
        entry.write(&mut line).map_err(unwritable)?;
        put(out, &line)?;
    }
    flush(out)
}

/// Writes the branch of the leaf as Markdown, for people to read and to quote.
///
/// Long results are cut, with a note that says by how much. The words of the session cannot break the
/// structure of the document, and bring no markup of their own beyond Markdown's.
pub fn export_markdown(log: &dyn Log, out: &mut dyn io::Write) -> Result<(), Error> {
    markdown::write(log, out)
}

/// Writes the whole session as one page for a browser, which needs nothing beside it: the conversation, the
/// tree of its branches, a time line, tokens and cost.
///
/// It reads without scripts. Whatever is in the session is shown as text and cannot act; the page's own
/// policy forbids all scripts, styles and addresses but its own. Long texts are cut, with a note that says by
/// how much, so that the page stays one that a browser can open.
pub fn export_html(log: &dyn Log, out: &mut dyn io::Write) -> Result<(), Error> {
    html::write(log, out)
}

/// An entry; `None` if it cannot be read.
fn read(log: &dyn Log, number: u64) -> Result<Option<Entry>, Error> {
    match log.read(number) {
        Ok(entry) => Ok(Some(entry)),
        Err(Error::Unreadable { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn put(out: &mut dyn io::Write, bytes: &[u8]) -> Result<(), Error> {
    out.write_all(bytes)
        .map_err(Error::io("cannot write", "the export"))
}

fn flush(out: &mut dyn io::Write) -> Result<(), Error> {
    out.flush().map_err(Error::io("cannot write", "the export"))
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::io("cannot write", "the export")(error.into())
}
