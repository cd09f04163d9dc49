//! One word of a command line after quotes are removed.

use std::fmt;
use std::path::Path;

use super::invisible::{is_deceptive, visible};
use super::opaque::OpaqueKind;

/// A word as the program would get it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Exactly this text.
    Literal(String),
    /// The names that match, or the pattern itself where none does.
    Glob {
        /// The pattern; what was quoted in it is escaped with `\`.
        pattern: String,
        /// The text before its first special character: each name begins with it.
        start: String,
    },
    /// Not known, but for a `$?` in it, which is a number. The text is the one on the line.
    Unknown(String),
}

impl Word {
    /// The text, where it is certain.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Glob { .. } | Self::Unknown(_) => None,
        }
    }

    /// Whether a program could take it for an option.
    pub(crate) fn may_be_option(&self) -> bool {
        match self {
            Self::Literal(text) => text.starts_with('-'),
            Self::Glob { start, .. } => start.is_empty() || start.starts_with('-'),
            Self::Unknown(_) => true,
        }
    }
}

impl fmt::Display for Word {
    /// Quoted so that bash would read the same word, with what cannot be seen escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(&quoted(text)),
            Self::Glob { pattern, .. } => f.write_str(&visible(pattern)),
            Self::Unknown(text) => write!(f, "‹{}›", visible(text)),
        }
    }
}

/// `text` in quotes of a shell, where it needs them: in `$'…'` where something has to be escaped.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-+=./,:@%^".contains(c);
    if !text.is_empty() && text.chars().all(|c| is_plain(c) && !is_deceptive(c)) {
        return text.to_owned();
    }
    if text
        .chars()
        .any(|c| matches!(c, '\n' | '\t') || is_deceptive(c))
    {
        let escaped = text.replace('\\', r"\\").replace('\'', r"\'");
        return format!("$'{}'", visible(&escaped));
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a `$` before `next` stands for itself. A smaller set than bash's, so that nothing that
/// expands is in it.
pub(super) fn is_plain_dollar(next: Option<char>, in_quotes: bool) -> bool {
    match next {
        None | Some(' ' | '\t' | '\n') => true,
        Some('"' | '|' | '/' | ')' | '.' | ',') => in_quotes,
        Some(_) => false,
    }
}

/// Reads `raw`, a word with its quotes; or says what is in it that is no literal text.
pub(super) fn unquote(raw: &str, home: Option<&Path>) -> Result<Word, OpaqueKind> {
    let mut reading = Reading::default();
    let mut rest = raw;
    if let Some(after) = raw.strip_prefix('~') {
        let home = home.and_then(Path::to_str).ok_or(OpaqueKind::Tilde)?;
        if !(after.is_empty() || after.starts_with('/')) {
            return Err(OpaqueKind::Tilde);
        }
        home.chars().for_each(|c| reading.quoted(c));
        rest = after;
    }
    reading.read(rest)?;
    let has_status = reading.has_status;
    let word = reading.finish()?;
    Ok(if has_status {
        Word::Unknown(raw.to_owned())
    } else {
        word
    })
}

/// A word while it is read.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a character that was seen"
)]
struct Reading {
    text: String,
    pattern: String,
    /// Where in `text` the first special character of a glob stands.
    special: Option<usize>,
    open_bracket: bool,
    brackets: bool,
    open_brace: bool,
    list: bool,
    last: Option<char>,
    /// `$?`, a number, stands in it.
    has_status: bool,
}

impl Reading {
    fn quoted(&mut self, c: char) {
        self.text.push(c);
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '{' | '}' | '!' | '^') {
            self.pattern.push('\\');
        }
        self.pattern.push(c);
        self.last = None;
    }

    fn plain(&mut self, c: char) -> Result<(), OpaqueKind> {
        match c {
            '*' | '?' => {
                self.special.get_or_insert(self.text.len());
            }
            '[' => {
                self.special.get_or_insert(self.text.len());
                self.open_bracket = true;
            }
            ']' => self.brackets |= self.open_bracket,
            '{' => self.open_brace = true,
            ',' => self.list = true,
            '.' if self.last == Some('.') => self.list = true,
            // Bash expands it in what looks like an assignment, wherever that stands.
            '~' if matches!(self.last, Some('=' | ':')) => return Err(OpaqueKind::Tilde),
            _ => {}
        }
        self.text.push(c);
        if matches!(c, '{' | '}') {
            self.pattern.push('\\');
        }
        self.pattern.push(c);
        self.last = Some(c);
        Ok(())
    }

    fn read(&mut self, raw: &str) -> Result<(), OpaqueKind> {
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some(escaped) => self.quoted(escaped),
                    None => return Err(OpaqueKind::NotUnderstood),
                },
                '\'' => loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(inner) => self.quoted(inner),
                        None => return Err(OpaqueKind::NotUnderstood),
                    }
                },
                '"' => loop {
                    match chars.next() {
                        Some('"') => break,
                        Some('\\') => match chars.next() {
                            Some(escaped @ ('$' | '`' | '"' | '\\')) => self.quoted(escaped),
                            Some(other) => {
                                self.quoted('\\');
                                self.quoted(other);
                            }
                            None => return Err(OpaqueKind::NotUnderstood),
                        },
                        Some('`') => return Err(OpaqueKind::Substitution),
                        Some('$') if chars.next_if_eq(&'?').is_some() => self.has_status = true,
                        Some('$') => self.dollar(chars.peek().copied(), true)?,
                        Some(inner) => self.quoted(inner),
                        None => return Err(OpaqueKind::NotUnderstood),
                    }
                },
                '`' => return Err(OpaqueKind::Substitution),
                '$' if chars.next_if_eq(&'?').is_some() => self.has_status = true,
                '$' => self.dollar(chars.peek().copied(), false)?,
                c => self.plain(c)?,
            }
        }
        Ok(())
    }

    fn dollar(&mut self, next: Option<char>, in_quotes: bool) -> Result<(), OpaqueKind> {
        if is_plain_dollar(next, in_quotes) {
            self.quoted('$');
            return Ok(());
        }
        Err(match next {
            Some('(') => OpaqueKind::Substitution,
            _ => OpaqueKind::Expansion,
        })
    }

    fn finish(self) -> Result<Word, OpaqueKind> {
        if self.open_brace && self.list {
            return Err(OpaqueKind::BraceExpansion);
        }
        let is_glob = self.brackets || self.pattern_has_star();
        Ok(match self.special {
            Some(at) if is_glob => Word::Glob {
                start: self.text.get(..at).unwrap_or_default().to_owned(),
                pattern: self.pattern,
            },
            _ => Word::Literal(self.text),
        })
    }

    fn pattern_has_star(&self) -> bool {
        let mut escaped = false;
        for c in self.pattern.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '*' | '?' => return true,
                _ => {}
            }
        }
        false
    }
}
