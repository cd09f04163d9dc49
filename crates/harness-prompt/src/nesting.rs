//! How deep a source nests, and what else the parser cannot take, found before the parser sees it.
//!
//! The parser is a recursive descent without a depth limit: a few kilobytes of `{{#if a}}`, or of
//! `(` in a tag, overflow the stack, which no caller can catch. So the depth is counted first, by a
//! scanner that cannot be talked into counting too little: whatever would let a tag hide from it
//! (raw blocks, brackets, braces and backslashes inside tags) is refused. Prompts do not need them.
//!
//! It is slow, too: a tag takes it as long as kilobytes of text, for the line of each tag it counts from the
//! beginning of the source, and each backslash makes it look at all that follow in the same row. So its
//! steps are estimated, and rows of backslashes are short.

use crate::error::Error;
use crate::limits::{MAX_NESTING, MAX_PARSE_STEPS};

/// How many backslashes may stand in a row.
const MAX_BACKSLASHES: usize = 16;

/// What a tag takes besides the way to it.
const STEPS_PER_TAG: u64 = 8192;

/// What it takes to parse `source`; see [`MAX_PARSE_STEPS`].
pub(crate) fn parse_steps(source: &str) -> u64 {
    let tags = source.match_indices("{{");
    tags.map(|(at, _)| STEPS_PER_TAG + at as u64).sum()
}

/// Fails if `source` nests deeper than [`MAX_NESTING`], takes more than [`MAX_PARSE_STEPS`], or cannot be told. What it finds besides is
/// for a better word than the parser's, should the parser fail.
pub(crate) fn check(template: &str, source: &str) -> Result<Option<Suspect>, Error> {
    Scanner {
        template,
        source,
        at: 0,
        blocks: Vec::new(),
        suspect: None,
    }
    .run()
}

/// What is probably wrong with a source that cannot be parsed.
#[derive(Debug)]
pub(crate) struct Suspect {
    pub(crate) line: usize,
    pub(crate) message: &'static str,
}

struct Scanner<'s> {
    template: &'s str,
    source: &'s str,
    at: usize,
    /// The open blocks, outermost first.
    blocks: Vec<Block>,
    suspect: Option<Suspect>,
}

struct Block {
    open: usize,
    /// How many levels it adds: one, and one for each `else`, because the parser makes a chain of
    /// them.
    levels: usize,
}

impl Scanner<'_> {
    fn run(mut self) -> Result<Option<Suspect>, Error> {
        if parse_steps(self.source) > MAX_PARSE_STEPS {
            return Err(Error::Limit {
                template: self.template.to_owned(),
                line: None,
                what: "the effort of parsing, which grows with the number of tags and the text before them,",
                max: MAX_PARSE_STEPS,
            });
        }
        if let Some(at) = self.source.find(&"\\".repeat(MAX_BACKSLASHES + 1)) {
            self.at = at;
            self.refuse("there are too many backslashes in a row")?;
        }
        while let Some(offset) = self.rest().find("{{") {
            let open = self.at + offset;
            let backslashes = self.source[..open]
                .bytes()
                .rev()
                .take_while(|b| *b == b'\\')
                .count();
            if backslashes == 1 {
                // `\{{` is text; two or more backslashes are text before a tag.
                self.at = open
                    + if self.source[open..].starts_with("{{{{") {
                        4
                    } else {
                        2
                    };
            } else {
                self.at = open + 2;
                self.tag(open)?;
            }
        }
        if let Some(block) = self.blocks.pop() {
            self.suspect(block.open, "this block is not closed");
        }
        Ok(self.suspect)
    }

    fn suspect(&mut self, at: usize, message: &'static str) {
        let line = self.line(at);
        self.suspect.get_or_insert(Suspect { line, message });
    }

    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    /// From behind `{{`, which is at `open`, to behind `}}`.
    fn tag(&mut self, open: usize) -> Result<(), Error> {
        if self.rest().starts_with("{{") {
            return self.refuse("raw blocks are not supported; write `\\{{` for two braces");
        }
        let mut braces = 2;
        if self.rest().starts_with('{') {
            self.at += 1;
            braces = 3;
        }
        self.skip(|c| c.is_whitespace() || c == '~');
        if braces == 2 && self.rest().starts_with('{') {
            self.at += 1;
            braces = 3;
        }
        if self.rest().starts_with('!') {
            self.comment();
            return Ok(());
        }
        if self.rest().starts_with('/') {
            if self.blocks.pop().is_none() {
                self.suspect(open, "this closes no block");
            }
        } else if self.rest().starts_with('#') {
            self.blocks.push(Block { open, levels: 1 });
        } else if self.rest().starts_with('^') || self.rest().starts_with("else") {
            // The grammar reads `{{elsewhere}}` as `{{else where}}`, too.
            if let Some(block) = self.blocks.last_mut() {
                block.levels += 1;
            }
        }
        let outside: usize = self.blocks.iter().map(|block| block.levels).sum();
        self.limit(outside)?;
        let mut parentheses = 0_usize;
        while let Some(next) = self.rest().chars().next() {
            self.at += next.len_utf8();
            match next {
                '(' => {
                    parentheses += 1;
                    self.limit(outside + parentheses)?;
                }
                ')' => parentheses = parentheses.saturating_sub(1),
                '"' | '\'' => self.string(next)?,
                '[' | ']' => {
                    return self.refuse("`[` and `]` are not supported inside a tag");
                }
                '{' => {
                    return self.refuse("`{` inside a tag; is the tag before it closed?");
                }
                '\\' => return self.refuse("`\\` is not supported inside a tag"),
                '}' => {
                    while braces > 1 && self.rest().starts_with(['}', '~']) {
                        braces -= usize::from(self.rest().starts_with('}'));
                        self.at += 1;
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.suspect(open, "this tag is not closed");
        Ok(())
    }

    /// From behind the opening quote to behind the closing one.
    fn string(&mut self, quote: char) -> Result<(), Error> {
        let length = self.rest().find(quote).unwrap_or(self.rest().len());
        if let Some(backslash) = self.rest()[..length].find('\\') {
            self.at += backslash;
            return self.refuse("`\\` is not supported inside a tag");
        }
        self.at = (self.at + length + 1).min(self.source.len());
        Ok(())
    }

    /// From `!` to behind the comment's end.
    fn comment(&mut self) {
        self.at += 1;
        let compact = self.at;
        self.skip(char::is_whitespace);
        if self.rest().starts_with("--") {
            self.at += 2;
            if let Some(end) = self.rest().find("--}}") {
                self.at += end + 4;
                return;
            }
            self.at = compact;
        }
        self.at = self
            .rest()
            .find("}}")
            .map_or(self.source.len(), |end| self.at + end + 2);
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(skipped).len();
    }

    fn limit(&self, levels: usize) -> Result<(), Error> {
        if levels <= MAX_NESTING {
            return Ok(());
        }
        Err(Error::Limit {
            template: self.template.to_owned(),
            line: Some(self.line(self.at)),
            what: "the nesting of blocks, branches and parentheses",
            max: MAX_NESTING as u64,
        })
    }

    fn refuse(&self, message: &str) -> Result<(), Error> {
        Err(Error::Refused {
            template: self.template.to_owned(),
            line: Some(self.line(self.at)),
            message: message.to_owned(),
        })
    }

    fn line(&self, at: usize) -> usize {
        self.source[..at].matches('\n').count() + 1
    }
}
