//! Frontmatter that is not YAML as a whole, cut into fields at the lines that begin them.

use crate::quoting;
use crate::repair::FieldKinds;

/// Frontmatter in blocks.
pub(crate) struct Blocks<'b> {
    /// What is above the first field.
    pub(crate) above: &'b str,
    pub(crate) fields: Vec<Block<'b>>,
}

/// The lines of a field: one at column 0 with its key, and those up to the next such one.
pub(crate) struct Block<'b> {
    /// The key, without quotes.
    pub(crate) key: &'b str,
    /// All lines, with their ends.
    pub(crate) text: &'b str,
    /// The first line, counted from 1.
    pub(crate) line: usize,
    /// Where the value begins in the first line, in bytes; at the end of the line if it has none.
    pub(crate) value_at: usize,
    /// Whether the blank behind the colon is missing.
    pub(crate) is_tight: bool,
}

impl<'b> Block<'b> {
    /// The first line, without its end.
    pub(crate) fn first_line(&self) -> &'b str {
        self.text.lines().next().unwrap_or_default()
    }

    /// What stands in the first line behind the colon, without blanks around it.
    pub(crate) fn value(&self) -> &'b str {
        self.first_line()
            .get(self.value_at..)
            .unwrap_or_default()
            .trim_end()
    }

    /// The lines below the first.
    pub(crate) fn below(&self) -> impl Iterator<Item = &'b str> {
        self.text.lines().skip(1)
    }

    /// Whether nothing but blank lines and comments is below the first line.
    pub(crate) fn is_one_line(&self) -> bool {
        self.below().all(is_blank_or_comment)
    }

    /// Whether a quote that the value begins with ends in the block.
    fn closes_quote(&self) -> bool {
        if !self.value().starts_with(['"', '\'']) {
            return true;
        }
        let value = self.text.get(self.value_at..).unwrap_or_default();
        quoting::quoted_length(value).is_some()
    }
}

/// Cuts `block`. `None` if what belongs to a field cannot be told: a quote or a bracket stays open, or
/// there is a mark of YAML documents.
pub(crate) fn cut<'b>(block: &'b str, kinds: &FieldKinds<'_>) -> Option<Blocks<'b>> {
    let mut blocks = Blocks {
        above: block,
        fields: Vec::new(),
    };
    let mut flow = Flow::default();
    let mut last = "";
    let mut at = 0;
    for (index, line) in block.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let line = line.trim_end_matches('\n');
        if is_blank_or_comment(line) {
            continue;
        }
        if line.starts_with("---") || line.starts_with("...") {
            return None;
        }
        let found = key_line(line, kinds).filter(|found| !flow.holds(found, last));
        match found {
            Some(found) => {
                flow.end()?;
                close(&mut blocks, block, start, last, kinds)?;
                flow.add(line.get(found.value_at..).unwrap_or_default());
                blocks.fields.push(Block {
                    key: found.key,
                    text: block.get(start..)?,
                    line: index + 1,
                    value_at: found.value_at,
                    is_tight: found.is_tight,
                });
            }
            None => flow.add(line),
        }
        last = line;
    }
    flow.end()?;
    close(&mut blocks, block, block.len(), "", kinds)?;
    Some(blocks)
}

/// Ends the last block at byte `end`, behind the line `last`.
fn close<'b>(
    blocks: &mut Blocks<'b>,
    block: &'b str,
    end: usize,
    last: &str,
    kinds: &FieldKinds<'_>,
) -> Option<()> {
    let Some(field) = blocks.fields.last_mut() else {
        blocks.above = block.get(..end)?;
        return Some(());
    };
    let length = end - (block.len() - field.text.len());
    field.text = field.text.get(..length)?;
    // Within a value of several lines, what goes on at column 0 may be part of it.
    let is_prose = kinds.is_text(field.key) || field.value().starts_with(['|', '>']);
    let is_open = !is_prose && last.starts_with([' ', '\t']) && goes_on(last);
    (!is_open && field.closes_quote()).then_some(())
}

