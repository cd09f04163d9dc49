//! `find` that only looks.

use std::path::Path;

use crate::shell::Word;

use super::{Known, Operand, Purity};

/// Tests and actions without a value that only look and print.
const FLAGS: &[&str] = &[
    "-L",
    "-P",
    "-H",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-empty",
    "-readable",
    "-writable",
    "-executable",
    "-true",
    "-false",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "!",
    "(",
    ")",
    ",",
    "-nouser",
    "-nogroup",
    "-follow",
    "-daystart",
    "-noleaf",
];

/// Those with a value. What compares with a file (`-newer`) is left out: it would be one more path.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-printf",
    "-lname",
    "-ilname",
    "-newermt",
    "-newerct",
    "-fstype",
];

pub(super) fn known(arguments: &[Word]) -> Option<Known<'_>> {
    let mut reads = Vec::new();
    let mut are_paths = true;
    let mut purity = Purity::ReadOnly;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = match word {
            Word::Literal(text) => text.as_str(),
            Word::Glob { pattern, start }
                if are_paths && !start.starts_with(['-', '(', '!', ',']) && !start.is_empty() =>
            {
                reads.push(Operand::Names(pattern));
                continue;
            }
            Word::Glob { .. } | Word::Unknown(_) => return None,
        };
        let is_expression = text.starts_with(['-', '(', ')', ',', '!']);
        if !is_expression && are_paths {
            reads.push(Operand::Path(Path::new(text)));
            continue;
        }
        if matches!(text, "-L" | "-follow") {
            purity = Purity::ReadOnlyIfTrusted;
        }
        if !matches!(text, "-L" | "-P" | "-H") {
            are_paths = false;
        }
        if VALUED.contains(&text) {
            // A pattern without quotes can become more words.
            words.next()?.literal()?;
        } else if !FLAGS.contains(&text) {
            return None;
        }
    }
    if reads.is_empty() {
        reads.push(Operand::Here);
    }
    Some(Known { purity, reads })
}
