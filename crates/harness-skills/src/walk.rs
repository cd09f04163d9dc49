//! Looking for `SKILL.md` below a folder.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use harness_frontmatter::{Diagnostic, Severity};

use crate::examination::SKILL_FILE;
use crate::finding::Finding;
use crate::layer::Layer;
use crate::limits::Limits;
use crate::root::Links;
use crate::rule::{self, Rule};
use crate::stamp::{FileId, Stamp};

/// How many times more entries of one folder are read than may be looked at, so that those that are looked
/// at are the first by name. In a larger folder the choice is the file system's.
const OVERREAD: usize = 4;

/// Folders that tools fill, by a file in them: caches and virtual environments.
const MARKS_OF_TOOLS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files in a folder of skills that nobody takes for a skill.
const USUAL_FILES: [&str; 5] = [
    "readme.md",
    "changelog.md",
    "license.md",
    "contributing.md",
    "agents.md",
];

/// What came of a walk.
#[derive(Default)]
pub(crate) struct Walk {
    /// The files that should be skills, by the bytes of their paths.
    pub(crate) candidates: Vec<Candidate>,
    /// What is to be told, of files that are no candidates.
    pub(crate) notes: Vec<Diagnostic>,
    /// What was looked at beside the candidates, in the state that it was in.
    pub(crate) watched: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether all of that was old enough for a change to show.
    pub(crate) is_settled: bool,
}

/// A file that should be a skill.
pub(crate) struct Candidate {
    pub(crate) file: PathBuf,
    pub(crate) directory: PathBuf,
    /// What is to be told of it before it is read.
    pub(crate) findings: Vec<Finding>,
    /// Whether it may not be read.
    pub(crate) is_refused: bool,
    /// Whether the file is a link to another one.
    pub(crate) is_link: bool,
}

/// Looks for skills in, or at, `root`.
pub(crate) fn walk(root: &Path, layer: &Layer, links: Links, limits: &Limits) -> Walk {
    let mut walker = Walker {
        root,
        layer,
        links,
        limits,
        real_root: None,
        now: SystemTime::now(),
        result: Walk {
            is_settled: true,
            ..Walk::default()
        },
        seen: HashSet::new(),
        folders: VecDeque::new(),
        linked: VecDeque::new(),
        looked_into: 0,
        entries: limits.entries,
        reached: BTreeSet::new(),
    };
    walker.start();
    walker.finish()
}

struct Walker<'w> {
    root: &'w Path,
    layer: &'w Layer,
    links: Links,
    limits: &'w Limits,
    /// Where the root really is, once that is asked for.
    real_root: Option<PathBuf>,
    now: SystemTime,
    result: Walk,
    /// The folders that were found.
    seen: HashSet<FileId>,
    /// The folders to look into: breadth first, and links only when all else was looked into, so that
    /// what is reached on both ways has its own path.
    folders: VecDeque<Folder>,
    linked: VecDeque<Folder>,
    looked_into: usize,
    /// How many more entries may be looked at.
    entries: usize,
    /// The bounds that were reached.
    reached: BTreeSet<String>,
}

struct Folder {
    path: PathBuf,
    depth: usize,
    id: FileId,
}

struct Listed {
    name: OsString,
    kind: FileType,
    inode: u64,
}

