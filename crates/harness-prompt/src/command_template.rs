//! Slash commands: prompts in Markdown with places for arguments.

use harness_frontmatter::{Document, List, Mapping, Node};

use crate::arguments::Arguments;
use crate::error::Error;
use crate::invocation::is_command_name;
use crate::limits::Limits;

/// How many characters of the first line stand for a description that nobody wrote.
const DESCRIPTION_CHARS: usize = 60;

/// A slash command: a prompt in Markdown, with places for what is typed behind its name.
///
/// Its frontmatter may have a `description` (else, the first line of the body that is not blank stands for
/// it, cut at 60 characters) and an `argument-hint`. Other keys are left to other readers. In its body,
///
/// | written | stands for |
/// |---|---|
/// | `$1`, `$2`, … `$10`, …, `${1}` | that argument, without its quotes |
/// | `$@`, `$ARGUMENTS`, `${@}`, `${ARGUMENTS}` | all of them, as they were typed |
/// | `${@:2}`, `${@:2:3}` | from the second on, and three from the second on, as they were typed |
/// | `${1:-text}`, `${@:-text}`, `${ARGUMENTS:-text}` | the same, or `text` if that is empty; no `}` in it |
/// | `\$1`, `\${@:2}`, … | the placeholder itself, without the backslash |
///
/// and all else is text: `$HOME`, `$0`, `$`, `${x}`. What is not there is empty. The arguments "as typed"
/// keep their quotes and line breaks: what follows a command is prose more often than a list of words,
/// and joining words again would garble it.
///
/// The body is gone through once. What comes in as an argument or a default is never expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTemplate {
    name: String,
    description: String,
    argument_hint: Option<String>,
    body: String,
}

impl CommandTemplate {
    /// Reads a file: Markdown, with or without frontmatter.
    ///
    /// An error if `name` cannot follow a slash, or if the frontmatter cannot be read.
    pub fn parse(name: impl Into<String>, text: &str) -> Result<Self, Error> {
        let name = name.into();
        if !is_command_name(&name) {
            return Err(Error::Name {
                name,
                rule: "a command's name is letters, digits and `_ : . -`, a letter or digit first",
            });
        }
        let read = || {
            let document = Document::parse(text)?;
            let description = document.fields.text("description")?;
            let hint = argument_hint(&document.fields)?;
            Ok((document.body, description.map(one_line), hint))
        };
        match read() {
            Ok((body, description, argument_hint)) => Ok(Self {
                name,
                description: description
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| first_line(body)),
                argument_hint,
                body: body.trim_matches(['\n', '\r']).to_owned(),
            }),
            Err(error) => Err(Error::frontmatter(&name, &error)),
        }
    }

    /// Its name, without the slash.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for, in one line; empty if the file says nothing.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What to type behind it, for people: `<file> [focus]`.
    pub fn argument_hint(&self) -> Option<&str> {
        self.argument_hint.as_deref()
    }

    /// The prompt, with its placeholders, without line breaks at either end.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Whether it has a place for arguments. Where not, what is typed behind its name is lost.
    pub fn takes_arguments(&self) -> bool {
        let mut pieces = Pieces::of(&self.body);
        pieces.any(|piece| matches!(piece, Piece::Place { .. }))
    }

    /// The prompt, with `raw` as what was typed behind the name.
    ///
    /// An error if it would be longer than [`Limits::expansion_bytes`].
    pub fn expand(&self, raw: &str, limits: &Limits) -> Result<String, Error> {
        let max = limits.expansion_bytes;
        let arguments = Arguments::split(raw);
        let mut expanded = String::new();
        for piece in Pieces::of(&self.body) {
            let text = match piece {
                Piece::Text(text) => text,
                Piece::Place { source, default } => {
                    let given = match source {
                        Source::One(number) => arguments.get(number).unwrap_or_default(),
                        Source::All => arguments.raw(),
                        Source::From { first, count } => arguments.raw_from(first, count),
                    };
                    if given.is_empty() { default } else { given }
                }
            };
            if expanded.len().saturating_add(text.len()) > max {
                return Err(Error::Expansion {
                    command: self.name.clone(),
                    max,
                });
            }
            expanded.push_str(text);
        }
        Ok(expanded)
    }
}

