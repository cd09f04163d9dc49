//! Names of skills: what they are compared by, and what may be made of them.

use std::fmt;
use std::sync::Arc;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// The most characters of a name (agentskills.io).
pub const MAX_NAME: usize = 64;

/// The most characters of a name that a skill is loaded with: nobody can call it by a longer one.
pub(crate) const LONGEST_NAME: usize = 256;

/// What names are compared by: NFKC and lower case, without what cannot be seen. `Demo` and `demo` are
/// one name, and so are the composed and the decomposed `é`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(Arc<str>);

impl Identity {
    /// Of a name, whatever is in it.
    pub fn of(name: &str) -> Self {
        if name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return Self(name.into());
        }
        let mut name = folded(name);
        // What is composed anew may have blanks in it, or what cannot be seen: `´` is a blank and an accent.
        for _ in 0..MOST_FOLDS {
            let again = folded(&name);
            if again == name {
                break;
            }
            name = again;
        }
        Self(name.into())
    }

    /// Of `name` in a namespace.
    pub fn within(namespace: &str, name: &str) -> Self {
        let (namespace, name) = (Self::of(namespace), Self::of(name));
        Self(format!("{namespace}:{name}").into())
    }

    /// Whether nothing of the name can be seen: what is left is blank, as the blank of Braille is.
    pub(crate) fn is_blank(&self) -> bool {
        let mut chars = self.0.chars();
        chars.all(|c| c.is_whitespace() || c == '\u{2800}')
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// After how many times a name is left as it is. Two are enough for any that is known.
const MOST_FOLDS: usize = 4;

fn folded(name: &str) -> String {
    let shown = shown(name);
    let letters = shown.chars().filter(|c| !is_ignorable(*c));
    let lower = letters.nfkc().collect::<String>().to_lowercase();
    one_line(&lower.nfkc().collect::<String>())
}

/// A name as it is shown: in one line, trimmed, without characters that cannot be seen.
pub(crate) fn shown(name: &str) -> String {
    one_line(&visible(name))
}

/// A text in one line: white space of any kind becomes single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// A text without what cannot be seen and may deceive: control characters but for tabs and line ends, and
/// characters that have no width or turn the direction of writing. Escape sequences go as a whole.
pub(crate) fn visible(text: &str) -> String {
    if text
        .bytes()
        .all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t'))
    {
        return text.to_owned();
    }
    let mut seen = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // ESC [ … letter (ECMA-48): what colours a terminal.
            if chars.next_if_eq(&'[').is_some() {
                while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                chars.next_if(|c| matches!(c, '@'..='~'));
            }
        } else if !is_invisible(c) {
            seen.push(c);
        }
    }
    seen
}

/// Whether a character has no place in what people and models are shown.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        // Zero width, direction marks, embeddings and isolates, invisible operators, byte order mark,
        // interlinear annotations, tags, and the fillers of Hangul, which look like blanks.
        '\u{00ad}'
        | '\u{061c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// Whether a character that has its place in what is shown makes no other name of it: joiners, variation
/// selectors and what else has no look of its own (`Default_Ignorable_Code_Point` of Unicode).
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{034f}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200c}'..='\u{200d}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
    )
}

/// A name of `a-z`, `0-9` and `-` only, for commands: never a path. What is none of these becomes a hyphen;
/// `None` if nothing is left, or more than [`MAX_NAME`] characters.
pub(crate) fn slug(name: &str) -> Option<String> {
    let identity = Identity::of(name);
    let mut slug = String::new();
    for c in identity.as_str().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !c.is_ascii() {
            // A part of a name that is left out would make another name of it.
            return None;
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() > MAX_NAME + 1 {
            return None;
        }
    }
    let slug = slug.trim_end_matches('-');
    (!slug.is_empty() && slug.len() <= MAX_NAME).then(|| slug.to_owned())
}

/// A name in NFKC.
pub(crate) fn normal(name: &str) -> String {
    if is_nfkc(name) {
        name.to_owned()
    } else {
        name.nfkc().collect()
    }
}
