//! The folder that a shell is in while it goes through a line.

use std::path::{Component, Path, PathBuf};

use super::word::Word;

/// A folder, or `None` where it is not certain.
pub(super) type Folder = Option<PathBuf>;

/// The folder after a command, by how the command ended.
#[derive(Clone, Debug)]
pub(super) struct After {
    pub(super) success: Folder,
    pub(super) failure: Folder,
}

impl After {
    /// A command that changes no folder.
    pub(super) fn same(folder: Folder) -> Self {
        Self {
            success: folder.clone(),
            failure: folder,
        }
    }

    /// The folder, however it ended.
    pub(super) fn either(self) -> Folder {
        merge(self.success, &self.failure)
    }
}

/// The folder where it is the one or the other.
pub(super) fn merge(one: Folder, other: &Folder) -> Folder {
    one.filter(|folder| Some(folder) == other.as_ref())
}

/// Where `cd` with these words leads, if it succeeds.
pub(super) fn change(words: &[Word], from: Option<&Path>, home: Option<&Path>) -> Folder {
    let mut words = words.iter().skip(1).map(Word::literal).peekable();
    while let Some(Some("-L" | "-P" | "-e" | "--")) = words.peek() {
        let is_last = words.next() == Some(Some("--"));
        if is_last {
            break;
        }
    }
    let Some(operand) = words.next() else {
        return home.map(Path::to_owned);
    };
    let operand = operand.filter(|text| !text.is_empty() && !text.starts_with('-'))?;
    if words.next().is_some() {
        return None;
    }
    let path = Path::new(operand);
    // A shell takes the `..` of a `cd` off the text, the kernel off the real path: where a link is in
    // it they differ.
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    from.map(|from| from.join(path))
}
