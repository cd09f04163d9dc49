//! A first reading of a command line, on quotes alone.
//!
//! It is the second opinion on the parser: each finds the words by itself, and a line on which they
//! differ is not understood. It also takes out what the parser shall not see (joined lines, comments,
//! the bodies of here-documents) and keeps the parser's work bounded.

use super::invisible::is_deceptive;
use super::opaque::{Opaque, OpaqueKind};
use super::word::{Word, is_plain_dollar, unquote};

/// The longest line that is read, in bytes.
pub(super) const BYTES: usize = 16 * 1024;

/// The most words of a line.
const WORDS: usize = 1024;

/// The most words and brackets that open something. The parser takes a stack's room for each, and tries
/// an open bracket in two ways.
const OPENINGS: usize = 12;

/// The most `$` and backticks that may open something.
const EXPANSIONS: usize = 64;

/// A piece of a line: a word with its quotes, or the operators between two words, without blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lexeme {
    Word(String),
    Operators(String),
}

/// What the first reading found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// What the parser is to read. `None`: it shall not read this line at all.
    pub(super) clean: Option<String>,
    pub(super) lexemes: Vec<Lexeme>,
    pub(super) opaque: Vec<Opaque>,
    /// No `$` and no backtick opens anything, so the quotes are where this reading saw them.
    pub(super) is_plain: bool,
}

/// A here-document whose body is still to come.
struct Pending {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    clean: String,
    word: Option<String>,
    lexemes: Vec<Lexeme>,
    opaque: Vec<Opaque>,
    pending: Vec<Pending>,
    expansions: usize,
    /// Why the parser shall not read it.
    stopped: Option<OpaqueKind>,
}

pub(super) fn scan(text: &str) -> Scan {
    let mut opaque = Vec::new();
    if let Some((at, _)) = text.char_indices().find(|(_, c)| is_deceptive(*c)) {
        let before = text.get(..at).unwrap_or_default();
        let from = before.rfind([' ', '\n']).map_or(0, |blank| blank + 1);
        let shown = text.get(from..).unwrap_or_default();
        opaque.push(Opaque::new(OpaqueKind::Invisible, shown));
    }
    if text.len() > BYTES {
        opaque.push(Opaque::new(OpaqueKind::TooLong, text));
        return Scan {
            opaque,
            ..Scan::default()
        };
    }
    let mut scanner = Scanner {
        text,
        at: 0,
        clean: String::with_capacity(text.len()),
        word: None,
        lexemes: Vec::new(),
        opaque,
        pending: Vec::new(),
        expansions: 0,
        stopped: None,
    };
    scanner.run();
    scanner.end()
}

/// Whether `word` begins like an assignment to an element, and bash may read on behind its end for the `]`:
/// `a[;]` is one word.
fn has_open_subscript(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some(rest) = word.trim_start_matches(is_name).strip_prefix('[') else {
        return false;
    };
    let balance = 1 + rest.matches('[').count();
    !word.starts_with('[')
        && (balance != rest.matches(']').count() || rest.contains(['\'', '"', '\\']))
}