impl Walker<'_> {
    fn start(&mut self) {
        match std::fs::metadata(self.root) {
            Ok(metadata) if metadata.is_dir() => {
                let id = Stamp::of(&metadata).id;
                self.seen.insert(id);
                self.folders.push_back(Folder {
                    path: self.root.to_owned(),
                    depth: 0,
                    id,
                });
                self.go();
            }
            // A path to the file itself.
            Ok(metadata) if metadata.is_file() && self.root.file_name().is_some_and(is_skill) => {
                let directory = self.root.parent().unwrap_or(self.root).to_owned();
                let file = self.root.to_owned();
                let candidate = Candidate {
                    file,
                    directory,
                    findings: Vec::new(),
                    is_refused: false,
                    is_link: false,
                };
                self.result.candidates.push(candidate);
            }
            found => {
                let is_missing = found.as_ref().is_err_and(is_missing);
                // That a usual place is not there is nothing to tell.
                if !is_missing || *self.layer == Layer::Explicit {
                    let what = match &found {
                        Ok(_) => "it is no folder of skills".to_owned(),
                        Err(_) if is_missing => "nothing is there".to_owned(),
                        Err(error) => error.to_string(),
                    };
                    let path = self.root.to_owned();
                    self.note(&rule::ROOT_NOT_DIR, what, &path);
                }
                self.watch(self.root.to_owned(), found.ok().as_ref());
            }
        }
    }

    fn go(&mut self) {
        loop {
            let folder = match self.folders.pop_front() {
                Some(folder) => folder,
                None => match self.linked.pop_front() {
                    Some(folder) if self.seen.insert(folder.id) => folder,
                    Some(_) => continue,
                    None => return,
                },
            };
            if folder.depth > 0 {
                if self.looked_into >= self.limits.folders {
                    self.reached
                        .insert(format!("{} folders", self.limits.folders));
                    return;
                }
                self.looked_into += 1;
            }
            self.look_into(&folder);
        }
    }

    fn look_into(&mut self, folder: &Folder) {
        let listed = match self.list(&folder.path) {
            Ok(listed) => listed,
            Err(error) => {
                // What is gone by now was never there.
                if !is_missing(&error) {
                    let message = format!("the folder cannot be read: {error}");
                    self.note(&rule::UNREADABLE_FOLDER, message, &folder.path);
                }
                let found = std::fs::metadata(&folder.path);
                self.watch(folder.path.clone(), found.ok().as_ref());
                return;
            }
        };
        let is_skill = self.find_skill(folder, &listed);
        let is_leaf = is_skill && (folder.depth > 0 || *self.layer == Layer::Explicit);
        if is_leaf {
            return;
        }
        // After it was listed: had it changed since, it would not be settled.
        let found = std::fs::metadata(&folder.path);
        self.watch(folder.path.clone(), found.ok().as_ref());
        if folder.depth == 0 {
            self.look_for_flat_files(folder, &listed);
            if is_skill {
                let message = format!(
                    "{SKILL_FILE} stands in a folder of skills itself; each skill should have its own"
                );
                self.note(&rule::ROOT_SKILL, message, &folder.path.join(SKILL_FILE));
            }
        } else if listed
            .iter()
            .any(|entry| MARKS_OF_TOOLS.iter().any(|mark| entry.name == *mark))
        {
            return;
        }
        for entry in listed {
            self.descend(folder, &entry);
        }
    }

    /// The entries of a folder, sorted by the bytes of their names.
    fn list(&mut self, folder: &Path) -> io::Result<Vec<Listed>> {
        let mut listed: Vec<Listed> = Vec::new();
        let most = self.limits.entries.saturating_mul(OVERREAD);
        for entry in std::fs::read_dir(folder)? {
            if listed.len() >= most {
                break;
            }
            let entry: DirEntry = entry?;
            // What is gone in the meantime was never there.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            listed.push(Listed {
                name: entry.file_name(),
                kind,
                inode: entry.ino(),
            });
        }
        listed.sort_by(|one, other| one.name.as_bytes().cmp(other.name.as_bytes()));
        if listed.len() > self.entries {
            self.reached
                .insert(format!("{} entries", self.limits.entries));
            listed.truncate(self.entries);
        }
        self.entries -= listed.len();
        Ok(listed)
    }

    /// Takes the skill of a folder, if it has one.
    fn find_skill(&mut self, folder: &Folder, listed: &[Listed]) -> bool {
        // A folder of that name is none.
        let mut spelled = listed
            .iter()
            .filter(|entry| is_skill(&entry.name) && !entry.kind.is_dir())
            .peekable();
        if spelled.peek().is_none() {
            return false;
        }
        let spelled: Vec<&Listed> = spelled.collect();
        let exact = spelled.iter().find(|entry| entry.name == SKILL_FILE);
        let Some(chosen) = exact.or(spelled.first()) else {
            return false;
        };
        let mut findings = Vec::new();
        if spelled.len() > 1 {
            let others = spelled.iter().filter(|entry| entry.name != chosen.name);
            let others: Vec<_> = others.map(|entry| entry.name.to_string_lossy()).collect();
            let message = format!("beside it is {}, which is not read", others.join(", "));
            findings.push(Finding::new(&rule::TWO_FILES, message));
        }
        let file = folder.path.join(&chosen.name);
        if chosen.name != SKILL_FILE || spelled.len() > 1 {
            // The right spelling may appear, or the wrong one go.
            let found = std::fs::metadata(&folder.path);
            self.watch(folder.path.clone(), found.ok().as_ref());
        }
        let mut is_refused = false;
        if chosen.kind.is_symlink() {
            match std::fs::metadata(&file) {
                Err(error) => {
                    let message = format!("the link leads nowhere: {error}");
                    let note = Diagnostic::new(rule::BROKEN_LINK.code, Severity::Warning, message);
                    self.result.notes.push(note.in_file(&file));
                    self.watch(file, None);
                    // The link may also go.
                    let found = std::fs::metadata(&folder.path);
                    self.watch(folder.path.clone(), found.ok().as_ref());
                    return true;
                }
                Ok(metadata) if metadata.is_dir() => return false,
                Ok(metadata) if !metadata.is_file() => {
                    is_refused = true;
                    findings.push(special());
                }
                Ok(_) => {
                    if let Some(finding) = self.leads_outside(&file) {
                        is_refused = finding.code == rule::LINK_REFUSED.code;
                        findings.push(if is_refused { finding.fatal() } else { finding });
                    }
                }
            }
        } else if !chosen.kind.is_file() {
            is_refused = true;
            findings.push(special());
        }
        self.result.candidates.push(Candidate {
            file,
            directory: folder.path.clone(),
            findings,
            is_refused,
            is_link: chosen.kind.is_symlink(),
        });
        true
    }

    fn look_for_flat_files(&mut self, folder: &Folder, listed: &[Listed]) {
        for entry in listed {
            let name = entry.name.to_string_lossy().to_ascii_lowercase();
            let extension = Path::new(&entry.name).extension();
            if entry.kind.is_file()
                && extension.is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
                && !is_skill(&entry.name)
                && !USUAL_FILES.contains(&name.as_str())
            {
                let path = folder.path.join(&entry.name);
                let stem = path.with_extension("");
                let message = "a Markdown file in a folder of skills is no skill";
                let note = Diagnostic::new(rule::FLAT_FILE.code, Severity::Info, message)
                    .with_hint(format!("move it to {}", stem.join(SKILL_FILE).display()));
                self.result.notes.push(note.in_file(path));
            }
        }
    }

    /// Puts a folder into the queue, if there may be skills in it.
    fn descend(&mut self, folder: &Folder, entry: &Listed) {
        let is_link = entry.kind.is_symlink();
        let is_hidden = entry.name.as_bytes().starts_with(b".");
        if is_hidden || entry.name == "node_modules" || !(is_link || entry.kind.is_dir()) {
            return;
        }
        let path = folder.path.join(&entry.name);
        let depth = folder.depth + 1;
        let id = if is_link {
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => Stamp::of(&metadata).id,
                Ok(_) => return,
                Err(error) => {
                    self.note(
                        &rule::BROKEN_LINK,
                        format!("the link leads nowhere: {error}"),
                        &path,
                    );
                    self.watch(path, None);
                    return;
                }
            }
        } else {
            FileId {
                device: folder.id.device,
                inode: entry.inode,
            }
        };
        if self.seen.contains(&id) {
            return;
        }
        if depth > self.limits.depth {
            self.reached
                .insert(format!("a depth of {} folders", self.limits.depth));
            return;
        }
        if is_link && let Some(finding) = self.leads_outside(&path) {
            let is_refused = finding.code == rule::LINK_REFUSED.code;
            self.result
                .notes
                .extend(finding.lenient().map(|note| note.in_file(&path)));
            if is_refused {
                return;
            }
        }
        let found = Folder { path, depth, id };
        if is_link {
            // Seen when it is looked into: the folder itself may still come.
            self.linked.push_back(found);
        } else {
            self.seen.insert(id);
            self.folders.push_back(found);
        }
    }

    /// Whether a link leads out of the root, and what is to be said of it.
    fn leads_outside(&mut self, link: &Path) -> Option<Finding> {
        let is_confined = self.links == Links::Inside;
        // Where people keep their own skills is their affair.
        if !is_confined && *self.layer != Layer::Project {
            return None;
        }
        let target = link.canonicalize().ok()?;
        let root = self.root;
        let real_root = self
            .real_root
            .get_or_insert_with(|| root.canonicalize().unwrap_or_else(|_| root.to_owned()));
        if target.starts_with(real_root) {
            return None;
        }
        let target = target.display();
        Some(if is_confined {
            let message =
                format!("the link leads to {target}, out of its root: it is not followed");
            Finding::new(&rule::LINK_REFUSED, message)
        } else {
            let message = format!("the link leads to {target}, out of its root");
            Finding::new(&rule::LINK_OUTSIDE, message)
        })
    }

    fn watch(&mut self, path: PathBuf, found: Option<&Metadata>) {
        let stamp = found.map(Stamp::of);
        self.result.is_settled &= stamp.is_none_or(|stamp| stamp.is_settled(self.now));
        self.result.watched.push((path, stamp));
    }

    fn note(&mut self, rule: &Rule, message: impl Into<String>, path: &Path) {
        let note = Finding::new(rule, message).lenient();
        self.result
            .notes
            .extend(note.map(|note| note.in_file(path)));
    }

    fn finish(mut self) -> Walk {
        if !self.reached.is_empty() {
            let reached: Vec<&str> = self.reached.iter().map(String::as_str).collect();
            let message = format!(
                "not all of it was looked at: the most is {}",
                reached.join(", and ")
            );
            let root = self.root.to_owned();
            self.note(&rule::SCAN_TRUNCATED, message, &root);
        }
        let bytes = |candidate: &Candidate| candidate.file.as_os_str().as_bytes().to_owned();
        self.result.candidates.sort_by_cached_key(bytes);
        self.result
    }
}

fn special() -> Finding {
    Finding::new(&rule::NOT_REGULAR, "it is not a regular file")
}

fn is_skill(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
