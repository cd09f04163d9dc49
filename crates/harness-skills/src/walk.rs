//! Looking for `SKILL.md` below a folder.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use harness_frontmatter::{Diagnostic, Severity};

use crate::confinement::Confinement;
use crate::examination::SKILL_FILE;
use crate::finding::Finding;
use crate::form::{Form, is_markdown, is_usual_file};
use crate::layer::Layer;
use crate::limits::Limits;
use crate::notes::Notes;
use crate::root::{Links, Place, Root};
use crate::rule;
use crate::skills::DiscoverOptions;
use crate::stamp::{FileId, Stamp};

/// How many times more entries are read than may be looked at, so that those of a large folder that are looked
/// at are the first by name. In a still larger one the choice is the file system's.
const OVERREAD: usize = 4;

/// Folders that tools fill, by a file in them: caches and virtual environments.
const MARKS_OF_TOOLS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// What came of a walk.
#[derive(Default)]
pub(crate) struct Walk {
    /// The files that should be skills, by the bytes of their paths.
    pub(crate) candidates: Vec<Candidate>,
    /// What is to be told, of files that are no candidates.
    pub(crate) notes: Notes,
    /// What none of the files may be out of.
    pub(crate) boundary: Option<Arc<Path>>,
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
    /// Whether its folder is the root.
    pub(crate) is_at_root: bool,
}

/// Looks for skills in, or at, a path of `root`. `checkout` is all that was fetched with it.
pub(crate) fn walk(
    path: &Path,
    root: &Root,
    checkout: Option<&Path>,
    discovery: &DiscoverOptions,
) -> Walk {
    let limits = &discovery.limits;
    let mut walker = Walker {
        path,
        root,
        checkout,
        form: discovery.form,
        limits,
        confinement: None,
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
        reads: limits.entries.saturating_mul(OVERREAD),
        has_root_skill: false,
        reached: BTreeSet::new(),
    };
    walker.start();
    walker.finish()
}

