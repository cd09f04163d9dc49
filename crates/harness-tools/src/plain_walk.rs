//! A walk made of the other methods of [`Files`]: one folder after the other, on one thread.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::{Entry, FileKind, Files, Next, Walk, WalkEnd, WalkEntry};

/// The files that say what is ignored; a later one overrides an earlier.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The most bytes of an ignore file that are read.
const IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// How deep folders are walked.
const MAX_DEPTH: usize = 256;

pub(crate) fn walk<F: Files + ?Sized>(
    files: &F,
    walk: &Walk<'_>,
    visitor: &(dyn Fn(&WalkEntry<'_>) -> Next + Sync),
) -> WalkEnd {
    let mut run = Run {
        files,
        walk,
        visitor,
        rules: Vec::new(),
        end: WalkEnd {
            visited: 0,
            bounded: false,
            unread: 0,
        },
    };
    if walk.ignore_files {
        let mut above: Vec<&Path> = walk.folder.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            run.rules.extend(rules(files, folder));
        }
    }
    let _ = run.folder(walk.folder, 0);
    run.end
}

struct Run<'a, F: ?Sized> {
    files: &'a F,
    walk: &'a Walk<'a>,
    visitor: &'a (dyn Fn(&WalkEntry<'_>) -> Next + Sync),
    /// The rules of the folders on the way, the nearest last.
    rules: Vec<Gitignore>,
    end: WalkEnd,
}

impl<F: Files + ?Sized> Run<'_, F> {
    fn folder(&mut self, folder: &Path, depth: usize) -> ControlFlow<()> {
        let mut entries: Vec<Entry> = Vec::new();
        let listed = self.files.list(folder, &mut |entry| {
            entries.push(entry);
            ControlFlow::Continue(())
        });
        self.end.unread += usize::from(listed.is_err());
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let outer = self.rules.len();
        if self.walk.ignore_files {
            self.rules.extend(rules(self.files, folder));
        }
        let mut flow = ControlFlow::Continue(());
        for entry in entries {
            if self.walk.stop.is_stopped() {
                flow = ControlFlow::Break(());
            }
            if flow.is_break() {
                break;
            }
            flow = self.entry(&folder.join(&entry.name), entry.kind, depth);
        }
        self.rules.truncate(outer);
        flow
    }

    fn entry(&mut self, path: &Path, kind: FileKind, depth: usize) -> ControlFlow<()> {
        let is_folder = kind == FileKind::Folder;
        if path.file_name().is_some_and(|name| name == ".git") || self.ignores(path, is_folder) {
            return ControlFlow::Continue(());
        }
        if self.end.visited >= self.walk.max_entries {
            self.end.bounded = true;
            return ControlFlow::Break(());
        }
        self.end.visited += 1;
        match (self.visitor)(&WalkEntry { path, kind }) {
            Next::Continue if is_folder && depth < MAX_DEPTH => self.folder(path, depth + 1),
            Next::Continue | Next::Skip => ControlFlow::Continue(()),
            Next::Stop => ControlFlow::Break(()),
        }
    }

    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        for rules in self.rules.iter().rev() {
            match rules.matched(path, is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

/// The rules in a folder. Lines that make no sense are left out.
fn rules<F: Files + ?Sized>(files: &F, folder: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut any = false;
    for name in IGNORE_FILES {
        let Ok(file) = files.open(&folder.join(name)) else {
            continue;
        };
        let mut bytes = Vec::new();
        if file.info.kind != FileKind::File
            || file
                .content
                .take(IGNORE_FILE_BYTES)
                .read_to_end(&mut bytes)
                .is_err()
        {
            continue;
        }
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(line) = std::str::from_utf8(line) {
                any |= builder.add_line(None, line).is_ok();
            }
        }
    }
    if any { builder.build().ok() } else { None }
}