/// Whether `word`, just before a redirection, is a variable for the number of what is opened.
fn names_descriptor(word: &str) -> bool {
    word.starts_with('{') && word.ends_with('}')
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn stop(&mut self, kind: OpaqueKind) {
        self.stopped.get_or_insert(kind);
    }

    fn push(&mut self, c: char) {
        self.clean.push(c);
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            if has_open_subscript(&word) {
                self.stop(OpaqueKind::NotUnderstood);
            }
            self.lexemes.push(Lexeme::Word(word));
        }
    }

    fn operator(&mut self, text: &str) {
        self.end_word();
        self.clean.push_str(text);
        match self.lexemes.last_mut() {
            Some(Lexeme::Operators(operators)) => operators.push_str(text),
            _ => self.lexemes.push(Lexeme::Operators(text.to_owned())),
        }
    }

    fn run(&mut self) {
        while self.stopped.is_none() {
            let Some(c) = self.take() else { break };
            match c {
                '\\' => self.escape(),
                '\'' => self.single_quotes(),
                '"' => self.double_quotes(),
                '$' | '`' => self.expansion(c, false),
                '#' if self.word.is_none() => {
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += end;
                }
                ' ' | '\t' => {
                    self.end_word();
                    self.clean.push(c);
                }
                '\n' => {
                    self.operator("\n");
                    self.bodies();
                }
                // `{PATH}>file`: the variable gets the number of the open file, and keeps it.
                '<' | '>' if self.word.as_deref().is_some_and(names_descriptor) => {
                    self.stop(OpaqueKind::Assignment);
                }
                '<' if self.rest().starts_with("<<") => {
                    self.at += 2;
                    self.operator("<<<");
                }
                '<' if self.rest().starts_with('<') => self.here_document(),
                '(' if self.rest().starts_with('(') => self.stop(OpaqueKind::Arithmetic),
                '|' | '&' | ';' | '(' | ')' | '<' | '>' => {
                    self.operator(c.encode_utf8(&mut [0; 4]));
                }
                c => self.push(c),
            }
        }
        self.end_word();
        if !self.pending.is_empty() {
            self.stop(OpaqueKind::NotUnderstood);
        }
    }

    /// What follows a `\` outside of quotes.
    fn escape(&mut self) {
        match self.take() {
            // The two join the lines, wherever they stand.
            Some('\n') => {}
            Some(c) => {
                self.push('\\');
                self.push(c);
            }
            None => self.stop(OpaqueKind::NotUnderstood),
        }
    }

    fn single_quotes(&mut self) {
        self.push('\'');
        loop {
            match self.take() {
                Some('\'') => break self.push('\''),
                Some('\n') if !self.pending.is_empty() => {
                    break self.stop(OpaqueKind::NotUnderstood);
                }
                Some(c) => self.push(c),
                None => break self.stop(OpaqueKind::NotUnderstood),
            }
        }
    }

    fn double_quotes(&mut self) {
        self.push('"');
        loop {
            match self.take() {
                Some('"') => break self.push('"'),
                Some('\n') if !self.pending.is_empty() => {
                    break self.stop(OpaqueKind::NotUnderstood);
                }
                Some('\\') => match self.take() {
                    Some('\n') => {}
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => break self.stop(OpaqueKind::NotUnderstood),
                },
                Some(c @ ('$' | '`')) => self.expansion(c, true),
                Some(c) => self.push(c),
                None => break self.stop(OpaqueKind::NotUnderstood),
            }
            if self.stopped.is_some() {
                break;
            }
        }
    }

    fn expansion(&mut self, c: char, in_quotes: bool) {
        self.push(c);
        if c == '$' && is_plain_dollar(self.peek(), in_quotes) {
            return;
        }
        // A number, whatever was run before: it is known to hold nothing else.
        if c == '$' && self.peek() == Some('?') {
            return;
        }
        let kind = match (c, self.peek()) {
            ('`', _) => OpaqueKind::Substitution,
            (_, Some('(')) if self.rest().starts_with("((") => OpaqueKind::Arithmetic,
            (_, Some('(')) => OpaqueKind::Substitution,
            _ => OpaqueKind::Expansion,
        };
        if self.expansions == 0 {
            let shown = self.text.get(self.at - c.len_utf8()..).unwrap_or_default();
            let shown = shown.lines().next().unwrap_or_default();
            self.opaque.push(Opaque::new(kind, shown));
        }
        self.expansions += 1;
        if self.expansions > EXPANSIONS {
            self.stop(OpaqueKind::TooDeep);
        }
    }

    /// After `<`, before the second one. The parser gets an empty here-string for it.
    fn here_document(&mut self) {
        self.at += 1;
        let strips_tabs = self.rest().starts_with('-');
        self.at += usize::from(strips_tabs);
        while self.rest().starts_with([' ', '\t']) {
            self.at += 1;
        }
        self.operator("<<<");
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>' => break,
                // Delimiters in pieces, with blanks or with expansions are nobody's.
                '`' | '$' => return self.stop(OpaqueKind::NotUnderstood),
                _ => self.at += c.len_utf8(),
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        let is_quoted = raw.contains(['\'', '"', '\\']);
        match unquote(raw, None) {
            Ok(Word::Literal(delimiter)) if !delimiter.is_empty() => self.pending.push(Pending {
                delimiter,
                is_quoted,
                strips_tabs,
            }),
            // In what expands, `<<` can be a shift.
            _ => return self.stop(OpaqueKind::NotUnderstood),
        }
        if self.expansions > 0 {
            return self.stop(OpaqueKind::NotUnderstood);
        }
        self.push('\'');
        self.push('\'');
        self.end_word();
        self.clean.push(' ');
    }

    /// At the begin of a line, after the line that announced them.
    fn bodies(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            loop {
                if self.at >= self.text.len() {
                    return self.stop(OpaqueKind::NotUnderstood);
                }
                let rest = self.rest();
                let line = rest.split('\n').next().unwrap_or_default().to_owned();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let compared = if pending.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if compared == pending.delimiter {
                    break;
                }
                if !pending.is_quoted {
                    // A `\` at the end joins lines, and can hide the last one.
                    if line.ends_with('\\') {
                        return self.stop(OpaqueKind::NotUnderstood);
                    }
                    if let Some(at) = line.find(['$', '`']) {
                        let kind = match line.get(at..at + 2) {
                            Some("$(") => OpaqueKind::Substitution,
                            _ if line.get(at..=at) == Some("`") => OpaqueKind::Substitution,
                            _ => OpaqueKind::Expansion,
                        };
                        self.opaque.push(Opaque::new(kind, &line));
                    }
                }
            }
        }
    }

    fn end(mut self) -> Scan {
        let is_opening = |word: &str| {
            let names = [
                "{", "if", "while", "until", "for", "case", "select", "function", "[[", "!",
            ];
            names.contains(&word)
        };
        let mut words = 0;
        let mut openings = 0;
        for lexeme in &self.lexemes {
            match lexeme {
                Lexeme::Word(word) => {
                    words += 1;
                    openings += usize::from(is_opening(word));
                    // A number before `<` or `>` has to fit an i32 of the parser.
                    if word.len() > 9 && word.bytes().all(|b| b.is_ascii_digit()) {
                        words += usize::from(self.clean.contains(['<', '>'])) * WORDS;
                    }
                }
                Lexeme::Operators(operators) => {
                    openings += operators.matches('(').count();
                    words += operators.len();
                }
            }
        }
        if words > WORDS {
            self.stop(OpaqueKind::TooLong);
        }
        if openings > OPENINGS {
            self.stop(OpaqueKind::TooDeep);
        }
        if let Some(kind) = self.stopped {
            self.opaque.push(Opaque::new(kind, self.text));
        }
        Scan {
            clean: self.stopped.is_none().then_some(self.clean),
            lexemes: self.lexemes,
            opaque: self.opaque,
            is_plain: self.expansions == 0,
        }
    }
}