struct Walker<'w> {
    path: &'w Path,
    root: &'w Root,
    checkout: Option<&'w Path>,
    form: Form,
    limits: &'w Limits,
    /// `None` where links may lead anywhere.
    confinement: Option<Confinement>,
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
    /// How many more may be read.
    reads: usize,
    /// Whether there is a skill in the root, which does not end the search.
    has_root_skill: bool,
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
        let path = self.path;
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                if !self.is_where_it_should_be(&metadata) {
                    return;
                }
                self.confine(path);
                let id = Stamp::of(&metadata).id;
                self.seen.insert(id);
                self.folders.push_back(Folder {
                    path: path.to_owned(),
                    depth: 0,
                    id,
                });
                self.go();
            }
            // A path to the file itself.
            Ok(metadata) if metadata.is_file() && self.is_one(path) => {
                let directory = path.parent().unwrap_or(path).to_owned();
                self.confine(&directory);
                let mut candidate = Candidate {
                    file: path.to_owned(),
                    directory,
                    findings: Vec::new(),
                    is_refused: false,
                    is_link: false,
                    is_at_root: false,
                };
                let refuses = self.root.links == Links::Inside || self.root.held.is_some();
                if refuses && path.is_symlink() {
                    self.check_link(&mut candidate);
                }
                self.result.candidates.push(candidate);
            }
            found => {
                let is_missing = found.as_ref().is_err_and(is_missing);
                // That a usual place is not there is nothing to tell.
                if !is_missing || self.root.layer == Layer::Explicit {
                    let what = match &found {
                        Ok(_) => format!("it is no folder of {}", self.form.folder()),
                        Err(_) if is_missing => "nothing is there".to_owned(),
                        Err(error) => error.to_string(),
                    };
                    self.result.notes.add(&rule::ROOT_NOT_DIR, what, path);
                }
                self.watch(path.to_owned(), found.ok().as_ref());
            }
        }
    }

    /// Whether the path of a file leads to a skill or an agent, by its name.
    fn is_one(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.form.can_be(name))
    }

    /// Whether the root itself is no link out of what it belongs to, as the one of a project may be.
    fn is_where_it_should_be(&mut self, metadata: &Metadata) -> bool {
        let held = self.root.held.is_some();
        let Some(whole) = self.checkout.or(self.root.project.as_deref()) else {
            return true;
        };
        if !held && self.root.links != Links::Inside {
            return true;
        }
        let Some(finding) = Confinement::new(whole, true, held).check(self.path) else {
            return true;
        };
        // No skill is lost by it that was there.
        let finding = Finding {
            lenient: rule::LINK_REFUSED.lenient,
            ..finding
        };
        self.result.notes.tell(&finding, self.path);
        self.watch(self.path.to_owned(), Some(metadata));
        false
    }

    /// Sets how far links may lead: not out of all that was fetched, or not out of `folder`.
    fn confine(&mut self, folder: &Path) {
        let is_inside = self.root.links == Links::Inside;
        let refuses = is_inside || self.root.held.is_some();
        // Where people keep their own skills is their affair.
        if refuses || self.root.layer == Layer::Project {
            let whole = self.checkout.filter(|_| refuses).unwrap_or(folder);
            let confinement = Confinement::new(whole, refuses, !is_inside);
            self.result.boundary = confinement.boundary().cloned();
            self.confinement = Some(confinement);
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
            if self.entries == 0 || self.reads == 0 {
                self.is_out_of_entries();
                return;
            }
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
                    let notes = &mut self.result.notes;
                    notes.add(&rule::UNREADABLE_FOLDER, message, &folder.path);
                }
                let found = std::fs::metadata(&folder.path);
                self.watch(folder.path.clone(), found.ok().as_ref());
                return;
            }
        };
        let is_skill = match self.form {
            Form::Skills => self.find_skill(folder, &listed),
            Form::Agents => false,
        };
        let is_leaf = is_skill && (folder.depth > 0 || self.root.layer == Layer::Explicit);
        if is_leaf {
            return;
        }
        // After it was listed: had it changed since, it would not be settled.
        let found = std::fs::metadata(&folder.path);
        self.watch(folder.path.clone(), found.ok().as_ref());
        if folder.depth == 0 {
            if self.form == Form::Skills {
                self.look_for_flat_files(folder, &listed);
            }
            self.has_root_skill = is_skill;
        } else if listed
            .iter()
            .any(|entry| MARKS_OF_TOOLS.iter().any(|mark| entry.name == *mark))
        {
            return;
        }
        for entry in listed {
            let is_taken = self.form == Form::Agents
                && is_agent(&entry.name)
                && !entry.kind.is_dir()
                && self.take(folder, &entry, Vec::new());
            if !is_taken {
                self.descend(folder, &entry);
            }
        }
    }

    /// The entries of a folder, sorted by the bytes of their names.
    fn list(&mut self, folder: &Path) -> io::Result<Vec<Listed>> {
        let mut listed: Vec<Listed> = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            if self.reads == 0 {
                self.is_out_of_entries();
                break;
            }
            self.reads -= 1;
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
            self.is_out_of_entries();
            listed.truncate(self.entries);
        }
        self.entries -= listed.len();
        Ok(listed)
    }

    fn is_out_of_entries(&mut self) {
        let most = format!("{} entries", self.limits.entries);
        self.reached.insert(most);
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
        if chosen.name != SKILL_FILE || spelled.len() > 1 {
            // The right spelling may appear, or the wrong one go.
            let found = std::fs::metadata(&folder.path);
            self.watch(folder.path.clone(), found.ok().as_ref());
        }
        self.take(folder, chosen, findings)
    }

    /// Takes a file of a folder as a candidate. Returns whether it is one, if perhaps a broken one.
    fn take(&mut self, folder: &Folder, chosen: &Listed, findings: Vec<Finding>) -> bool {
        let mut candidate = Candidate {
            file: folder.path.join(&chosen.name),
            directory: folder.path.clone(),
            findings,
            is_refused: false,
            is_link: chosen.kind.is_symlink(),
            is_at_root: folder.depth == 0,
        };
        if candidate.is_link {
            match std::fs::metadata(&candidate.file) {
                Err(error) => {
                    let message = format!("the link leads nowhere: {error}");
                    let note = Diagnostic::new(rule::BROKEN_LINK.code, Severity::Warning, message);
                    self.result.notes.push(note.in_file(&candidate.file));
                    self.watch(candidate.file, None);
                    // The link may also go.
                    let found = std::fs::metadata(&folder.path);
                    self.watch(folder.path.clone(), found.ok().as_ref());
                    return true;
                }
                Ok(metadata) if metadata.is_dir() => {
                    // A file may take its place.
                    self.watch(candidate.file, Some(&metadata));
                    return false;
                }
                Ok(metadata) if !metadata.is_file() => candidate.refuse(special()),
                Ok(_) => self.check_link(&mut candidate),
            }
        } else if !chosen.kind.is_file() {
            candidate.refuse(special());
        }
        self.result.candidates.push(candidate);
        true
    }

    /// Adds what there is to say of a candidate that is a link.
    fn check_link(&self, candidate: &mut Candidate) {
        let confinement = self.confinement.as_ref();
        let finding = confinement.and_then(|confinement| confinement.check(&candidate.file));
        match finding {
            Some(finding) if finding.code == rule::LINK_REFUSED.code => candidate.refuse(finding),
            finding => candidate.findings.extend(finding),
        }
    }

    fn look_for_flat_files(&mut self, folder: &Folder, listed: &[Listed]) {
        for entry in listed {
            if entry.kind.is_file() && is_markdown(&entry.name) && !is_usual_file(&entry.name) {
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
                Ok(metadata) => {
                    // A folder may take the place of that file, of which this folder has no trace.
                    self.watch(path, Some(&metadata));
                    return;
                }
                Err(error) => {
                    let message = format!("the link leads nowhere: {error}");
                    self.result.notes.add(&rule::BROKEN_LINK, message, &path);
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
        if is_link
            && let Some(confinement) = &self.confinement
            && let Some(mut finding) = confinement.check(&path)
        {
            let is_refused = finding.code == rule::LINK_REFUSED.code;
            if is_refused {
                // Of a folder nobody knows whether there is a skill in it.
                finding.lenient = rule::LINK_REFUSED.lenient;
            }
            self.result.notes.tell(&finding, &path);
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

    fn watch(&mut self, path: PathBuf, found: Option<&Metadata>) {
        let stamp = found.map(Stamp::of);
        self.result.is_settled &= stamp.is_none_or(|stamp| stamp.is_settled(self.now));
        self.result.watched.push((path, stamp));
    }

    fn finish(mut self) -> Walk {
        if !self.reached.is_empty() {
            let reached: Vec<&str> = self.reached.iter().map(String::as_str).collect();
            let message = format!(
                "not all of it was looked at: the most is {}",
                reached.join(", and ")
            );
            let notes = &mut self.result.notes;
            notes.add(&rule::SCAN_TRUNCATED, message, self.path);
        }
        self.tell_of_root_skill();
        let bytes = |candidate: &Candidate| candidate.file.as_os_str().as_bytes().to_owned();
        self.result.candidates.sort_by_cached_key(bytes);
        self.result
    }

    fn tell_of_root_skill(&mut self) {
        // A repository may be one skill, and nothing else.
        let is_alone = self.result.candidates.len() == 1;
        let is_fetched = matches!(self.root.place, Place::Source(_));
        if self.has_root_skill && !(is_alone && is_fetched) {
            let message = format!(
                "{SKILL_FILE} stands in a folder of skills itself; each skill should have its own"
            );
            let file = self.path.join(SKILL_FILE);
            self.result.notes.add(&rule::ROOT_SKILL, message, &file);
        }
    }
}

impl Candidate {
    /// It is listed for what is wrong with it, and not read.
    fn refuse(&mut self, finding: Finding) {
        self.is_refused = true;
        self.findings.push(finding.fatal());
    }
}

fn special() -> Finding {
    Finding::new(&rule::NOT_REGULAR, "it is not a regular file")
}

fn is_skill(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(SKILL_FILE)
}

/// Whether a file in a folder is a declaration, by its name.
fn is_agent(name: &OsStr) -> bool {
    is_markdown(name) && !is_usual_file(name) && !name.as_bytes().starts_with(b".")
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither is a folder read for which nothing is left, nor more of all than a multiple of the bound.
    #[test]
    fn the_bound_of_entries_is_one_of_work() {
        let tree = tempfile::tempdir().unwrap();
        for folder in ["a", "b"] {
            for number in 0..30 {
                std::fs::create_dir_all(tree.path().join(format!("{folder}/{number:02}"))).unwrap();
            }
        }
        let looked_into = |entries: usize| {
            let limits = Limits {
                entries,
                ..Limits::default()
            };
            let root = Root::new(Layer::User, tree.path());
            let options = DiscoverOptions::default().limits(limits);
            let walk = walk(tree.path(), &root, None, &options);
            let told = walk.notes.finish(None);
            assert_eq!(told.len(), usize::from(entries < 63), "{told:?}");
            let folders = walk.watched.into_iter();
            let folders =
                folders.map(|(path, _)| path.strip_prefix(tree.path()).unwrap().to_owned());
            folders.collect::<Vec<_>>()
        };
        assert_eq!(looked_into(10), [Path::new(""), Path::new("a")]);
        assert_eq!(looked_into(1), [Path::new("")]);
        assert_eq!(looked_into(62).len(), 3);
        assert_eq!(looked_into(63).len(), 63);
    }
}
