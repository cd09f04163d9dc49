//! Reading what the strict reader refuses.
//!
//! Three steps, each only if the one before is not enough. First, what is left of the frontmatter
//! without control characters is read as a whole, and of a key that is there twice the last counts.
//! Then quotes are put around the values of single lines that lack them, and it is read again. At
//! last it is cut at the lines that begin fields, and each is read alone. An error of a bound ends it
//! at once, and all steps together take time in proportion to the frontmatter.

use crate::blocks::{self, Block, Blocks};
use crate::cleaned::Cleaned;
use crate::document::{self, Document, Frame};
use crate::error::Error;
use crate::fences;
use crate::limits::Limits;
use crate::position::Position;
use crate::quoting::Quoter;
use crate::repair::{FieldKinds, Recovered, Repair, RepairKind};
use crate::singly::Singly;
use crate::tree::{self, Again, Read, Source, Spent, Twice};

impl<'t> Document<'t> {
    /// As [`Document::parse_with`]; what that refuses is repaired where it can be told what was meant.
    ///
    /// - Control characters in the frontmatter are taken out, but for NUL, which stays an error.
    /// - Of a key that is there twice the last one counts, in the place of the first; but for those of
    ///   [`FieldKinds::unique`].
    /// - Values of one line that hold `: `, or begin with a character that means something in YAML,
    ///   are read as if they were quoted; but for those of [`FieldKinds::structures`].
    /// - Where that is not enough, each field is read alone. One of [`FieldKinds::texts`] is taken as
    ///   the text that stands there; any other is left out.
    ///
    /// An error that says that a limit was reached, that the frontmatter is not closed or is no
    /// mapping, or that an alias is within its own value, stays. So does the error where a quote is
    /// not closed, and where text is a template that was not filled in (`description: {{ text }}`).
    /// What was done is in [`Recovered::repairs`].
    pub fn recover(
        text: &'t str,
        limits: &Limits,
        kinds: &FieldKinds<'_>,
    ) -> Result<Recovered<'t>, Error> {
        let error = match Self::parse_with(text, limits) {
            Ok(document) => {
                return Ok(Recovered {
                    document,
                    error: None,
                    repairs: Vec::new(),
                });
            }
            Err(error) => error,
        };
        if !may_recover(&error, kinds) {
            return Err(error);
        }
        let frame = Frame::of(text, limits)?;
        let Some(parts) = &frame.parts else {
            return Err(error);
        };
        let cleaned = Cleaned::of(&parts.block, parts.opened);
        // Without a control character, a line may have become a fence.
        if fences::matter(&fences::fenced(&cleaned.block)).as_deref() != Some(cleaned.block.trim())
        {
            return Err(error);
        }
        let attempt = Attempt {
            source: Source {
                block: &cleaned.block,
                below: parts.opened,
                removed: &cleaned.removed,
            },
            limits,
            kinds,
        };
        let (read, mut repairs) = attempt.run()?;
        repairs.extend(cleaned.repair);
        repairs.sort_by_key(|repair| repair.position);
        Ok(Recovered {
            document: frame.document(Some(read)),
            error: Some(error),
            repairs,
        })
    }

    /// As [`Document::recover`], from bytes that may not be UTF-8; those stay an error.
    pub fn recover_bytes(
        bytes: &'t [u8],
        limits: &Limits,
        kinds: &FieldKinds<'_>,
    ) -> Result<Recovered<'t>, Error> {
        Self::recover(document::utf8(bytes, limits)?, limits, kinds)
    }
}

/// Whether there is something to try after `error`.
fn may_recover(error: &Error, kinds: &FieldKinds<'_>) -> bool {
    match error {
        Error::ControlCharacter { character, .. } => *character != '\0',
        Error::DuplicateKey { .. } | Error::Yaml { .. } => true,
        Error::KeyNotText { field, .. } => field.as_ref().is_some_and(|key| !kinds.is_text(key)),
        _ => false,
    }
}

/// Whether `error` says that something costs too much, and nothing else is to be tried.
pub(crate) fn is_final(error: &Error) -> bool {
    matches!(error, Error::Limit { .. } | Error::RecursiveAlias { .. })
}

type Outcome = Result<(Read, Vec<Repair>), Error>;

/// The tries at one frontmatter.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) kinds: &'a FieldKinds<'a>,
}

impl Attempt<'_> {
    fn run(&self) -> Outcome {
        let error = match self.whole(self.source.block) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if !may_recover(&error, self.kinds) || matches!(error, Error::DuplicateKey { .. }) {
            return Err(error);
        }
        let Some(blocks) = blocks::cut(self.source.block, self.kinds) else {
            return Err(error);
        };
        let mut quoter = Quoter::new(self.source.block, self.limits);
        if matches!(error, Error::Yaml { .. })
            && let Some((block, quotes)) = self.quoted(&blocks, &mut quoter)?
        {
            match self.whole(&block) {
                Ok((read, mut repairs)) => {
                    repairs.extend(quotes);
                    return Ok((read, repairs));
                }
                Err(last) if is_final(&last) => return Err(last),
                // Some other field may be what is wrong.
                Err(_) => {}
            }
        }
        Singly::new(self, quoter).read(&blocks)?.ok_or(error)
    }

    /// Reads `block`, which is the frontmatter with at most quotes added.
    fn whole(&self, block: &str) -> Outcome {
        let mut spent = self.unspent();
        let source = Source {
            block,
            ..self.source
        };
        let mut read = tree::read(source, self.limits, &mut spent, self.twice())?;
        let repairs = last_wins(&mut read).collect();
        Ok((read, repairs))
    }

    /// The frontmatter with quotes where they are missing, and the repairs that this is. `None` if it
    /// is nowhere.
    fn quoted(
        &self,
        blocks: &Blocks<'_>,
        quoter: &mut Quoter<'_>,
    ) -> Result<Option<(String, Vec<Repair>)>, Error> {
        let mut all = blocks.above.to_owned();
        let mut repairs = Vec::new();
        for block in &blocks.fields {
            let text = if self.kinds.is_structure(block.key) {
                None
            } else {
                quoter.quote(block, self.value_position(block))?
            };
            if text.is_some() {
                repairs.push(self.repair(RepairKind::Quoted, block));
            }
            all.push_str(text.as_deref().unwrap_or(block.text));
        }
        Ok((!repairs.is_empty()).then_some((all, repairs)))
    }

    pub(crate) fn unspent(&self) -> Spent {
        Spent {
            bytes: self.source.block.len(),
            ..Spent::default()
        }
    }

    pub(crate) fn twice(&self) -> Twice<'_> {
        Twice::LastWins {
            but: self.kinds.unique,
        }
    }

    pub(crate) fn repair(&self, kind: RepairKind, block: &Block<'_>) -> Repair {
        let position = match kind {
            RepairKind::Dropped => self.source.place(block.line, 0),
            _ => self.value_position(block),
        };
        Repair {
            kind,
            key: block.key.to_owned(),
            position,
        }
    }

    pub(crate) fn value_position(&self, block: &Block<'_>) -> Position {
        let before = block.text.get(..block.value_at).unwrap_or_default();
        self.source.place(block.line, before.chars().count())
    }
}

pub(crate) fn last_wins(read: &mut Read) -> impl Iterator<Item = Repair> + use<> {
    let again = std::mem::take(&mut read.again).into_iter();
    again.map(|Again { field, position }| Repair {
        kind: RepairKind::LastWins,
        key: field,
        position,
    })
}
