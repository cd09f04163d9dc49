//! Fields that are read each alone.

use crate::blocks::{Block, Blocks};
use crate::error::Error;
use crate::mapping::{Entry, Key, Mapping};
use crate::node::{Node, Scalar, Style};
use crate::quoting::{self, Quoter};
use crate::recover::{Attempt, is_final, last_wins};
use crate::repair::{Repair, RepairKind};
use crate::tree::{self, Names, Read, Source, Spent};

/// Reads each field alone.
pub(crate) struct Singly<'a, 'q> {
    attempt: &'a Attempt<'a>,
    quoter: Quoter<'q>,
    spent: Spent,
    read: Read,
    names: Names,
    repairs: Vec<Repair>,
}

/// What became of a field.
enum Fate {
    Read(Read),
    Quoted(Read),
    Raw(String),
    Dropped,
    /// Nothing of the frontmatter is to be taken.
    Refused,
}

impl<'a, 'q> Singly<'a, 'q> {
    pub(crate) fn new(attempt: &'a Attempt<'a>, quoter: Quoter<'q>) -> Self {
        Self {
            attempt,
            quoter,
            spent: attempt.unspent(),
            read: Read {
                fields: Mapping::empty(attempt.source.place(1, 0)),
                first_alias: None,
                again: Vec::new(),
            },
            names: Names::default(),
            repairs: Vec::new(),
        }
    }

    /// `None` if nothing of it is to be taken.
    pub(crate) fn read(
        mut self,
        blocks: &Blocks<'_>,
    ) -> Result<Option<(Read, Vec<Repair>)>, Error> {
        let Attempt { source, limits, .. } = *self.attempt;
        if blocks.fields.len() > limits.nodes {
            let what = "the nodes are";
            let position = source.place(1, 0);
            return Err(tree::limit(what, limits.nodes, position));
        }
        if self.above(blocks.above).is_none() || self.is_unique_twice(blocks) {
            return Ok(None);
        }
        for block in &blocks.fields {
            let taken = match self.fate(block)? {
                Fate::Refused => None,
                Fate::Dropped => {
                    self.note(RepairKind::Dropped, block);
                    Some(())
                }
                Fate::Raw(text) => {
                    self.note(RepairKind::Raw, block);
                    let entry = self.raw_entry(block, text);
                    self.put(entry)
                }
                Fate::Read(read) => self.put_all(read),
                Fate::Quoted(read) => {
                    self.note(RepairKind::Quoted, block);
                    self.put_all(read)
                }
            };
            if taken.is_none() {
                return Ok(None);
            }
        }
        // What is read without a repair is not what the strict reader refused.
        let is_it = !self.repairs.is_empty() && !self.read.fields.is_empty();
        Ok(is_it.then_some((self.read, self.repairs)))
    }

    /// What is above the first field: comments, or words that are left out. `None` if it may be the
    /// begin of something that the fields are in.
    fn above(&mut self, above: &str) -> Option<()> {
        let mut lines = above.lines().enumerate();
        let first = lines.find(|(_, line)| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        let Some((index, line)) = first else {
            return Some(());
        };
        line.starts_with(char::is_alphanumeric).then(|| {
            self.repairs.push(Repair {
                kind: RepairKind::Dropped,
                key: String::new(),
                position: self.attempt.source.place(index + 1, 0),
            });
        })
    }

    fn is_unique_twice(&self, blocks: &Blocks<'_>) -> bool {
        let mut unique = self.attempt.kinds.unique.iter();
        unique.any(|key| {
            let fields = blocks.fields.iter();
            fields.filter(|block| block.key == *key).count() > 1
        })
    }

    fn fate(&mut self, block: &Block<'_>) -> Result<Fate, Error> {
        if block.is_tight {
            return Ok(Fate::Dropped);
        }
        let kinds = self.attempt.kinds;
        match self.alone(block, block.text) {
            Ok(read) if read.fields.get(block.key).is_some() => return Ok(Fate::Read(read)),
            Err(error) if is_final(&error) => return Err(error),
            Err(Error::DuplicateKey { .. }) => return Ok(Fate::Refused),
            Err(Error::KeyNotText { .. }) if kinds.is_text(block.key) => return Ok(Fate::Refused),
            Err(Error::KeyNotText { .. }) => return Ok(Fate::Dropped),
            // A quote that is opened somewhere in it.
            Err(Error::Yaml { message, .. }) if message.contains("end of stream") => {
                return Ok(Fate::Refused);
            }
            _ => {}
        }
        if !kinds.is_structure(block.key)
            && let Some(text) = self
                .quoter
                .quote(block, self.attempt.value_position(block))?
        {
            match self.alone(block, &text) {
                Ok(read) => return Ok(Fate::Quoted(read)),
                Err(error) if is_final(&error) => return Err(error),
                Err(_) => {}
            }
        }
        if !kinds.is_text(block.key) {
            return Ok(Fate::Dropped);
        }
        let text = quoting::raw(block);
        Ok(if text.is_empty() {
            Fate::Dropped
        } else {
            Fate::Raw(text)
        })
    }

    /// Reads `text`, which is `block` with at most quotes added.
    fn alone(&mut self, block: &Block<'_>, text: &str) -> Result<Read, Error> {
        let Attempt { source, limits, .. } = *self.attempt;
        let source = Source {
            block: text,
            below: source.below + block.line - 1,
            ..source
        };
        tree::read(source, limits, &mut self.spent, self.attempt.twice())
    }

    fn raw_entry(&self, block: &Block<'_>, text: String) -> Entry {
        Entry {
            key: Key {
                text: block.key.to_owned(),
                position: self.attempt.source.place(block.line, 0),
            },
            value: Node::Scalar(Scalar {
                text,
                // It is text, whatever it looks like.
                style: Style::SingleQuoted,
                position: self.attempt.value_position(block),
            }),
        }
    }

    fn note(&mut self, kind: RepairKind, block: &Block<'_>) {
        self.repairs.push(self.attempt.repair(kind, block));
    }

    fn put_all(&mut self, mut read: Read) -> Option<()> {
        self.repairs.extend(last_wins(&mut read));
        self.read.first_alias = self.read.first_alias.or(read.first_alias);
        for entry in read.fields.entries {
            self.put(entry)?;
        }
        Some(())
    }

    /// `None` if the key is there already, and must not be.
    fn put(&mut self, entry: Entry) -> Option<()> {
        let fields = &mut self.read.fields;
        if fields.is_empty() {
            fields.position = entry.key.position;
        }
        let Some(at) = self.names.find(&fields.entries, &entry.key.text) else {
            fields.entries.push(entry);
            return Some(());
        };
        if self.attempt.kinds.is_unique(&entry.key.text) {
            return None;
        }
        self.repairs.push(Repair {
            kind: RepairKind::LastWins,
            key: entry.key.text.clone(),
            position: entry.key.position,
        });
        *fields.entries.get_mut(at)? = entry;
        Some(())
    }
}
