//! The folders that a shell may be in while it goes through a line.

use std::path::{Component, Path, PathBuf};

use super::word::Word;

/// The most folders that are kept of those that are possible.
const FOLDERS: usize = 16;

/// Where a shell may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folders {
    /// Each once: absolute, links and `..` not followed.
    possible: Vec<PathBuf>,
    /// The one that is possible is the one.
    is_certain: bool,
    /// There are more than are kept.
    is_anywhere: bool,
}

impl Folders {
    pub(super) fn of(folder: Option<&Path>) -> Self {
        Self {
            possible: folder.map(Path::to_owned).into_iter().collect(),
            is_certain: folder.is_some(),
            is_anywhere: false,
        }
    }

    /// The folder, where it is certain.
    pub(super) fn certain(&self) -> Option<&Path> {
        let first = self.possible.first().filter(|_| self.is_certain);
        first.map(PathBuf::as_path)
    }

    /// Each folder that is possible; `None` where they are more than are kept.
    pub(super) fn possible(&self) -> Option<&[PathBuf]> {
        (!self.is_anywhere).then_some(self.possible.as_slice())
    }

    pub(super) fn uncertain(mut self) -> Self {
        self.is_certain = false;
        self
    }

    pub(super) fn anywhere(mut self) -> Self {
        self.lose();
        self
    }

    /// These, or those.
    pub(super) fn or(mut self, others: &Self) -> Self {
        if self == *others {
            return self;
        }
        for folder in &others.possible {
            self.add(folder.clone());
        }
        if others.is_anywhere {
            self.lose();
        }
        self.uncertain()
    }

    fn add(&mut self, folder: PathBuf) {
        if self.is_anywhere || self.possible.contains(&folder) {
            return;
        }
        if self.possible.len() < FOLDERS {
            self.possible.push(folder);
        } else {
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.possible.clear();
        self.is_certain = false;
        self.is_anywhere = true;
    }
}

/// The folders after a command, by how the command ended.
#[derive(Clone, Debug)]
pub(super) struct After {
    pub(super) success: Folders,
    pub(super) failure: Folders,
}

impl After {
    /// A command that changes no folder.
    pub(super) fn same(folder: Folders) -> Self {
        Self {
            success: folder.clone(),
            failure: folder,
        }
    }

    /// The folders, however it ended.
    pub(super) fn either(self) -> Folders {
        self.success.or(&self.failure)
    }
}

/// Where `cd` with these words leads, if it succeeds. `seen`: where the shell may have been before.
pub(super) fn change(
    words: &[Word],
    from: &Folders,
    home: Option<&Path>,
    seen: &Folders,
) -> Folders {
    let mut words = words.iter().skip(1).map(Word::literal).peekable();
    let mut is_known = true;
    while let Some(Some(option)) = words.peek()
        && option.len() > 1
        && option.starts_with('-')
    {
        let is_last = *option == "--";
        is_known &= matches!(*option, "-L" | "-P" | "-e" | "--");
        words.next();
        if is_last {
            break;
        }
    }
    let to = match words.next() {
        None => match home {
            Some(home) => Folders::of(Some(home)),
            None => from.clone().uncertain(),
        },
        Some(Some("-")) => seen.clone().uncertain(),
        Some(Some(operand)) if !operand.is_empty() => join(from, Path::new(operand)),
        Some(_) => from.clone().uncertain(),
    };
    if is_known && words.next().is_none() {
        to
    } else {
        to.or(&from.clone().uncertain())
    }
}

fn join(from: &Folders, path: &Path) -> Folders {
    // A shell takes the `..` of a `cd` off the text, the kernel off the real path: where a link is in
    // it they differ.
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let mut to = Folders {
        is_certain: !climbs && (from.is_certain || path.is_absolute()),
        is_anywhere: from.is_anywhere && !path.is_absolute(),
        ..Folders::default()
    };
    let here = [PathBuf::new()];
    let starts = if path.is_absolute() {
        here.as_slice()
    } else {
        from.possible.as_slice()
    };
    for start in starts {
        let joined = start.join(path);
        if climbs {
            to.add(by_text(&joined));
        }
        to.add(joined);
    }
    to
}

/// `path` without its `..`, and what stands before them.
fn by_text(path: &Path) -> PathBuf {
    let mut text = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            text.pop();
        } else {
            text.push(part);
        }
    }
    text
}
