//! Commands that are known to only read, and which of their words are paths.

mod awk;
mod find;
mod git;
mod options;
mod table;

use std::path::Path;

use crate::shell::{SimpleCommand, Word, asks_what};

/// What a command does beside reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purity {
    /// Nothing is known.
    Unknown,
    /// Nothing.
    ReadOnly,
    /// Nothing, unless a configuration in the folder makes it run programs, as git's can, or a link that it
    /// follows leads elsewhere.
    ReadOnlyIfTrusted,
}

/// A word that a known command reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand<'a> {
    /// The folder that it runs in.
    Here,
    Path(&'a Path),
    Glob(&'a str),
    /// The folder that this glob looks in: its names, not its files.
    Names(&'a str),
}

/// What a known command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known<'a> {
    pub(crate) purity: Purity,
    pub(crate) reads: Vec<Operand<'a>>,
}

impl Known<'_> {
    fn nothing() -> Self {
        Self {
            purity: Purity::ReadOnly,
            reads: Vec::new(),
        }
    }
}

/// What is known of `command`: `None` unless its program, each option and the place of each operand are.
pub(crate) fn known(command: &SimpleCommand) -> Option<Known<'_>> {
    if command.doubt.is_some() {
        return None;
    }
    let program = command.program()?;
    let arguments = command.words.get(1..).unwrap_or_default();
    match program {
        // They are the shell's, or take any word as it is.
        ":" | "true" | "false" | "echo" | "pwd" | "exit" | "return" | "break" | "continue"
        | "test" | "[" | "expr" | "seq" | "sleep" | "basename" | "dirname" | "printf" | "type"
        | "which" | "whoami" | "id" | "uname" | "nproc" | "tty" | "groups" | "locale" => {
            are_texts(arguments).then(Known::nothing)
        }
        // With a word, they set what they name, or run it: `arch` of macOS.
        "arch" | "hostname" | "uptime" => arguments.is_empty().then(Known::nothing),
        "command" if asks_what(arguments) => are_texts(arguments).then(Known::nothing),
        // They take options, and names of files, from a file that is named so.
        "strings" if arguments.iter().any(names_response_file) => None,
        "awk" | "gawk" | "mawk" => awk::known(arguments),
        "find" => find::known(arguments),
        "git" => git::known(arguments),
        "sed" => sed(arguments),
        "date" => date(arguments),
        _ => options::known(table::find(program)?, arguments),
    }
}

/// Whether it is `@FILE`.
fn names_response_file(word: &Word) -> bool {
    match word {
        Word::Literal(text) => text.starts_with('@'),
        Word::Glob { start, .. } => start.is_empty() || start.starts_with('@'),
        Word::Unknown(_) => true,
    }
}

/// Words of which each is one text. A glob would read the names in a folder, which is little, but not
/// nothing.
fn are_texts(words: &[Word]) -> bool {
    words.iter().all(|word| word.literal().is_some())
}

/// `date` without what sets it or reads a file.
fn date(arguments: &[Word]) -> Option<Known<'_>> {
    let is_harmless = |text: &str| {
        text.starts_with('+')
            || matches!(
                text,
                "-u" | "--utc" | "-I" | "-R" | "-Is" | "-Iseconds" | "--iso-8601"
            )
            || text.starts_with("--date=")
    };
    let all = arguments
        .iter()
        .all(|word| word.literal().is_some_and(is_harmless));
    all.then(Known::nothing)
}

/// `sed` that prints. Its script is simple already: others are opaque.
fn sed(arguments: &[Word]) -> Option<Known<'_>> {
    let mut reads = Vec::new();
    let mut words = arguments.iter();
    let mut is_script_due = !arguments.iter().any(|word| word.literal() == Some("-e"));
    while let Some(word) = words.next() {
        match word {
            Word::Literal(text) if text == "-e" => {
                words.next()?;
            }
            Word::Literal(text) if text.starts_with('-') => {
                let is_known = matches!(
                    text.as_str(),
                    "-n" | "-E" | "-r" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn"
                );
                if !is_known {
                    return None;
                }
            }
            Word::Literal(_) if is_script_due => is_script_due = false,
            Word::Literal(text) => reads.push(Operand::Path(Path::new(text))),
            Word::Glob { pattern, .. } if !word.may_be_option() && !is_script_due => {
                reads.push(Operand::Glob(pattern));
            }
            Word::Glob { .. } | Word::Unknown(_) => return None,
        }
    }
    Some(Known {
        purity: Purity::ReadOnly,
        reads,
    })
}
