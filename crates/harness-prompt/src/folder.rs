//! The files of a folder of prompts, read safely.
//!
//! Such a folder may lie in a repository that nobody has looked at. What comes out depends on the tree
//! alone, never on the order in which a file system lists it; what a link leads to is read once; what is
//! no file or folder is not opened; and all of it is bounded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::limits::{Limits, MAX_SOURCE_BYTES};

/// What was found in a folder.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// In the order of their paths, real files before those that are reached by a link.
    pub(crate) files: Vec<Found>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Its path below the folder, with slashes, without the extension.
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) bytes: Vec<u8>,
}

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Command,
    Template,
}

impl Form {
    /// `relative` is the path below the folder, with slashes.
    fn of(relative: &str) -> Option<(Self, &str)> {
        if let Some(name) = relative.strip_suffix(".hbs") {
            return Some((Self::Template, name));
        }
        let name = relative.strip_suffix(".md")?;
        // Below, Markdown is what templates come with: notes, a README.
        (!name.contains('/')).then_some((Self::Command, name))
    }
}

/// Reads the folder `root`. One that is not there is empty.
pub(crate) fn read(root: &Path, limits: &Limits) -> Folder {
    let mut walk = Walk {
        limits,
        entries: 0,
        bytes: 0,
        folders: BTreeSet::new(),
        files: BTreeMap::new(),
        links: VecDeque::new(),
        found: Folder::default(),
    };
    match fs::metadata(root) {
        Ok(metadata) if metadata.is_dir() => walk.folder(root, "", 0),
        Ok(_) => walk.report(root, "this is no folder"),
        Err(error) if is_missing(&error) && fs::symlink_metadata(root).is_err() => {}
        Err(error) => walk.report(root, &error.to_string()),
    }
    // What a link leads to is read after all that has a name of its own here, lest the link takes it.
    while let Some(link) = walk.links.pop_front() {
        walk.link(&link);
    }
    walk.found
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

struct Walk<'l> {
    limits: &'l Limits,
    entries: usize,
    bytes: usize,
    /// The real paths of the folders that were visited, and of the files, with how each was reached.
    folders: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, PathBuf>,
    links: VecDeque<Entry>,
    found: Folder,
}

struct Entry {
    path: PathBuf,
    /// The path below the root, with slashes.
    relative: String,
    depth: usize,
}

impl Walk<'_> {
    fn report(&mut self, path: &Path, message: &str) {
        let diagnostic = Diagnostic::new(path, None, message);
        self.found.diagnostics.push(diagnostic);
    }

    fn folder(&mut self, path: &Path, relative: &str, depth: usize) {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) => return self.report(path, &error.to_string()),
        };
        if !self.folders.insert(real) {
            return;
        }
        let max = self.limits.folder_depth;
        if depth > max {
            let message = format!("folders are read {max} levels deep; this one is left out");
            return self.report(path, &message);
        }
        let entries = match self.list(path) {
            Ok(entries) => entries,
            Err(message) => return self.report(path, &message),
        };
        for (name, kind) in entries {
            let path = path.join(&name);
            let Some(name) = name.to_str() else {
                let shown = name.to_string_lossy();
                if kind.is_dir() || Form::of(&shown).is_some() {
                    self.report(&path, "its name is not UTF-8");
                }
                continue;
            };
            let relative = match relative {
                "" => name.to_owned(),
                folder => format!("{folder}/{name}"),
            };
            let entry = Entry {
                path,
                relative,
                depth: depth + 1,
            };
            if kind.is_symlink() {
                self.links.push_back(entry);
            } else {
                self.entry(&entry, kind);
            }
        }
    }

    /// What is in a folder, in the order of names, without what is hidden.
    fn list(&mut self, path: &Path) -> Result<Vec<(OsString, FileType)>, String> {
        let max = self.limits.folder_entries;
        let mut entries = Vec::new();
        let listing = fs::read_dir(path).map_err(|error| error.to_string())?;
        for entry in listing {
            let entry = entry.map_err(|error| error.to_string())?;
            // A part of a listing would be another part elsewhere.
            if self.entries + entries.len() >= max {
                return Err(format!(
                    "there are more than {max} files and folders; this one is left out"
                ));
            }
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            entries.push((entry.file_name(), kind));
        }
        self.entries += entries.len();
        entries.retain(|(name, _)| !name.as_encoded_bytes().starts_with(b"."));
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(entries)
    }

    fn link(&mut self, link: &Entry) {
        match fs::metadata(&link.path) {
            Ok(metadata) => self.entry(link, metadata.file_type()),
            Err(error) => {
                if Form::of(&link.relative).is_some() {
                    let message = format!("the link cannot be followed: {error}");
                    self.report(&link.path, &message);
                }
            }
        }
    }

    fn entry(&mut self, entry: &Entry, kind: FileType) {
        let Entry {
            path,
            relative,
            depth,
        } = entry;
        if kind.is_dir() {
            return self.folder(path, relative, *depth);
        }
        let Some((form, name)) = Form::of(relative) else {
            return;
        };
        if !kind.is_file() {
            return self.report(path, "this is no regular file; it is not opened");
        }
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) => return self.report(path, &error.to_string()),
        };
        if let Some(other) = self.files.get(&real) {
            let message = format!("this is the same file as {}", other.display());
            return self.report(path, &message);
        }
        self.files.insert(real, path.clone());
        match self.contents(path) {
            Ok(bytes) => self.found.files.push(Found {
                path: path.clone(),
                name: name.to_owned(),
                form,
                bytes,
            }),
            Err(message) => self.report(path, &message),
        }
    }

    fn contents(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        if self.found.files.len() >= self.limits.folder_files {
            let max = self.limits.folder_files;
            return Err(format!("more than {max} files; this one is left out"));
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("this is no regular file".to_owned());
        }
        let left = self.limits.folder_bytes - self.bytes;
        let max = left.min(MAX_SOURCE_BYTES);
        let mut bytes = Vec::new();
        // The size that a file system tells need not be true.
        file.take(max as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(format!("the file has more than {MAX_SOURCE_BYTES} bytes"));
        }
        if bytes.len() > left {
            let max = self.limits.folder_bytes;
            return Err(format!(
                "more than {max} bytes in all; this one is left out"
            ));
        }
        self.bytes += bytes.len();
        Ok(bytes)
    }
}
