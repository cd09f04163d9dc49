//! Reading a session's lines into an index.

use std::fs::File;
use std::io;

use crate::entry::Entry;
use crate::line_index::{LineIndex, Place, Unsound};
use crate::lines::{LONGEST, Line, Lines};
use crate::node::NodeKind;

/// The most lines that are told of one by one.
const TOLD: usize = 20;

/// What a scan found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The number of the last line.
    pub(crate) line: u32,
    /// Where the last whole line ends.
    pub(crate) end: u64,
    /// Lines that cannot be read behind the last entry.
    pub(crate) unreadable: u16,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
    /// How many lines were told of, or would have been.
    problems: usize,
    /// Whether the index turned out to be of no use.
    pub(crate) is_unsound: bool,
    /// Where a line begins that has no end and is no entry.
    pub(crate) torn: Option<u64>,
}

impl Scan {
    /// Continues behind what the index has; `header_end` is where the first line ends.
    pub(crate) fn behind(index: &LineIndex, header_end: u64) -> Self {
        let mut scan = Self {
            line: index.last().map_or(1, |last| last.line),
            end: index
                .last()
                .map_or(header_end, |last| last.end().max(header_end)),
            ..Self::default()
        };
        if let Some(count) = index
            .last()
            .map(|last| last.unreadable)
            .filter(|it| *it > 0)
        {
            let (lines, are) = if count == 1 {
                ("line", "is")
            } else {
                ("lines", "are")
            };
            scan.warnings.push(format!(
                "{count} {lines} of the session cannot be read, and {are} passed over"
            ));
        }
        scan
    }

    /// Reads up to `size`, and adds what is there to the index.
    pub(crate) fn run(&mut self, file: &File, size: u64, index: &mut LineIndex) -> io::Result<()> {
        let mut lines = Lines::new(file, self.end, size);
        while let Some(line) = lines.next()? {
            self.line = self.line.saturating_add(1);
            match read(&line) {
                Read::Blank => {}
                Read::Entry(offset, entry) => {
                    let parent = self.parent(&entry, index);
                    let place = Place {
                        offset,
                        length: (line.bytes.len() as u64 - (offset - line.offset)) as u32,
                        parent,
                        line: self.line,
                        unreadable: std::mem::take(&mut self.unreadable),
                    };
                    index.push(place, entry.id, NodeKind::of(&entry.body));
                }
                Read::Problem(_) if !line.is_ended => {
                    self.torn = Some(line.offset);
                    break;
                }
                Read::Problem(why) => {
                    self.unreadable = self.unreadable.saturating_add(1);
                    self.tell(&format!("cannot be read, and is passed over: {why}"));
                }
            }
            self.end = line.end;
        }
        index.forget_ids();
        self.tell_of_the_rest();
        Ok(())
    }

    /// The number of the entry that an entry follows.
    fn parent(&mut self, entry: &Entry, index: &mut LineIndex) -> Option<u32> {
        let parent = entry.parent?;
        let found = index
            .remember_ids()
            .and_then(|()| index.find(parent))
            .unwrap_or_else(|Unsound| {
                self.is_unsound = true;
                None
            });
        if let Some(number) = found {
            return Some(number as u32);
        }
        let nearest = index.len().checked_sub(1).map(|number| number as u32);
        self.tell(&match nearest {
            Some(_) => format!(
                "follows the entry {parent}, which cannot be read; it is taken to follow the entry before it"
            ),
            None => format!(
                "follows the entry {parent}, which cannot be read; it is taken to be the first"
            ),
        });
        nearest
    }

    fn tell(&mut self, what: &str) {
        self.problems += 1;
        if self.problems <= TOLD {
            self.warnings
                .push(format!("line {} of the session {what}", self.line));
        }
    }

    fn tell_of_the_rest(&mut self) {
        if let Some(more) = self.problems.checked_sub(TOLD).filter(|more| *more > 0) {
            self.warnings
                .push(format!("{more} more lines of the session are like this"));
        }
    }
}

/// What a line is.
pub(crate) enum Read {
    Blank,
    /// An entry, and where it begins.
    Entry(u64, Box<Entry>),
    /// Why it is none.
    Problem(String),
}

/// Reads a line. What lost power may leave a run of NULs before it, which is passed over.
pub(crate) fn read(line: &Line<'_>) -> Read {
    if line.is_too_long {
        return Read::Problem(format!("it has more than {LONGEST} bytes"));
    }
    let nulls = line.bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &line.bytes[nulls..];
    if bytes.trim_ascii().is_empty() {
        return if nulls == 0 {
            Read::Blank
        } else {
            Read::Problem("it has nothing but NUL bytes".to_owned())
        };
    }
    match Entry::parse(bytes) {
        Ok(entry) => Read::Entry(line.offset + nulls as u64, Box::new(entry)),
        Err(error) => Read::Problem(error.to_string()),
    }
}