/// `argument-hint`, which people write in brackets: YAML takes `[file]` for a list.
fn argument_hint(fields: &Mapping) -> Result<Option<String>, harness_frontmatter::Error> {
    const KEY: &str = "argument-hint";
    let hint = match fields.get(KEY) {
        Some(Node::List(List { items, .. })) if !items.is_empty() => {
            format!("[{}]", fields.texts(KEY)?.unwrap_or_default().join(", "))
        }
        _ => one_line(fields.text(KEY)?.unwrap_or_default()),
    };
    Ok(Some(hint).filter(|hint| !hint.is_empty()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_line(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// A part of a body.
#[derive(Debug)]
enum Piece<'b> {
    Text(&'b str),
    Place { source: Source, default: &'b str },
}

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug)]
enum Source {
    One(usize),
    All,
    From { first: usize, count: Option<usize> },
}

/// The parts of what is left of a body.
struct Pieces<'b> {
    rest: &'b str,
    /// How many bytes stand behind the last `}`: in them, nobody need look for one.
    tail: usize,
}

impl<'b> Pieces<'b> {
    fn of(body: &'b str) -> Self {
        let tail = body.rfind('}').map_or(body.len(), |at| body.len() - at - 1);
        Self { rest: body, tail }
    }

    /// The placeholder that `text`, which is left of the body, begins with, and what follows it.
    fn placeholder(&self, text: &'b str) -> Option<(Piece<'b>, &'b str)> {
        if text.starts_with("${") && text.len() <= self.tail {
            return None;
        }
        placeholder(text)
    }
}

impl<'b> Iterator for Pieces<'b> {
    type Item = Piece<'b>;

    fn next(&mut self) -> Option<Piece<'b>> {
        let rest = self.rest;
        if rest.is_empty() {
            return None;
        }
        if let Some((piece, after)) = self.placeholder(rest) {
            self.rest = after;
            return Some(piece);
        }
        if let Some(escaped) = rest.strip_prefix('\\')
            && let Some((_, after)) = self.placeholder(escaped)
        {
            self.rest = after;
            return Some(Piece::Text(&escaped[..escaped.len() - after.len()]));
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let length = rest[first..]
            .find(['$', '\\'])
            .map_or(rest.len(), |length| first + length);
        let (text, after) = rest.split_at(length);
        self.rest = after;
        Some(Piece::Text(text))
    }
}

/// The placeholder that `text` begins with, and what follows it.
fn placeholder(text: &str) -> Option<(Piece<'_>, &str)> {
    let text = text.strip_prefix('$')?;
    let Some(inner) = text.strip_prefix('{') else {
        let (source, after) = source(text)?;
        // `$ARGUMENTS_FILE` is somebody's variable.
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if text.starts_with('A') && after.starts_with(is_name) {
            return None;
        }
        let default = "";
        return Some((Piece::Place { source, default }, after));
    };
    let (mut source, after) = source(inner)?;
    let mut rest = after;
    if let Some(range) = after.strip_prefix(':').filter(|_| inner.starts_with('@'))
        && let Some((first, after)) = number(range)
    {
        rest = after;
        let mut count = None;
        if let Some((length, after)) = after.strip_prefix(':').and_then(number) {
            count = Some(length);
            rest = after;
        }
        source = Source::From { first, count };
    }
    let mut default = "";
    if let Some(text) = rest.strip_prefix(":-") {
        let end = text.find('}')?;
        (default, rest) = text.split_at(end);
    }
    let after = rest.strip_prefix('}')?;
    Some((Piece::Place { source, default }, after))
}

/// `1`, `@` or `ARGUMENTS`.
fn source(text: &str) -> Option<(Source, &str)> {
    if let Some(after) = text.strip_prefix('@') {
        return Some((Source::All, after));
    }
    if let Some(after) = text.strip_prefix("ARGUMENTS") {
        return Some((Source::All, after));
    }
    if text.starts_with('0') {
        return None;
    }
    let (number, after) = number(text)?;
    Some((Source::One(number), after))
}

fn number(text: &str) -> Option<(usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = text.split_at(digits);
    // There is no argument of a number that is too large, either.
    let number = || digits.parse().unwrap_or(usize::MAX);
    (!digits.is_empty()).then(|| (number(), after))
}