/// Whether brackets that are open promise more below `line`.
fn goes_on(line: &str) -> bool {
    line.trim_end().ends_with(['{', '[', ','])
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// The brackets that a value opened and did not close.
#[derive(Default)]
struct Flow {
    open: usize,
    /// Whether a line that looks like a field was taken for a part of the value.
    took_field: bool,
}

impl Flow {
    /// Whether the line of `found` is part of the value above, whose last line is `last`.
    fn holds(&mut self, found: &KeyLine<'_>, last: &str) -> bool {
        if self.open == 0 {
            return false;
        }
        let holds = found.is_quoted || goes_on(last);
        self.took_field |= holds;
        holds
    }

    /// Counts the brackets of a value, or of a line below it.
    fn add(&mut self, value: &str) {
        if self.open > 0 || value.starts_with(['[', '{']) {
            self.count(value);
        }
    }

    fn count(&mut self, line: &str) {
        let mut in_quotes = false;
        let mut escaped = false;
        for byte in line.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_quotes => escaped = true,
                b'"' => in_quotes = !in_quotes,
                b'[' | b'{' if !in_quotes => self.open += 1,
                b']' | b'}' if !in_quotes => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Ends with the block. `None` if it took a field and was not closed after all.
    fn end(&mut self) -> Option<()> {
        let ended = std::mem::take(self);
        (ended.open == 0 || !ended.took_field).then_some(())
    }
}

/// A line that begins a field.
struct KeyLine<'b> {
    key: &'b str,
    value_at: usize,
    is_quoted: bool,
    is_tight: bool,
}

/// `key: value` at column 0, the key without blanks or in quotes. Words with a colon behind them are
/// prose, lest a field is made up.
fn key_line<'b>(line: &'b str, kinds: &FieldKinds<'_>) -> Option<KeyLine<'b>> {
    let is_quoted = line.starts_with(['"', '\'']);
    let (key, after) = if is_quoted {
        let length = quoting::quoted_length(line)?;
        let key = line.get(1..length - 1)?;
        if key.contains(['\\', '\'', '"']) {
            return None;
        }
        let blanks = line.get(length..)?.trim_start_matches([' ', '\t']);
        (key, line.len() - blanks.strip_prefix(':')?.len())
    } else {
        plain_key(line, kinds)?
    };
    let rest = line.get(after..)?;
    let value = rest.trim_start_matches([' ', '\t']);
    let is_tight = !rest.is_empty() && value.len() == rest.len();
    if is_tight && is_quoted {
        return None;
    }
    Some(KeyLine {
        key,
        value_at: line.len() - value.len(),
        is_quoted,
        is_tight,
    })
}

/// The key that a line begins with, and where its colon ends.
fn plain_key<'b>(line: &'b str, kinds: &FieldKinds<'_>) -> Option<(&'b str, usize)> {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";
    if line.starts_with(|c: char| INDICATORS.contains(c)) {
        return None;
    }
    let word = line.split([' ', '\t']).next()?;
    // The parser passes over a byte order mark in front of a key.
    if word.contains(|c: char| c.is_whitespace() || c == '\u{feff}') {
        return None;
    }
    if let Some(key) = word.strip_suffix(':') {
        return (!key.is_empty()).then_some((key, word.len()));
    }
    // Without the blank, only what is known for a key is one: `http://…` begins no field.
    let (key, _) = word.split_once(':')?;
    let is_known = kinds.is_text(key) || kinds.is_structure(key) || kinds.is_unique(key);
    is_known.then_some((key, key.len() + 1))
}

/// The key of the field that a line of frontmatter begins, if it begins one.
pub(crate) fn key_of(line: &str) -> Option<&str> {
    key_line(line, &FieldKinds::default()).map(|found| found.key)
}
