//! What `diff` reads beside its operands, where folders are among them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::paths::Paths;
use crate::shell::{SimpleCommand, Word};

/// What is opened where one of two operands is a folder, or both are. Links are followed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The operands alone.
    Operands,
    /// With `FILE FOLDER`, the file of that name in the folder.
    File(PathBuf),
    /// Files in these folders, each by its path before links are followed; `None` where that cannot be said.
    Folders(Option<Vec<PathBuf>>),
}

/// What `command`, a `diff`, compares. `operands` are absolute: those that it names, in their order.
/// `has_globs`: they are what globs find now, and the folders of these.
pub(crate) fn compared(
    command: &SimpleCommand,
    operands: &[&Path],
    has_globs: bool,
    paths: &dyn Paths,
) -> Compared {
    let folders = operands.iter().filter(|path| paths.is_folder(path));
    let folders: Vec<&Path> = folders.copied().collect();
    match (operands, folders.as_slice()) {
        _ if has_globs => {}
        (_, []) => return Compared::Operands,
        ([one, other], [folder]) if !adds_missing(command) => {
            let file = if one == folder { other } else { one };
            if let Some(name) = file.file_name() {
                return Compared::File(folder.join(name));
            }
        }
        _ => {}
    }
    let mut names: Vec<BTreeSet<OsString>> = Vec::new();
    for folder in &folders {
        let Some(entries) = paths.entries(folder) else {
            return Compared::Folders(None);
        };
        names.push(entries.into_iter().map(|entry| entry.name).collect());
    }
    // What only one of them has is told by its name, unless it is compared with nothing.
    if let [one, other] = names.as_mut_slice()
        && !adds_missing(command)
    {
        one.retain(|name| other.contains(name));
        other.retain(|name| one.contains(name));
    }
    let pairs = folders.iter().zip(names);
    let inside = pairs.flat_map(|(folder, names)| names.into_iter().map(|name| folder.join(name)));
    Compared::Folders(Some(inside.collect()))
}

/// Whether a file that is missing counts as empty: `-N`.
fn adds_missing(command: &SimpleCommand) -> bool {
    let literals = command.words.iter().skip(1).filter_map(Word::literal);
    literals
        .into_iter()
        .any(|text| match text.strip_prefix("--") {
            Some(long) => long == "new-file",
            None => text.starts_with('-') && text.contains('N'),
        })
}
