//! The words of a command, by the table of its options.

use std::path::Path;

use crate::shell::Word;

use super::{Known, Operand, Purity};

/// What the operands of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Files or folders to read.
    Paths,
    /// Folders, and the folder that it runs in if there is none.
    Folders,
    /// A pattern, and then files. With one of the options `-r`, `-R`, the folder that it runs in.
    PatternThenPaths,
    /// A pattern, and then folders.
    PatternThenFolders,
    /// One file at most: a second one would be written.
    OnePath,
    /// Text.
    Texts,
}

/// A command and all of its options that do nothing but change what is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) name: &'static str,
    pub(crate) operands: Operands,
    /// Short options without a value.
    pub(crate) flags: &'static str,
    /// Short options with a value, which is no path.
    pub(crate) valued: &'static str,
    /// Long options: one that ends in `=` has a value, in the same word or the next.
    pub(crate) long: &'static [&'static str],
    /// Of them, those that have it follow links in the folders that it goes through.
    pub(crate) follow: &'static [&'static str],
    /// No option that there is does harm, so a name that looks like one does none either.
    pub(crate) is_tame: bool,
}

enum Long {
    Flag,
    Valued,
    Unknown,
}

impl Options {
    fn long(&self, text: &str) -> Long {
        match text.split_once('=') {
            Some((name, _)) => {
                let is_it = |it: &&&str| it.strip_suffix('=') == Some(name);
                match self.long.iter().find(is_it) {
                    Some(_) => Long::Flag,
                    None => Long::Unknown,
                }
            }
            None if self.long.contains(&text) => Long::Flag,
            None if self
                .long
                .iter()
                .any(|it| it.strip_suffix('=') == Some(text)) =>
            {
                Long::Valued
            }
            None => Long::Unknown,
        }
    }

    /// Whether this literal option has links followed.
    fn follows(&self, text: &str) -> bool {
        self.follow
            .iter()
            .any(|option| match option.strip_prefix("--") {
                Some(_) => text == *option,
                None => !text.starts_with("--") && text.contains(*option),
            })
    }

    /// Whether a value follows a group of short options in the next word; `None` where one is unknown.
    fn short(&self, group: &str) -> Option<bool> {
        for (at, option) in group.char_indices() {
            if self.valued.contains(option) {
                return Some(at + option.len_utf8() == group.len());
            }
            let is_number = option.is_ascii_digit() && self.flags.contains('#');
            if !(self.flags.contains(option) || is_number) || option == '#' {
                return None;
            }
        }
        Some(false)
    }
}

pub(crate) fn known<'a>(options: &Options, arguments: &'a [Word]) -> Option<Known<'a>> {
    let mut operands = Vec::new();
    let mut is_recursive = false;
    let mut purity = Purity::ReadOnly;
    let mut are_operands = false;
    let mut words = arguments.iter();
    // With `-e` there is no pattern among the operands. In doubt all of them are paths.
    let has_pattern_option = arguments.iter().filter_map(Word::literal).any(|text| {
        let is_short = text.starts_with('-') && !text.starts_with("--");
        is_short && text.contains('e') || text.starts_with("--regexp")
    });
    while let Some(word) = words.next() {
        match word {
            Word::Glob { .. } if are_operands || options.is_tame || !word.may_be_option() => {
                operands.push(word);
            }
            Word::Glob { .. } | Word::Unknown(_) => return None,
            Word::Literal(text) if are_operands || !text.starts_with('-') || text == "-" => {
                operands.push(word);
            }
            Word::Literal(text) if text == "--" => are_operands = true,
            Word::Literal(text) => {
                let takes_next = match text.strip_prefix("--") {
                    Some(long) => match options.long(long) {
                        Long::Flag => false,
                        Long::Valued => true,
                        Long::Unknown => return None,
                    },
                    None => options.short(text.get(1..)?)?,
                };
                is_recursive |=
                    !text.starts_with("--") && text.contains(['r', 'R']) || text == "--recursive";
                if options.follows(text) {
                    purity = Purity::ReadOnlyIfTrusted;
                }
                if takes_next {
                    words.next()?.literal()?;
                }
            }
        }
    }
    let mut operands = operands.into_iter();
    let takes_pattern = matches!(
        options.operands,
        Operands::PatternThenPaths | Operands::PatternThenFolders
    );
    if takes_pattern && !has_pattern_option {
        // A glob as the pattern may become several words.
        if let Some(pattern) = operands.next() {
            pattern.literal()?;
        }
    }
    let operands: Vec<_> = operands.collect();
    let is_here = operands.is_empty()
        && match options.operands {
            Operands::Folders | Operands::PatternThenFolders => true,
            Operands::PatternThenPaths => is_recursive,
            Operands::Paths | Operands::OnePath | Operands::Texts => false,
        };
    let mut reads = Vec::new();
    if is_here {
        reads.push(Operand::Here);
    }
    match options.operands {
        Operands::Texts => {
            return operands
                .iter()
                .all(|it| it.literal().is_some())
                .then(Known::nothing);
        }
        Operands::OnePath
            if operands.len() > 1 || operands.iter().any(|it| it.literal().is_none()) =>
        {
            return None;
        }
        _ => {}
    }
    for operand in operands {
        match operand {
            Word::Literal(text) if text == "-" && !are_operands => {}
            Word::Literal(text) => reads.push(Operand::Path(Path::new(text))),
            Word::Glob { pattern, .. } => reads.push(match options.operands {
                Operands::Folders => Operand::Names(pattern),
                _ => Operand::Glob(pattern),
            }),
            Word::Unknown(_) => return None,
        }
    }
    Some(Known { purity, reads })
}
